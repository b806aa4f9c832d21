/** What a deal server accepts as the stream of the change feed. */
import { expect, it } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { type FeedLine, maxFeedLineLength, sealFeedLine } from '../../../shared/protocol/internal-api/feed-stream.ts'
import { internalMacHeader, macOfInternalResponse } from '../../../shared/protocol/internal-api/responses.ts'
import { readFeedLines } from '../../../verify/src/auth-client/feed-lines.ts'

const asked = { secret: 'a service secret of 32 characters or more', nonce: 'n'.repeat(24) }
const instanceId = '9b1c1f7e-3b1a-8f00-8000-000000000001'
const line = (upTo: number): FeedLine => ({
  instanceId,
  changes: [{ username: 'älice', version: upTo }],
  end: { after: upTo - 1, upTo, readMs: 5, keys: 'a.b' },
})
const sealed = (upTo: number, index: number, of = asked) => `${sealFeedLine(line(upTo), { ...of, index })}\n`

/** A response with the head that an auth server makes, whose body comes in these pieces. */
function response(pieces: readonly (string | Uint8Array)[], of = asked, status = 200): Response {
  const head = { status, body: '', header: () => null }
  const headers = { [internalMacHeader]: macOfInternalResponse(head, of) }
  const body = new ReadableStream({
    start: (controller) => {
      for (const piece of pieces)
        controller.enqueue(typeof piece === 'string' ? new TextEncoder().encode(piece) : piece)
      controller.close()
    },
  })
  return new Response(body, { status, headers })
}

/** The versions that were accepted, and how reading ended. */
async function read(answer: Response | Error) {
  const versions: number[] = []
  const open = async () => {
    if (answer instanceof Error) throw answer
    return answer
  }
  try {
    for await (const { end } of readFeedLines(open, { ...asked, onHead: () => undefined }))
      versions.push(end?.upTo ?? 0)
    return { versions, failure: undefined }
  } catch (failure) {
    return { versions, failure }
  }
}

it('reads lines in whichever pieces they come', async () => {
  const text = new TextEncoder().encode(sealed(1, 0) + sealed(2, 1) + sealed(3, 2))
  for (let size = 1; size <= text.length; size += 7) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    )
    expect(await read(response(pieces))).toEqual({ versions: [1, 2, 3], failure: undefined })
  }
})

const other = { secret: 'another service secret of 32 characters', nonce: asked.nonce }
const earlier = { secret: asked.secret, nonce: 'm'.repeat(24) }
const [mac = '', text = ''] = sealed(2, 1).split(/ (.*)/s)

it.each([
  ['a line of another secret', [sealed(1, 0), sealed(2, 1, other)]],
  ['a line of another stream', [sealed(1, 0), sealed(2, 1, earlier)]],
  ['a line that was sent before', [sealed(1, 0), sealed(1, 0)]],
  ['a line after one that is missing', [sealed(1, 0), sealed(3, 2)]],
  ['a changed line', [sealed(1, 0), `${mac} ${text.replace('"upTo":2', '"upTo":9')}`]],
  ['a line without a MAC', [sealed(1, 0), text]],
  ['an empty line', [sealed(1, 0), '\n']],
])('ends at %s', async (_what, pieces) => {
  const { versions, failure } = await read(response(pieces))
  expect(versions).toEqual([1])
  expect(failure).toBeInstanceOf(Unavailable)
})

it.each<[string, () => Response | Error]>([
  ['a head that no auth server made for this request', () => response([sealed(1, 0)], earlier)],
  ['another status', () => response([sealed(1, 0)], asked, 404)],
  ['no answer', () => new TypeError('fetch failed')],
  ['a line without an end', () => response(['x'.repeat(maxFeedLineLength + 1)])],
])('accepts nothing of %s', async (_what, answer) => {
  const { versions, failure } = await read(answer())
  expect(versions).toEqual([])
  expect(failure).toBeInstanceOf(Unavailable)
})

it('drops a line that breaks off', async () => {
  expect(await read(response([sealed(1, 0), sealed(2, 1).slice(0, -1)]))).toEqual({ versions: [1], failure: undefined })
})
