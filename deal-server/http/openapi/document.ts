import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { openApiRoutes } from '../../../shared/platform/openapi/serve.ts'
import type { ProblemTable } from '../../../shared/platform/problems/problem-document.ts'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { describeSecurity } from '../../../shared/server/openapi/security.ts'
import { documentationTag } from '../../../shared/server/pages/routes.ts'
import { commands } from '../../use-cases/index.ts'
import { dealComponents, problemHeaders, responseHeaders } from './components.ts'
import { requestHeaders } from './parameters.ts'
import { webhookRequest } from './webhook-schemas.ts'

const styleTags = {
  resource: 'Deals as a collection: create, read, list and delete.',
  'action-sub-resource': 'A verb below the deal, by PUT or POST.',
  'state-named-sub-resource': 'The wanted state below the deal, by PUT.',
  'deal-update': 'PUT or PATCH of the deal: a use case by its name, or the deal as it should be.',
  'global-command-collection': 'Commands as resources; the client chooses their ids.',
  'per-deal-command-collection': 'The same, below the deal.',
  'command-batch': 'Many commands in one request.',
  'command-controller': 'Each command by its name; the response has no body.',
  'query-controller': 'Records by their kind; the response is a list.',
  mcp: 'Use cases and queries as tools of assistants.',
}

/** In the order in which one wants them: use cases, reading, styles. A reader finds an operation under two of them. */
const tags = {
  ...Object.fromEntries(commands.map(({ name, summary }) => [name, `${summary}.`])),
  reading: 'Deals, lists, sums, histories, live events, commands and webhooks.',
  ...styleTags,
  proposals: 'Commands of applications that wait until somebody approves them.',
  webhooks: 'Events that the server sends to a URL, signed as Standard Webhooks.',
  ...documentationTag,
  operation: 'For operators.',
}

const description = `Begin with a use case, such as **HoldDeal** below: it lists one operation for each style, and
all of them do the same. Choose one style and keep to it; the first, \`PUT /rest/v1/deals/{id}/hold\`, suits most clients. What
can be read is under **reading**. **Authorize** takes the access token that \`POST /login\` of the auth server gives.

Clients can call every use case in each of seven styles. All styles have one meaning and one
store of commands. All paths work with and without a trailing slash; HEAD works wherever GET does; OPTIONS works
everywhere. Failures are problem documents (RFC 9457).`

interface Documented {
  /** All other routes. */
  readonly routes: readonly Route[]
  readonly problems: ProblemTable
  readonly origin: string
  /** The enabled schemes. */
  readonly schemes: readonly SchemeName[]
}

/** The routes of this server's OpenAPI document. */
export const dealOpenApiRoutes = ({ routes, problems, origin, schemes }: Documented): Route[] =>
  openApiRoutes({
    routes,
    paths: { getOpenApi: '/openapi.json', getRestOpenApi: '/rest/openapi.json' },
    describe: () => ({
      problems,
      origin,
      title: 'Keyhold deal server',
      description,
      tags,
      schemas: dealComponents(problems),
      parameters: requestHeaders,
      headers: responseHeaders,
      problemHeaders,
      webhooks: { dealEvent: webhookRequest },
      ...describeSecurity(schemes),
    }),
  })
