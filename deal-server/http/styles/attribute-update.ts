/**
 * Style 4: the whole deal, changed, by `PUT /rest/v1/deals/{id}`; or the changed members alone, by PATCH (RFC 7396). The difference
 * becomes use cases. A PUT whose body has a member `action` is style 3, on the same path.
 */

import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { ShownCommand } from '../../commands/command-context.ts'
import { bindAttributeUpdate } from '../../use-cases/update-deal/update-deal.ts'
import { describeDealPatch, describeDealUpdate } from '../openapi/command-operations.ts'
import { dealIdInPath } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import type { Preconditions } from '../requests/preconditions.ts'
import { dealCommand } from './deal-command.ts'
import { decodeSingleUpdate } from './single-update.ts'

const path = '/rest/v1/deals/:id'

/** The two routes; `requirePrecondition` is REQUIRE_PRECONDITION. */
export const dealUpdateRoutes = ({ requirePrecondition }: { requirePrecondition: boolean }): StyleRoute[] => [
  {
    style: 'deal-update',
    methods: ['PUT'],
    path,
    describe: () => [describeDealUpdate()],
    decode: async (call) => {
      const dealId = dealIdInPath(call)
      const body = requireObject(await readJson(call))
      if ('action' in body) return decodeSingleUpdate(call, dealId, body)
      return decodeAttributes(call, { dealId, body, whole: true, required: requirePrecondition })
    },
  },
  {
    style: 'attribute-update',
    methods: ['PATCH'],
    path,
    describe: () => [describeDealPatch()],
    decode: async (call) => {
      const dealId = dealIdInPath(call)
      const body = requireObject(await readJson(call))
      return decodeAttributes(call, { dealId, body, whole: false, required: false })
    },
  },
]

function requireObject(body: unknown): object {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  throw new Refused('invalid-body', 'The body must be a JSON object.')
}

interface Attributes {
  readonly dealId: string
  readonly body: object
  /** PUT: `name`, `price` and `held` must be there. */
  readonly whole: boolean
  readonly required: boolean
}

function decodeAttributes(call: HttpCall, { dealId, body, whole, required }: Attributes): Invocation {
  const { bound, version } = bindAttributeUpdate(body, { dealId, whole })
  const invocation = dealCommand(call, bound, dealId)
  return {
    ...invocation,
    style: 'attribute-update',
    preconditions: withVersion(invocation.preconditions, version, required),
    encode: (answered) => {
      const answer = invocation.encode(answered)
      return { ...answer, headers: { ...answer.headers, ...useCasesHeader(answered) } }
    },
  }
}

/** The version in the body counts as a precondition when there is no If-Match (deal model 2.3). */
function withVersion(preconditions: Preconditions, version: number | undefined, required: boolean): Preconditions {
  const fromBody = version === undefined ? undefined : [`"${version}"`]
  return { ...preconditions, ifMatch: preconditions.ifMatch ?? fromBody, required }
}

const useCasesHeader = ({ useCases }: ShownCommand) =>
  useCases.length === 0 ? {} : { 'deal-use-cases': useCases.join(', ') }
