/** The resource form: deals as a collection that is posted to, read, listed and deleted from. */
import { z } from 'zod'
import { Refused } from '../../../shared/errors.ts'
import { emptyAnswer, jsonAnswer } from '../../../shared/http/answer.ts'
import type { HttpCall } from '../../../shared/http/call.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { createDeal } from '../../use-cases/create-deal.ts'
import { deleteDeal } from '../../use-cases/delete-deal.ts'
import { dealQuery, dealsQuery } from '../../use-cases/queries.ts'
import { idempotencyKeyOf } from '../command-id.ts'
import { dealIdInPath, withoutRepeatedId } from '../deal-target.ts'
import type { Invocation, StyleRoute } from '../invocation.ts'
import { isUnchanged, preconditionsOf } from '../preconditions.ts'
import { noParameters, readQuery } from '../query-parameters.ts'
import { representDeal } from '../represent-deal.ts'
import { answerWithDeal, dealHeaders } from './deal-answers.ts'

const collection = '/rest/v1/deals'
const member = '/rest/v1/deals/:id'
const style = 'resource'

/** The four routes. */
export const resourceRoutes: readonly StyleRoute[] = [
  { style, methods: ['POST'], path: collection, decode: decodeCreation },
  { style, methods: ['GET'], path: collection, decode: decodeList },
  { style, methods: ['GET'], path: member, decode: decodeRead },
  { style, methods: ['DELETE'], path: member, decode: decodeDeletion },
]

async function decodeCreation(call: HttpCall): Promise<Invocation> {
  readQuery(call, noParameters)
  const bound = createDeal.bind(await readJson(call), '')
  return {
    kind: 'command',
    bound,
    dealId: bound.chosenDealId,
    commandId: idempotencyKeyOf(call),
    preconditions: preconditionsOf(call),
    encode: answerWithDeal,
  }
}

async function decodeDeletion(call: HttpCall): Promise<Invocation> {
  const dealId = dealIdInPath(call)
  readQuery(call, noParameters)
  return {
    kind: 'command',
    bound: deleteDeal.bind(withoutRepeatedId(await readJson(call), dealId), ''),
    dealId,
    commandId: idempotencyKeyOf(call),
    preconditions: preconditionsOf(call),
    encode: answerWithDeal,
  }
}

function decodeRead(call: HttpCall): Invocation {
  const id = dealIdInPath(call)
  readQuery(call, noParameters)
  const preconditions = preconditionsOf(call)
  return {
    kind: 'query',
    right: dealQuery.right,
    answer: async (repository) => {
      const deal = await dealQuery.run({ id }, repository)
      if (!deal) throw new Refused('not-found', 'There is no such deal.', { members: { dealId: id } })
      const headers = dealHeaders(deal)
      return isUnchanged(deal, preconditions)
        ? emptyAnswer(304, headers)
        : jsonAnswer(200, representDeal(deal), headers)
    },
  }
}

const listParameters = z.strictObject({
  status: z.enum(['open', 'completed', 'cancelled']).optional(),
  held: z.enum(['true', 'false']).optional(),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'Expected a whole number from 1 to 200')
    .transform(Number)
    .pipe(z.number().min(1).max(200))
    .default(50),
})

function decodeList(call: HttpCall): Invocation {
  const { status, held, limit } = readQuery(call, listParameters)
  return {
    kind: 'query',
    right: dealsQuery.right,
    answer: async (repository) => {
      const deals = await dealsQuery.run({ status, held: held && held === 'true', limit }, repository)
      return jsonAnswer(
        200,
        { items: deals.map(representDeal), nextCursor: null },
        { 'cache-control': 'private, no-cache' },
      )
    },
  }
}
