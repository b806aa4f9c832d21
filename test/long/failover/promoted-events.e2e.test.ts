/**
 * Positions are given a second time after a promotion that lost some: streams say `reset` and go
 * on, and what a client brings back from the lost branch is refused by name.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { beginning } from '../../../deal-server/events/position.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { campaign } from '../../support/campaign.ts'
import { type EventClient, openEvents, type SentEvent } from '../../support/clients/event-client.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { findPostgresBinaries } from '../../support/processes/stores/postgres-server.ts'
import { type PromotablePostgres, startPromotablePostgres } from '../../support/processes/stores/promotable-postgres.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()
const canRun = binaries !== undefined && redisServerInstalled
const rounds = campaign({ short: 1, long: 10 })
const sorts = ['-createdAt', 'name'] as const

describe.skipIf(!canRun)('after a promotion, the events and lists of deals', () => {
  let postgres: PromotablePostgres
  let stack: Stack
  let alice: string
  let clients: EventClient[] = []
  let isFirst = true

  beforeAll(async () => {
    postgres = await startPromotablePostgres(binaries ?? '')
    stack = await openStack(() => openPostgresAndRedis(postgres.url), { dealServers: 2 })
  })
  afterAll(async () => {
    for (const client of clients) client.close()
    await stack?.close()
    await postgres?.remove()
  })

  const create = async (count: number) => {
    for (let made = 0; made < count; made += 1) {
      const json = { name: `deal ${made}`, price: 1 }
      const { status, text } = await stack.deal.send('/rest/v1/deals/', { token: alice, json })
      if (status !== 201) throw new Error(`the creation was answered ${status}: ${text}`)
    }
  }
  /** All events, in the order of the log. */
  const log = async (): Promise<string[]> => {
    const { events } = await createEventLog(stack.database).read(beginning, { limit: 10_000 })
    return events.map(({ id }) => id)
  }
  const open = (server: TestServer, options: { query?: string; lastEventId?: string } = {}) =>
    openEvents(server, { token: alice, ...options })
  const idsOf = (events: readonly SentEvent[]) => events.map(({ data }) => data.id)
  const isReset = ({ event }: SentEvent) => event === 'reset'

  /** Two clients, one at each server: of all events, and of those from now on. */
  const begin = async (): Promise<void> => {
    for (const client of clients) client.close()
    if (!isFirst) await postgres.renewStandby()
    isFirst = false
    alice = (await stack.logIn('alice')).access
    await create(3)
    const [first, second] = stack.deals
    if (!first || !second) throw new Error('unreachable')
    clients = [await open(first, { query: '?after=0' }), await open(second)]
    await create(2)
    const last = (await log()).at(-1)
    for (const client of clients) await client.until(({ events }) => idsOf(events).includes(last))
  }

  /** Each client has every event once since its own first one, apart from those that were lost. */
  const expectEverythingOnce = async (): Promise<void> => {
    const all = await log()
    for (const client of clients) {
      await client.until(({ events }) => idsOf(events).includes(all.at(-1)))
      expect(client.hasEnded).toBe(false)
      const [reset, ...others] = client.events.filter(isReset)
      expect(others).toEqual([])
      expect(reset?.data).toEqual({ position: reset?.id })
      const kept = idsOf(client.events.filter((event) => !isReset(event))).filter((id) => all.includes(String(id)))
      expect(kept).toEqual(all.slice(all.indexOf(String(kept[0]))))
    }
  }

  const list = (query: string) => stack.deal.send(`/rest/v1/deals?limit=1&${query}`, { token: alice })
  const cursorOf = async (sort: string) => `sort=${sort}&cursor=${(await list(`sort=${sort}`)).body.nextCursor}`

  it.each(Array.from({ length: rounds }, (_, round) => round + 1))(
    'miss nothing and double nothing when some were lost, and refuse what a client has of the lost branch (round %i)',
    async () => {
      await begin()
      await postgres.cutStandbyOff()
      await create(5)
      for (const client of clients) await client.until(({ events }) => events.length >= 7)
      const lastEventId = String(clients[1]?.events.at(-1)?.id)
      const cursors = await Promise.all(sorts.map(cursorOf))
      for (const cursor of cursors) expect((await list(cursor)).status).toBe(200)

      await postgres.promote()
      await eventually(() => create(1))
      for (const client of clients) await client.until(({ events }) => events.some(isReset))
      // More than were lost, so that every position of the lost branch is that of an event again.
      await create(8)
      await expectEverythingOnce()
      for (const server of stack.deals) {
        const refused = await server.send('/rest/v1/events', {
          token: alice,
          headers: { 'last-event-id': lastEventId },
        })
        expectProblem(refused, 400, 'outdated-cursor')
      }
      for (const cursor of cursors) expectProblem(await list(cursor), 400, 'outdated-cursor')

      const returning = await open(stack.deal, { lastEventId: String(clients[1]?.events.at(-2)?.id) })
      await returning.until(({ events }) => events.length === 1)
      expect(idsOf(returning.events)).toEqual((await log()).slice(-1))
      returning.close()
      for (const sort of sorts) expect((await list(await cursorOf(sort))).status).toBe(200)
    },
  )

  it('miss nothing and double nothing when none were lost', async () => {
    await begin()
    await postgres.promote()
    await eventually(() => create(1))
    for (const client of clients) await client.until(({ events }) => events.some(isReset))
    await create(3)
    await expectEverythingOnce()
  })
})
