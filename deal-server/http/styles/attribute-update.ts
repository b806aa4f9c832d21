/**
 * Style 4: the changed deal by `PUT /rest/v1/deals/{id}`, or only the changed members by PATCH (RFC 7396). Each
 * difference becomes a use case. A PUT whose body has a member `action` is style 3, on the same path.
 */

import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { ShownCommand } from '../../commands/command-context.ts'
import { quoteOddAmounts } from '../../domain/money.ts'
import type { DealRefusalCode } from '../../domain/refusal.ts'
import { bindAttributeUpdate } from '../../use-cases/update-deal/update-deal.ts'
import {
  commandProblems,
  createdResponse,
  dealCommandInput,
  dealHeaderFields,
  theDeal,
  waits,
} from '../openapi/command-operations.ts'
import { dealUpdateBody } from '../openapi/command-schemas.ts'
import { idOfDeal } from '../openapi/parameters.ts'
import { dealIdInPath } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import type { Preconditions } from '../requests/preconditions.ts'
import { dealCommand } from './action-sub-resource.ts'
import { decodeSingleUpdate } from './single-update.ts'

const path = '/rest/v1/deals/:id'

const updateFields = [...dealHeaderFields, 'Deal-Use-Cases']

/** The refusals of an attribute update, besides those of its use cases. */
const updateRefusals: readonly DealRefusalCode[] = [
  'inconsistent-attributes',
  'penalty-required',
  'read-only-attribute',
  'reason-required',
  'use-case-required',
]

const putOperation: Operation = {
  ...dealCommandInput,
  id: 'updateDeal',
  summary: 'Run a use case by its name, or send the whole deal, changed',
  description:
    'A body with the member `action` names a use case. Any other body is the deal as it should become: each ' +
    'difference becomes a use case, and all of them run or none. `name`, `price` and `held` are required; other ' +
    'absent members are unchanged. The second form needs the right `deal.read`.',
  tags: ['deal-update'],
  pathParameters: { id: idOfDeal },
  body: dealUpdateBody,
  responses: {
    200: { ...theDeal, headers: updateFields },
    201: createdResponse,
    202: waits,
    204: {
      description: 'With `Prefer: return=minimal`, without the right `deal.read`, or the deal is deleted.',
      headers: updateFields,
    },
  },
  problems: [...updateRefusals, 'ambiguous-update', 'incomplete-representation', 'precondition-failed'],
}

const patchOperation: Operation = {
  ...dealCommandInput,
  id: 'patchDeal',
  summary: 'Change attributes of a deal',
  description:
    'Needs the right `deal.read`, and those of the use cases. Absent members stay as they are (RFC 7396). Each ' +
    'difference becomes a use case; all run or none.',
  tags: ['deal-update'],
  pathParameters: { id: idOfDeal },
  body: {
    schema: ref('DealAttributes'),
    required: false,
    mediaTypes: ['application/merge-patch+json', 'application/json'],
  },
  responses: {
    200: { ...theDeal, headers: updateFields },
    202: waits,
    204: { description: 'With `Prefer: return=minimal`.', headers: updateFields },
  },
  problems: commandProblems(updateRefusals),
}

/** The routes of PUT and PATCH. `requirePrecondition` is the setting REQUIRE_PRECONDITION. */
export const dealUpdateRoutes = ({ requirePrecondition }: { requirePrecondition: boolean }): StyleRoute[] => [
  {
    style: 'deal-update',
    methods: ['PUT'],
    path,
    describe: () => [putOperation],
    decode: async (request) => {
      const dealId = dealIdInPath(request)
      const body = requireObject(await readJson(request, quoteOddAmounts))
      if ('action' in body) return decodeSingleUpdate(request, dealId, body)
      return decodeAttributes(request, { dealId, body, whole: true, required: requirePrecondition })
    },
  },
  {
    style: 'attribute-update',
    methods: ['PATCH'],
    path,
    describe: () => [patchOperation],
    decode: async (request) => {
      const dealId = dealIdInPath(request)
      const body = requireObject(await readJson(request, quoteOddAmounts))
      return decodeAttributes(request, { dealId, body, whole: false, required: false })
    },
  },
]

function requireObject(body: unknown): object {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  throw new ProblemError('invalid-body', 'The body must be a JSON object.')
}

interface Attributes {
  readonly dealId: string
  readonly body: object
  /** True for a PUT: `name`, `price` and `held` must be present. */
  readonly whole: boolean
  readonly required: boolean
}

function decodeAttributes(request: HttpRequest, { dealId, body, whole, required }: Attributes): Invocation {
  const { bound, version } = bindAttributeUpdate(body, { dealId, whole })
  const invocation = dealCommand(request, bound, dealId)
  return {
    ...invocation,
    style: 'attribute-update',
    preconditions: withVersion(invocation.preconditions, version, required),
    encode: (command) => {
      const answer = invocation.encode(command)
      return { ...answer, headers: { ...answer.headers, ...useCasesHeader(command) } }
    },
  }
}

/** The version in the body is a precondition of a request without If-Match (docs/contract/deals.md#preconditions). */
function withVersion(preconditions: Preconditions, version: number | undefined, required: boolean): Preconditions {
  const fromBody = version === undefined ? undefined : [`"${version}"`]
  return { ...preconditions, ifMatch: preconditions.ifMatch ?? fromBody, required }
}

const useCasesHeader = ({ useCases }: ShownCommand) =>
  useCases.length === 0 ? {} : { 'deal-use-cases': useCases.join(', ') }
