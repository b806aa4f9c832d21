/** Readers who begin many downloads and take nothing of them. */
import { randomUUID } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sendLines } from '../../support/clients/batch-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { eventually } from '../../support/eventually.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { type ConsoleWorld, openConsole } from '../../support/worlds/console-world.ts'

const path = '/console/deals/export'
const readers = 300
const description = 'x'.repeat(3_900)

let world: ConsoleWorld

/** Begins a download. Its body is not read. */
async function begin(cookie: string, method = 'GET') {
  let sent: ClientRequest | undefined
  const { statusCode, headers } = await new Promise<IncomingMessage>((resolve, reject) => {
    sent = request(world.url(path), { method, headers: { cookie }, agent: false }, resolve).on('error', reject)
    sent.end()
  })
  sent?.on('error', () => undefined)
  return { status: statusCode, retryAfter: headers['retry-after'], end: () => sent?.destroy() }
}

describeOnce('downloads', (openBackend) => {
  beforeAll(async () => {
    world = await openConsole(openBackend, { logLevel: 'silent' })
    const token = (await world.stack.logIn('alice')).access
    // More than sockets hold.
    for (let batch = 0; batch < 4; batch += 1) {
      const deals = Array.from({ length: 1000 }, () => ({
        id: randomUUID(),
        action: 'CreateDeal',
        params: { name: 'deal', price: 1, description },
      }))
      expect((await sendLines(world.stack.deal, deals, { token })).status).toBe(200)
    }
  })
  afterAll(() => world.close())

  it(`of one reader are four at once, however many of ${readers} are begun; others have theirs`, async () => {
    const { cookie } = await signIn(world.stack, 'alice')
    const begun = await Promise.all(Array.from({ length: readers }, () => begin(cookie)))
    const refused = begun.filter(({ status }) => status === 429)
    expect(begun.filter(({ status }) => status === 200)).toHaveLength(4)
    expect(refused).toHaveLength(readers - 4)
    expect(refused[0]?.retryAfter).toBe('10')
    const { cookie: other } = await signIn(world.stack, 'bob')
    const ofOther = await begin(other)
    expect(ofOther.status).toBe(200)
    for (const { end } of [...begun, ofOther]) end()
    await eventually(async () => {
      const again = await begin(cookie)
      again.end()
      expect(again.status).toBe(200)
    })
  })

  it('that are asked for their head alone are not counted', async () => {
    const { cookie } = await signIn(world.stack, 'alice')
    for (let count = 0; count < 8; count += 1) expect((await begin(cookie, 'HEAD')).status).toBe(200)
    const { end, status } = await begin(cookie)
    end()
    expect(status).toBe(200)
  })
})
