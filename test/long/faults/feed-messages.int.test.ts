/** How many messages of the change feed Redis sends, with four auth servers and eight deal servers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'
import {
  type AuthPart,
  changeAlice,
  createAlice,
  type DealPart,
  openAuthPart,
  openDealPart,
} from '../../support/worlds/freshness/freshness-servers.ts'

const dealServers = 8
const seconds = 4

describePostgresAndRedis('the change feed of four auth servers and eight deal servers', (open) => {
  let backend: Backend
  let authParts: AuthPart[] = []
  let dealParts: DealPart[] = []
  let heard = 0

  beforeAll(async () => {
    backend = await open()
    const database = backend.openDatabase()
    await createAlice(database, [])
    await database.close()
    authParts = [1, 2, 3, 4].map(() => openAuthPart(backend))
    dealParts = await Promise.all(Array.from({ length: dealServers }, () => openDealPart(backend, authParts)))
    for (const { feed } of dealParts) feed.onPublishedKeys(() => (heard += 1))
  })
  afterAll(async () => {
    await Promise.all([...dealParts, ...authParts].map((part) => part.close()))
    await backend.close()
  })

  /** Messages a second to each deal server while `work` goes on. */
  const messages = async (work: () => Promise<unknown>): Promise<number> => {
    const [before, began] = [heard, performance.now()]
    await work()
    return ((heard - before) / dealServers / (performance.now() - began)) * 1000
  }

  it('sends each deal server five messages a second while nothing changes', async () => {
    // A machine that is busy with something else may make a heartbeat late, and another server sends one more.
    await eventually(async () => {
      const idle = await messages(() => sleep(seconds * 1000))
      process.stdout.write(`messages a second to each of ${dealServers} deal servers: ${idle.toFixed(1)}\n`)
      expect(idle).toBeGreaterThan(3)
      expect(idle).toBeLessThan(5.5)
    })
  })

  it('sends each deal server one message more for a change', async () => {
    let changes = 0
    const loaded = await messages(async () => {
      const end = performance.now() + seconds * 500
      while (performance.now() < end) {
        const part = authParts[changes % authParts.length] as AuthPart
        await changeAlice(part, changes % 2 === 0 ? ['deal.hold'] : [])
        changes += 1
        await sleep(20)
      }
    })
    const changesASecond = changes / (seconds / 2)
    process.stdout.write(`with ${changesASecond.toFixed(0)} changes a second: ${loaded.toFixed(1)}\n`)
    expect(changes).toBeGreaterThan(10)
    // Servers that see a change of another one late may announce it a second time.
    expect(loaded).toBeLessThan(8 + 2 * changesASecond)
  })
})
