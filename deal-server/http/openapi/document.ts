import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { openApiRoutes } from '../../../shared/platform/openapi/serve.ts'
import type { ProblemTable } from '../../../shared/platform/problems/problem-document.ts'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { describeSecurity } from '../../../shared/protocol/openapi/security.ts'
import { documentationTag } from '../../../shared/protocol/pages/routes.ts'
import { dealComponents, problemHeaders, responseHeaders } from './components.ts'
import { requestHeaders } from './parameters.ts'

const tags = {
  resource: 'Deals as a collection that is posted to, read, listed and deleted from.',
  'action-sub-resource': 'A verb below the deal, by PUT or POST.',
  'state-named-sub-resource': 'The state that is wanted below the deal.',
  'deal-update': 'PUT or PATCH of the deal: a use case by its name, or the deal as it should be.',
  'global-command-collection': 'Commands as resources that the client names.',
  'per-deal-command-collection': 'The same, below the deal.',
  'command-controller': 'Each command by its name, answered without a body.',
  'query-controller': 'Records by their kind, answered with a list.',
  ...documentationTag,
  operation: 'For those who run the server.',
}

const description = `Every use case can be called in each of seven styles, whichever a client prefers: they share one meaning and one store
of commands. All paths are served with and without a trailing slash; HEAD wherever GET is; OPTIONS everywhere. Failures are problem
documents (RFC 9457).`

interface Documented {
  /** All that is served besides. */
  readonly routes: readonly Route[]
  readonly problems: ProblemTable
  readonly origin: string
  /** The enabled ones. */
  readonly schemes: readonly SchemeName[]
}

/** The routes of this server's OpenAPI document. */
export const dealOpenApiRoutes = (documented: Documented): Route[] =>
  openApiRoutes({
    ...documented,
    paths: ['/openapi.json', '/rest/openapi.json'],
    title: 'Keyhold deal server',
    description,
    tags,
    schemas: dealComponents(documented.problems),
    parameters: requestHeaders,
    headers: responseHeaders,
    problemHeaders,
    ...describeSecurity(documented.schemes),
  })
