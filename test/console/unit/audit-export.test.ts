import { expect, it } from 'vitest'
import { auditExportPage } from '../../../console/administration/audit-export.ts'
import type { AuthVisit } from '../../../console/frame/auth-api.ts'
import { createDownloads } from '../../../console/frame/downloads.ts'
import type { BodyStream, StreamBody } from '../../../shared/platform/http/stream.ts'

const pages = 3

/** A log of three pages of one entry each; which cursors were asked for. */
function logOfPages() {
  const asked: unknown[] = []
  const get = async (_: string, { query }: { query: { cursor?: string } }) => {
    const { cursor = '1' } = query
    asked.push(cursor)
    const entry = {
      seq: Number(cursor),
      at: '2030-01-01T00:00:00Z',
      actor: '=1+1',
      action: 'user.created',
      target: 'a,"b"',
    }
    return { items: [entry], nextCursor: Number(cursor) < pages ? String(Number(cursor) + 1) : null }
  }
  return { asked, get }
}

/** A browser that takes one piece, and the next one when it is told to. */
function slowBrowser() {
  const pieces: string[] = []
  const ending = new AbortController()
  let take = () => {}
  const stream: BodyStream = {
    write: (piece) => {
      pieces.push(String(piece))
      return false
    },
    waitingBytes: () => 0,
    drained: () => new Promise((resolve) => (take = resolve)),
    cut: () => ending.abort(),
    ended: ending.signal,
  }
  return { pieces, stream, take: () => take(), leave: () => ending.abort() }
}

async function exported(format: string, download = createDownloads({ maxOfUser: 4, maxInAll: 4 })) {
  const log = logOfPages()
  const request = { query: new URLSearchParams({ format }), method: 'GET' }
  const visit = { request, api: { get: log.get }, caller: { userId: 'u' } } as unknown as AuthVisit
  const result = await auditExportPage(download).render(visit)
  if (!('response' in result)) throw new Error('no file')
  return { asked: log.asked, body: result.response.body as StreamBody }
}

it('reads a page of the log only when the browser has taken the one before', async () => {
  const [{ asked, body }, browser] = [await exported('csv'), slowBrowser()]
  const done = body(browser.stream)
  await expect.poll(() => browser.pieces.length).toBe(2)
  expect(asked).toEqual(['1'])
  browser.take()
  await expect.poll(() => browser.pieces.length).toBe(3)
  expect(asked).toEqual(['1', '2'])
  browser.take()
  await expect.poll(() => browser.pieces.length).toBe(4)
  browser.take()
  await done
  expect(asked).toEqual(['1', '2', '3'])
  expect(browser.pieces[1]).toMatch(/^1,2030-01-01T00:00:00Z,'=1\+1,user\.created,"a,""b""",/)
})

it('reads no further page for a browser that has gone', async () => {
  const [{ asked, body }, browser] = [await exported('ndjson'), slowBrowser()]
  const done = body(browser.stream)
  await expect.poll(() => browser.pieces.length).toBe(1)
  browser.leave()
  browser.take()
  await done
  expect(asked).toEqual(['1'])
})

it('is refused to a reader who has as many downloads as one may have, until one of them ends', async () => {
  const download = createDownloads({ maxOfUser: 1, maxInAll: 4 })
  const [{ body }, browser] = [await exported('csv', download), slowBrowser()]
  const done = body(browser.stream)
  await expect(exported('csv', download)).rejects.toMatchObject({ code: 'too-many-streams' })
  browser.leave()
  browser.take()
  await done
  await exported('csv', download)
})
