/** Live events: Server-Sent Events (WHATWG HTML §9.2) that go on for as long as the client stays and may read them. */
import { z } from 'zod'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'
import { dealEventTypes } from '../../domain/events.ts'
import type { EventStreams } from '../../events/event-streams.ts'
import type { StreamRequest } from '../../events/stream-request.ts'
import { dealHistoryQuery } from '../../queries/queries.ts'
import { uuid } from '../../use-cases/parameters.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'

const positionPattern = /^(0|[1-9]\d{0,14})$/

const parameters = z.strictObject({
  after: z.string().optional().meta({
    description:
      'The position of an event: begin after it; `0`: at the beginning. One that no event has is refused. `Last-Event-ID` goes before.',
  }),
  deal: uuid.optional().meta({ description: 'Events of this deal alone.', format: 'uuid' }),
  type: z
    .string()
    .transform((types) => types.split(','))
    .pipe(z.array(z.enum(dealEventTypes, { error: `Expected some of ${dealEventTypes.join(', ')}` })))
    .transform((types) => new Set<string>(types))
    .optional()
    .meta({ description: `Events of these types alone, separated by commas: ${dealEventTypes.join(', ')}.` }),
})

const operation: Operation = {
  id: 'streamEvents',
  summary: 'Follow what happens to deals, as it happens',
  description: `Each event has its position as \`id\`, its type as \`event\`, and as \`data\` an \`Event\` in one line. Without a position the stream
begins now. Events of one deal come in their order; what is not of one deal comes in the order in which it was written, which is not that of
positions. A comment every 15 seconds shows that the stream lives. It ends when the credential has ended or the right is gone, and
when PostgreSQL was restarted. What happens is told as it happens; of what is past, a caller without the right \`deal.restore\` gets nothing of a deleted deal but its deletion.`,
  tag: 'resource',
  query: parameters,
  headers: ['LastEventId'],
  responses: {
    200: {
      description: 'Server-Sent Events, until the client goes.',
      mediaType: 'text/event-stream',
      schema: { type: 'string' },
    },
  },
  problems: [...callerProblems, 'invalid-parameter', 'missing-right', 'too-many-streams'],
}

/** Its one route. */
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
  // Else nginx keeps events back until its buffer is full.
  'x-accel-buffering': 'no',
} as const

function decodeEvents(request: HttpRequest): Invocation {
  const { after, deal, type } = readQuery(request, parameters)
  const lastEventId = request.header('last-event-id')
  // A browser that comes back sends the header to the address that it was first given.
  const [name, text] =
    lastEventId === undefined ? (['after', after] as const) : (['Last-Event-ID', lastEventId] as const)
  const wanted: StreamRequest = { after: positionOf(name, text), dealId: deal, types: type }
  return {
    kind: 'stream',
    rights: [dealHistoryQuery.right],
    open: async (events, client) => {
      // The answer to HEAD has no body, which would end the count.
      const body = request.method === 'HEAD' ? await headOf(events, wanted) : await events.open(wanted, client)
      if (!body) throw invalidPosition(name, 'There is no event at this position.')
      return { status: 200, headers, body }
    },
  }
}

const headOf = async (events: Pick<EventStreams, 'canBegin'>, request: StreamRequest) =>
  (await events.canBegin(request)) ? async () => undefined : undefined

function positionOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (positionPattern.test(text)) return Number(text)
  throw invalidPosition(name, 'Expected the position of an event, or 0 for the beginning.')
}

const invalidPosition = (name: string, detail: string) => new ProblemError('invalid-parameter', `${name}: ${detail}`)
