/** Nodes of a cluster that come, go and die while deals are written. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { CommandKey } from '../../deal-server/commands/ports.ts'
import { beginning, type Place } from '../../deal-server/events/position.ts'
import { createDealRepository, type DealStore } from '../../deal-server/store/deals.ts'
import { createEventLog } from '../../deal-server/store/event-log.ts'
import { type Database, DatabaseError } from '../../shared/platform/database/database.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { commitOf, newDeal } from '../deal-server/store/commits.ts'
import { eventually } from '../support/eventually.ts'
import type { Backend } from '../support/stores/backends.ts'
import { describeCitus } from '../support/stores/citus.ts'

/** A commit that is under way when a node dies may get an internal error of the coordinator. */
const saysThatANodeIsAway = (error: unknown): boolean =>
  error instanceof Unavailable || (error instanceof DatabaseError && error.sqlState === 'XX000')

/** Callers that create deals, half of them with a command id. They go on after an error, which is kept. */
class Load {
  readonly committed = new Map<string, CommandKey | undefined>()
  readonly errors: unknown[] = []
  #isOver = false
  readonly #callers: Promise<void>[]

  constructor(store: DealStore, callers = 6) {
    this.#callers = Array.from({ length: callers }, (_, index) => this.#call(store, index % 2 === 0))
  }

  async #call(store: DealStore, isNamed: boolean): Promise<void> {
    while (!this.#isOver) {
      const deal = newDeal()
      const key = isNamed ? { principalId: randomUUID(), commandId: 'create' } : undefined
      try {
        const result = await store.commit(commitOf(deal, key ? { key } : {}))
        if (result === 'committed') this.committed.set(deal.id, key)
        else this.errors.push(result)
      } catch (error) {
        this.errors.push(error)
        await pause(50)
      }
    }
  }

  /** Waits until so many more deals are there. */
  async commits(more: number): Promise<void> {
    const wanted = this.committed.size + more
    await eventually(() => expect(this.committed.size).toBeGreaterThanOrEqual(wanted))
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#callers)
  }
}

/** Follows the log beside the load, and keeps what it saw. */
class Reader {
  readonly seen: string[] = []
  readonly errors: unknown[] = []
  #isOver = false
  #place: Place = beginning
  readonly #database: Database
  readonly #reading: Promise<void>

  constructor(database: Database) {
    this.#database = database
    this.#reading = this.#follow()
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) {
      await this.read().catch((error: unknown) => this.errors.push(error))
      await pause(100)
    }
  }

  async read(): Promise<void> {
    const log = createEventLog(this.#database)
    for (let isLast = false; !isLast; ) {
      const page = await log.read(this.#place, { limit: 500 })
      for (const { dealId, position } of page.events) {
        expect(position).toBe(this.seen.length + 1)
        this.seen.push(dealId)
      }
      this.#place = page.end
      isLast = page.isLast
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#reading
    await this.read()
  }
}

describeCitus('deals while nodes change', (openBackend, cluster) => {
  let backend: Backend
  let database: Database
  let store: DealStore
  let name: string

  beforeEach(async () => {
    backend = await openBackend()
    database = backend.openDatabase()
    store = createDealRepository(database)
    name = new URL(backend.environment.DEAL_DATABASE_URL ?? '').pathname.slice(1)
  }, 60_000)
  afterEach(async () => {
    await database.close()
    await backend.close()
  })

  const onCoordinator = (statement: string) => cluster().coordinator.query(statement, name)
  const shardsAt = async (port: number): Promise<number> => {
    const [row] = await onCoordinator(`select count(*)::int as count from citus_shards where nodeport = ${port}`)
    return row?.count ?? 0
  }

  /** Everything that was acknowledged is there, and its events came once. */
  async function expectNothingLost(load: Load, reader: Reader): Promise<void> {
    await load.end()
    await reader.end()
    expect(new Set(reader.seen).size).toBe(reader.seen.length)
    const seen = new Set(reader.seen)
    const found = await Promise.all([...load.committed].map(([id, key]) => store.load(id, key)))
    for (const [index, [id, key]] of [...load.committed].entries()) {
      expect(seen.has(id)).toBe(true)
      expect(found[index]?.deal?.id).toBe(id)
      expect(found[index]?.command?.dealId).toBe(key && id)
    }
  }

  it('none fails and none is lost when a node is added, takes shards, and another one is drained', async () => {
    const [load, reader] = [new Load(store), new Reader(database)]
    await load.commits(50)
    const node = await cluster().addNode(name)
    await onCoordinator("select rebalance_table_shards('deals.event_counters', shard_transfer_mode := 'block_writes')")
    expect(await shardsAt(node.port)).toBeGreaterThan(0)
    await load.commits(50)
    const drained = cluster().workers[0]?.port ?? 0
    await onCoordinator(`select citus_drain_node('127.0.0.1', ${drained}, shard_transfer_mode := 'force_logical')`)
    expect(await shardsAt(drained)).toBe(0)
    await load.commits(50)
    await expectNothingLost(load, reader)
    expect(load.errors).toEqual([])
  }, 180_000)

  it('go on when the standby of a worker that was killed is promoted: none that was acknowledged is lost', async () => {
    const worker = cluster().workers[1]
    if (!worker) throw new TypeError('there are two workers')
    const standby = await cluster().addStandby(worker)
    const [load, reader] = [new Load(store), new Reader(database)]
    await load.commits(100)
    await worker.kill()
    await eventually(() => expect(load.errors.length).toBeGreaterThan(0))
    const seen = reader.seen.length
    await pause(1_000)
    // The log asks all workers: it waits.
    expect(reader.seen.length).toBe(seen)
    await standby.promote()
    await onCoordinator(`select citus_update_node(nodeid, '127.0.0.1', ${standby.port}, force := true)
      from pg_dist_node where nodeport = ${worker.port}`)
    await onCoordinator('select recover_prepared_transactions()')
    await load.commits(50)
    const before = load.errors.length
    await load.commits(200)
    expect(load.errors.length).toBe(before)
    expect([...load.errors, ...reader.errors].filter((error) => !saysThatANodeIsAway(error))).toEqual([])
    await expectNothingLost(load, reader)
  }, 180_000)
})
