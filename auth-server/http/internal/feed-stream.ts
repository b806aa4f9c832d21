import type { BodyStream, StreamBody } from '../../../shared/platform/http/stream.ts'
import { UserLimits } from '../../../shared/platform/http/user-limits.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import {
  type FeedLine,
  feedStreamExchange,
  feedStreamQuery,
  sealFeedLine,
} from '../../../shared/protocol/internal-api/feed-stream.ts'
import { catalogueName } from '../../../shared/protocol/principal/catalogue.ts'
import type { Announced } from '../../principals/announced-changes.ts'
import { type FeedRead, type Known, linesOf } from '../../principals/feed-reader.ts'
import type { Services } from '../../services/services.ts'
import { defineInternalEndpoint, type InternalEndpoint } from './endpoint.ts'
import type { InternalClient } from './internal-client.ts'
import type { InternalServices } from './internal-services.ts'

/** The services that the stream uses. */
type StreamServices = Pick<InternalServices, 'feedReader' | 'clock' | 'feedStreams' | 'publishedKeys'> & {
  readonly services: Pick<Services, 'renewProof'>
}

/** A deal server that takes nothing is cut off when this many bytes wait for it: it turns to another auth server. */
const maxWaitingBytes = 4_000_000

/** The endpoint of the stream. */
export function feedStreamEndpoint(services: StreamServices): InternalEndpoint {
  const limits = new UserLimits(services.feedStreams, tooMany)
  return defineInternalEndpoint(feedStreamExchange, async ({ request, query, client }) => {
    const asked = feedStreamQuery.safeParse(Object.fromEntries(query))
    if (!asked.success) throw new ProblemError('invalid-parameter', 'The stream begins after a version of an instance.')
    const { instance, after } = asked.data
    const known = { instanceId: instance, upTo: after }
    const headers = { 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' }
    const send = streamChanges(services, known, client)
    // The response to HEAD has no body, which would release its place.
    if (!client.proven || request.method === 'HEAD') return { body: undefined, stream: send, headers }
    const release = limits.acquire(client.proven.service.id)
    return { body: undefined, stream: (stream) => send(stream).finally(release), headers }
  })
}

const tooMany = (own: number | undefined) =>
  new ProblemError(
    'too-many-streams',
    own === undefined
      ? 'Services have as many streams of the change feed open here as they may have.'
      : `The service has ${own} streams of the change feed open here; end one first.`,
    { retryAfterSeconds: 10 },
  )

const streamChanges = (services: StreamServices, first: Known, client: InternalClient): StreamBody => {
  // Everything that is read later is no older than the request.
  const openedAt = services.clock.monotonic()
  return async function sendChanges(stream) {
    let known = first
    let index = 0
    let sent: Pick<Announced, 'changes' | 'readAt'> = { changes: [], readAt: openedAt }
    const cutUnlessProven = checkClient(client, services, stream)
    const send = (line: FeedLine) => {
      stream.write(`${client.signed ? sealFeedLine(line, { ...client.signed, index }) : JSON.stringify(line)}\n`)
      index += 1
    }
    const leave = services.feedReader.follow({
      knownUpTo: () => known.upTo,
      onRead: (read) => {
        const readMs = read.readAt - openedAt
        if (stream.ended.aborted || readMs < 0) return
        cutUnlessProven(read)
        if (stream.waitingBytes() > maxWaitingBytes) {
          stream.cut()
          return
        }
        const { instanceId } = read
        const lines = linesOf(read, known)
        const rest = { readMs, keys: services.publishedKeys() }
        for (const { changes, end } of lines) send({ instanceId, changes, ...(end && { end: { ...end, ...rest } }) })
        if (lines.length > 0) known = { instanceId, upTo: read.counter }
      },
      onAnnounced: (announced) => {
        if (stream.ended.aborted) return
        const { instanceId, changes } = announced
        const catalogueVersion = changes.findLast(({ username }) => username === catalogueName)?.version
        cutUnlessProven({ instanceId, catalogueVersion })
        const line = lineOfAnnounced(announced, { known, sent, openedAt, keys: services.publishedKeys() })
        if (!line) return
        send(line)
        sent = announced
        known = { instanceId, upTo: line.end?.upTo ?? known.upTo }
      },
    })
    await hasEnded(stream).finally(leave)
  }
}

/**
 * Cuts the stream of a service whose proof has ended: by time, or by a change of the catalogue, such as its deletion.
 * The first read is checked too: the service may have been deleted while the stream was opened. A proof that cannot be
 * checked has ended.
 */
function checkClient(
  { proven }: InternalClient,
  { services, clock }: StreamServices,
  stream: BodyStream,
): (known: Pick<FeedRead, 'instanceId'> & { readonly catalogueVersion: number | undefined }) => void {
  if (!proven) return () => undefined
  let { until } = proven
  let checked: string | undefined
  return ({ instanceId, catalogueVersion }) => {
    if (until !== null && until <= clock.now()) return stream.cut()
    const catalogue = `${instanceId} ${catalogueVersion}`
    if (catalogueVersion === undefined || catalogue === checked) return
    checked = catalogue
    services.renewProof(proven).then(
      (renewed) => {
        if (!renewed) stream.cut()
        // Answers may come in another order: an end that is known stays known.
        else if (renewed.until !== null) until = Math.min(renewed.until, until ?? renewed.until)
      },
      () => stream.cut(),
    )
  }
}

/** What a stream has sent, and when it was opened. */
interface Sent {
  readonly known: Known
  readonly sent: Pick<Announced, 'changes' | 'readAt'>
  readonly openedAt: number
  readonly keys: string
}

/** The line that tells what was announced in place of a read; undefined when there is nothing to tell. */
function lineOfAnnounced(announced: Announced, { known, sent, openedAt, keys }: Sent): FeedLine | undefined {
  const { instanceId, readAt, upTo, announcedAt } = announced
  const after = known.instanceId === instanceId ? known.upTo : undefined
  if (after === undefined || after < announced.after) return undefined
  const changes = announced.changes === sent.changes ? [] : announced.changes
  const isRead = readAt > Math.max(sent.readAt, openedAt) && upTo >= after
  const end = isRead ? { after, upTo, readMs: readAt - openedAt, keys } : undefined
  const announcedMs = Number.isFinite(announcedAt) ? announcedAt - openedAt : undefined
  return changes.length > 0 || end || announcedMs !== undefined ? { instanceId, changes, end, announcedMs } : undefined
}

const hasEnded = ({ ended }: BodyStream): Promise<void> =>
  new Promise((resolve) => {
    if (ended.aborted) resolve()
    else ended.addEventListener('abort', () => resolve(), { once: true })
  })
