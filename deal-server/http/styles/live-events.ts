/** Live events: a stream of Server-Sent Events (WHATWG HTML §9.2), until the client goes or loses the right. */
import * as z from 'zod'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { EventStreams } from '../../events/event-streams.ts'
import { parsePosition } from '../../events/position.ts'
import type { StreamRequest } from '../../events/stream-request.ts'
import { dealHistoryQuery } from '../../queries/queries.ts'
import { dealEventTypes } from '../../use-cases/apply-events.ts'
import { uuid } from '../../use-cases/parameters.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'

const parameters = z.strictObject({
  after: z
    .string()
    .optional()
    .meta({
      description:
        'The position of an event: begin after it; `0`: at the beginning. A position without an event is refused. ' +
        '`Last-Event-ID` has priority.',
    }),
  lastEventId: z
    .string()
    .optional()
    .meta({
      description:
        'In place of `Last-Event-ID`, which has priority, for clients that reconnect with a parameter. ' +
        'It goes before `after`. Other spellings are taken too, such as `lastEventID` and `last-event-id`.',
    }),
  deal: uuid.optional().meta({ description: 'Only events of this deal.', format: 'uuid' }),
  type: z
    .string()
    .transform((types) => types.split(','))
    .pipe(z.array(z.enum(dealEventTypes, { error: `Expected some of ${dealEventTypes.join(', ')}.` })))
    .transform((types) => new Set<string>(types))
    .optional()
    .meta({ description: `Only events of these types, separated by commas: ${dealEventTypes.join(', ')}.` }),
})

/** Each polyfill of `EventSource` has a name of its own for the parameter; amvtek's begins with `evs_`. */
const isLastEventId = (name: string): boolean => /^(evs_)?last[-_]?event[-_]?id$/i.test(name)

/** The parameters under any of these names. A second one of them stays unknown. */
const received = z.preprocess((query: object) => {
  const spelled = Object.keys(query).find(isLastEventId)
  return Object.fromEntries(
    Object.entries(query).map(([name, text]) => [name === spelled ? 'lastEventId' : name, text]),
  )
}, parameters)

const operation: Operation = {
  id: 'streamEvents',
  right: dealHistoryQuery.right,
  summary: 'Follow the events of deals as they happen',
  description: `Each event has its position as \`id\`, its type as \`event\`, and an \`Event\` in one line as \`data\`.
A position is a number, a hyphen and a mark. Clients bring it back as it is. The event \`reset\` says that another
PostgreSQL server has taken over: what the client got after \`position\` in its \`data\` may be lost. All events after
that position follow. Without a position the stream begins now. Events of one deal come in their order.
Events of different deals come in an order that never changes. A comment every 15 seconds shows that the connection is
open. The stream ends when the credential is no longer valid, when the right is removed, and when PostgreSQL was
restarted. New events are always sent. Of the past events of a deleted deal, a caller without the right \`deal.restore\`
gets only the deletion. A caller with the right \`deal.history.read:own\` gets the events of own deals, and the event
\`deal.given-away\`, which has the id of the deal and no data, when such a deal is given to another user.`,
  tags: ['resource', 'reading'],
  query: parameters,
  headers: ['LastEventId'],
  responses: {
    200: {
      description: 'Server-Sent Events, until the client goes.',
      mediaType: 'text/event-stream',
      schema: { type: 'string' },
    },
  },
  problems: ['invalid-parameter', 'outdated-cursor', 'missing-right', 'too-many-streams'],
}

/** The route of live events. */
export const liveEventRoutes: readonly StyleRoute[] = [
  {
    style: 'resource',
    methods: ['GET'],
    path: '/rest/v1/events',
    describe: () => [operation],
    decode: decodeEvents,
  },
]

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Otherwise nginx holds events back until its buffer is full.
  'x-accel-buffering': 'no',
} as const

function decodeEvents(request: HttpRequest): Invocation {
  const { after, lastEventId, deal, type } = readQuery(request, received)
  // A client that reconnects uses the first URL again, and adds the place. An empty one says nothing.
  const places = [
    ['Last-Event-ID', request.header('last-event-id')],
    ['lastEventId', lastEventId],
  ] as const
  const [name, text] = places.find(([, place]) => place) ?? (['after', after] as const)
  const wanted: StreamRequest = { ...placeOf(name, text), dealId: deal, types: type }
  return {
    kind: 'stream',
    rights: [dealHistoryQuery.right],
    open: async (events, client) => {
      // A response to HEAD has no body, so nothing would release the count of open streams.
      const body = request.method === 'HEAD' ? await headOf(events, wanted) : await events.open(wanted, client)
      if (!body) throw invalidPosition(name, 'There is no event at this position.')
      return { status: 200, headers, body }
    },
  }
}

const headOf = async (events: EventStreams, request: StreamRequest) =>
  (await events.canBegin(request)) ? async () => undefined : undefined

function placeOf(name: string, text: string | undefined): Pick<StreamRequest, 'after' | 'mark'> {
  if (text === undefined) return { after: undefined }
  const given = parsePosition(text)
  if (given) return { after: given.position, mark: given.mark }
  throw invalidPosition(name, 'Expected the position of an event, or 0 for the beginning.')
}

const invalidPosition = (name: string, detail: string) => new ProblemError('invalid-parameter', `${name}: ${detail}`)
