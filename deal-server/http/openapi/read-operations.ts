/** The operations that read. */

import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { DescribedAnswer, JsonSchema, Operation } from '../../../shared/platform/http/operation.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'
import { assignedTaskQuery, dealHistoryQuery, dealQuery, dealsQuery } from '../../queries/queries.ts'
import { idOfDeal } from './path-parameters.ts'

interface Read extends Omit<Operation, 'answers' | 'problems' | 'headers'> {
  readonly answer: DescribedAnswer
  /** True where the answer has an entity tag. */
  readonly isTagged?: boolean
}

/** An operation that needs a caller and changes nothing. */
export function describeRead({ answer, isTagged, ...operation }: Read): Operation {
  const problems = [...callerProblems, 'invalid-parameter', 'missing-right', 'not-found']
  if (!isTagged) return { ...operation, answers: { 200: answer }, problems }
  const headers = [...(answer.headers ?? []), 'ETag']
  return {
    ...operation,
    headers: ['IfMatch', 'IfNoneMatch'],
    answers: {
      200: { ...answer, headers },
      304: { description: 'It is still what `If-None-Match` names.', headers },
    },
    problems: [...problems, 'precondition-failed'],
  }
}

type ReadList = Omit<Read, 'query'> & { readonly query?: NonNullable<Operation['query']> }

/** A read that is answered a page at a time; without `query` it has no parameters but the page's. */
export function describeList({ query = pageParameters, answer, ...list }: ReadList): Operation {
  const described = describeRead({ ...list, query, answer: { ...answer, headers: ['Link'] } })
  return { ...described, problems: [...described.problems, 'invalid-cursor'] }
}

/** What a walk over all pages of the deals promises. */
const walk = `A walk over all pages, by \`nextCursor\` or \`Link\`, gives each deal that is among those asked for throughout exactly once, whatever is changed
meanwhile: a deal stays where it was when the walk began, and is shown as it is now. Deals that are created meanwhile may be left out. A cursor is good for the
same filters and the same order only. Quick however many deals there are: sorted by \`createdAt\`, also with
\`status\`; by \`name\`; by \`completionDate\`, also with \`ownerId\`; by \`price\` with \`currency\`. Any other order reads all deals that the filters leave; \`held\` and \`q\`
read deals in their order until the page is full.`

/** GET of the deals, with the parameters in `query`. */
export const describeDealList = (query: NonNullable<Operation['query']>): Operation =>
  describeList({
    id: 'listDeals',
    summary: dealsQuery.summary,
    description: walk,
    tag: 'resource',
    query,
    answer: { description: 'Deals, without their tasks.', schema: ref('DealPage') },
  })

/** GET of a deal, with the parameters in `query`. */
export const describeDealRead = (query: NonNullable<Operation['query']>): Operation =>
  describeRead({
    isTagged: true,
    id: 'getDeal',
    summary: dealQuery.summary,
    tag: 'resource',
    query,
    pathParameters: { id: idOfDeal },
    answer: { description: 'The deal; with `expand` it has no `ETag`.', schema: ref('Deal') },
  })

/** GET of what happened to a deal. */
export const describeHistory = (): Operation =>
  describeList({
    id: 'getHistory',
    summary: dealHistoryQuery.summary,
    tag: 'resource',
    pathParameters: { id: idOfDeal },
    answer: {
      description:
        'Events, the oldest first. Of a deleted deal they need the right `deal.restore`; those of a purged one have no data.',
      schema: ref('EventPage'),
    },
  })

/** GET of live events, with the parameters in `query`. */
export const describeLiveEvents = (query: NonNullable<Operation['query']>): Operation => ({
  id: 'streamEvents',
  summary: 'Follow what happens to deals, as it happens',
  description: `Each event has its position as \`id\`, its type as \`event\`, and as \`data\` an \`Event\` in one line. Without a position the stream
begins now. Events of one deal come in their order; what is not of one deal comes in the order in which it was written, which is not that of
positions. A comment every 15 seconds shows that the stream lives. It ends when the credential has ended or the right is gone, and
when PostgreSQL was restarted. What happens is told as it happens; of what is past, a caller without the right \`deal.restore\` gets nothing of a deleted deal but its deletion.`,
  tag: 'resource',
  query,
  headers: ['LastEventId'],
  answers: {
    200: {
      description: 'Server-Sent Events, until the client goes.',
      mediaType: 'text/event-stream',
      schema: { type: 'string' },
    },
  },
  problems: [...callerProblems, 'invalid-parameter', 'missing-right', 'too-many-streams'],
})

/** GET of the state that a hold is. */
export const describeHoldRead = (): Operation =>
  describeRead({
    isTagged: true,
    id: 'getHold',
    summary: 'Read why, since when and by whom a deal is held',
    tag: 'state-named-sub-resource',
    pathParameters: { id: idOfDeal },
    answer: { description: 'The hold; 404 when the deal is not held.', schema: ref('Hold') },
  })

interface Controlled {
  readonly summary: string
  readonly parameter: string
  readonly schema: JsonSchema
  readonly record: string
  readonly isList: boolean
}

/** `{dto_name}` → what is read, and by what. */
const controlled: Readonly<Record<string, Controlled>> = {
  Deal: { ...dealQuery, parameter: 'id', schema: idOfDeal, record: 'Deal', isList: false },
  Deals: {
    ...dealsQuery,
    parameter: 'selection',
    schema: { enum: ['open', 'completed', 'cancelled', 'held'] },
    record: 'ListedDeal',
    isList: true,
  },
  AssignedTask: {
    ...assignedTaskQuery,
    parameter: 'username',
    schema: { type: 'string' },
    record: 'AssignedTask',
    isList: true,
  },
  DealHistory: { ...dealHistoryQuery, parameter: 'id', schema: idOfDeal, record: 'Event', isList: true },
}

/** The query controller: one path for each kind of record. @throws TypeError for one that is not described here */
export function describeQueryController(dtoName: string): Operation {
  const query = controlled[dtoName]
  if (!query) throw new TypeError(`the documentation does not know the query ${dtoName}`)
  const { summary, parameter, schema, record, isList } = query
  const describe = isList ? describeList : describeRead
  return describe({
    isTagged: true,
    path: `/query/${dtoName}/{${parameter}}`,
    id: `query${dtoName}`,
    summary,
    tag: 'query-controller',
    pathParameters: { [parameter]: schema },
    answer: {
      description: 'A list, never empty: 404 when there is nothing.',
      schema: { type: 'array', minItems: 1, ...(isList ? {} : { maxItems: 1 }), items: ref(record) },
    },
  })
}
