import type { IncomingMessage } from 'node:http'
import { bodyBrokenOff, createBodyCollector } from './body-limit.ts'
import type { Received } from './service-request.ts'

/** A message of `node:http`, and the target on its request line where a framework has rewritten `url`. */
export interface NodeMessage {
  readonly incoming: IncomingMessage
  readonly target?: string | undefined
}

/** A message of `node:http`, as it was received. Its body can be read afterwards as if it were unread. */
export function receivedByNode(
  { incoming, target = incoming.url ?? '/' }: NodeMessage,
  maxBodyBytes: number,
): Received {
  return {
    method: incoming.method ?? 'GET',
    target: target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '') || '/',
    header: (name) => {
      const value = incoming.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    headerLines: (name) => linesOf(incoming.rawHeaders, name),
    readBody: () => readAndGiveBack(incoming, maxBodyBytes),
  }
}

function linesOf(rawHeaders: readonly string[], name: string): string[] {
  const lines: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index] ?? ''
    if (candidate.length === name.length && candidate.toLowerCase() === name) lines.push(rawHeaders[index + 1] ?? '')
  }
  return lines
}

/**
 * Reads the body, and puts it back into the stream before the stream ends: a parser of bodies that comes later finds
 * all of it.
 * @throws ProblemError `body-too-large`, `malformed-request` when the client goes away; TypeError when the body was
 *   read before
 */
function readAndGiveBack(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = incoming.headers
  if (length === '0' && coding === undefined) return Promise.resolve(Buffer.alloc(0))
  if (incoming.readableDidRead) {
    return Promise.reject(new TypeError('The body was read before the request was verified: verify it first.'))
  }
  const collector = createBodyCollector(maxBytes)
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => {
      incoming.off('readable', take).off('error', fail).off('close', fail)
      outcome()
    }
    const take = () => {
      try {
        for (let piece = incoming.read(); piece !== null; piece = incoming.read()) collector.add(piece)
      } catch (error) {
        settle(() => reject(error))
        return
      }
      if (!incoming.complete) return
      const body = collector.body()
      if (body.length > 0) incoming.unshift(body)
      settle(() => resolve(body))
    }
    const fail = () => settle(() => reject(bodyBrokenOff()))
    incoming.on('readable', take).on('error', fail).on('close', fail)
    take()
  })
}
