/** Nodes of a cluster that come, go and die while deals are written. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { CommandKey } from '../../../deal-server/commands/ports.ts'
import type { LoggedEvent } from '../../../deal-server/events/event-log.ts'
import { beginning, type Place } from '../../../deal-server/events/position.ts'
import { createDealRepository, type DealStore } from '../../../deal-server/store/deals.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { commitOf, newDeal } from '../../deal-server/store/commits.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { citusSql } from '../../support/processes/stores/citus-cluster.ts'
import type { PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import type { Backend } from '../../support/stores/backends.ts'
import { describeCitus } from '../../support/stores/citus.ts'

/** The second one takes 10 s more, in which commits go on. */
const drainMode = campaign({ short: 0, long: 1 }) === 0 ? 'block_writes' : 'force_logical'

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

/** All events of the log, from the beginning. */
async function readAll(database: Database): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = []
  for (let after = beginning, isLast = false; !isLast; ) {
    const page = await createEventLog(database).read(after, { limit: 500 })
    events.push(...page.events)
    after = page.end
    isLast = page.isLast
  }
  return events
}

describeCitus('deals while nodes change', (openBackend, cluster) => {
  let backend: Backend
  let database: Database
  let store: DealStore
  let name: string
  /** They start again for the next test. */
  const killed: PostgresServer[] = []

  beforeEach(async () => {
    backend = await openBackend()
    database = backend.openDatabase()
    store = createDealRepository(database)
    name = new URL(backend.environment.DEAL_DATABASE_URL ?? '').pathname.slice(1)
  })
  afterEach(async () => {
    await database.close()
    await backend.close()
    for (const node of killed.splice(0)) {
      await node.start()
      await node.configure({ synchronous_standby_names: '' })
    }
  })

  const kill = async (node: PostgresServer) => {
    await node.kill()
    killed.push(node)
  }
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
    // Commits wait while their shard moves, on a slow machine for longer than callers would.
    const patient = openPostgres(backend.environment.DEAL_DATABASE_URL ?? '', { responseTimeoutMs: 60_000 })
    const [load, reader] = [new Load(createDealRepository(patient)), new Reader(database)]
    await load.commits(50)
    const node = await cluster().addNode(name)
    await onCoordinator("select rebalance_table_shards('deals.event_counters', shard_transfer_mode := 'block_writes')")
    expect(await shardsAt(node.port)).toBeGreaterThan(0)
    await load.commits(50)
    const drained = cluster().workers[0]?.port ?? 0
    await onCoordinator(`select citus_drain_node('127.0.0.1', ${drained}, shard_transfer_mode := '${drainMode}')`)
    expect(await shardsAt(drained)).toBe(0)
    await load.commits(50)
    await expectNothingLost(load, reader)
    expect(load.errors).toEqual([])
    await patient.close()
  })

  it('go on when the standby of a worker that was killed is promoted: none that was acknowledged is lost', async () => {
    const worker = cluster().workers[1]
    if (!worker) throw new TypeError('there are two workers')
    const standby = await cluster().addStandby(worker)
    const [load, reader] = [new Load(store), new Reader(database)]
    await load.commits(100)
    await kill(worker)
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
    expect([...load.errors, ...reader.errors].filter((error) => !(error instanceof Unavailable))).toEqual([])
    await expectNothingLost(load, reader)
  })

  it('are those of a restore point in copies of all nodes that end there, and go on', async () => {
    const { coordinator, workers, copyUpTo } = cluster()
    const load = new Load(store)
    await load.commits(100)
    const copies = new Map<PostgresServer, PostgresServer>()
    for (const node of [coordinator, ...workers]) copies.set(node, await copyUpTo('safe', node))
    const reader = new Reader(database)
    await load.commits(100)
    const acknowledged = [...load.committed]
    await onCoordinator("select citus_create_restore_point('safe')")
    await load.commits(100)
    await load.end()
    await reader.end()
    const restored = copies.get(coordinator)
    if (!restored) throw new TypeError('the coordinator has a copy')
    for (const copy of copies.values()) {
      await eventually(async () =>
        expect(await copy.query('select pg_is_in_recovery() as is')).toEqual([{ is: false }]),
      )
    }
    await restored.query(`select citus_set_coordinator_host('127.0.0.1', ${restored.port})`, name)
    for (const worker of workers) {
      const update = `citus_update_node(nodeid, '127.0.0.1', ${copies.get(worker)?.port}, force := true)`
      await restored.query(`select ${update} from pg_dist_node where nodeport = ${worker.port}`, name)
    }
    for (const node of copies.keys()) await kill(node)
    await restored.query('select start_metadata_sync_to_all_nodes()', name)
    await restored.query('select recover_prepared_transactions()', name)
    await restored.query(citusSql('after-restore'), name)

    const url = `${restored.urlOf(name)}?plan_cache_mode=auto`
    const again = openPostgres(url)
    const present = createDealRepository(again)
    for (const [id, key] of acknowledged) {
      const { deal, command } = await present.load(id, key)
      expect([deal?.id, command?.dealId]).toEqual([id, key && id])
    }
    const furtherLoad = new Load(present)
    await furtherLoad.commits(50)
    await furtherLoad.end()
    expect(furtherLoad.errors).toEqual([])
    const stored = await again.query<{ id: string }>('select to_json(id) as id from deals.deals')
    const events = await readAll(again)
    expect(stored.length).toBeLessThan(load.committed.size + furtherLoad.committed.size)
    // Each deal has its event, and each event its deal.
    expect(events.map(({ dealId }) => dealId).sort()).toEqual(stored.map(({ id }) => id).sort())
    const positions = events.map(({ position }) => position)
    expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other))
    await again.close()
  })

  it('have no event at the position of one that a restored worker lacks', async () => {
    const create = async () => {
      const deal = newDeal()
      expect(await store.commit(commitOf(deal))).toBe('committed')
      return deal.id
    }
    for (let count = 0; count < 20; count += 1) await create()
    const before = await readAll(database)
    const lost = before[10]
    if (!lost) throw new TypeError('there are 20 events')
    const bucket = bucketOf(lost.dealId)
    const inBucket = before.filter(({ dealId }) => bucketOf(dealId) === bucket)
    const gone = new Set(inBucket.slice(inBucket.indexOf(lost)).map(({ position }) => position))
    await onCoordinator(`delete from deals.events
      where bucket = ${bucket} and number > ${inBucket.length - gone.size}`)
    await onCoordinator(`update deals.event_counters set count = count - ${gone.size} where bucket = ${bucket}`)
    await onCoordinator(citusSql('after-restore'))
    let another = newDeal()
    while (bucketOf(another.id) !== bucket) another = newDeal()
    expect(await store.commit(commitOf(another))).toBe('committed')
    const after = await readAll(database)
    expect(after.slice(0, -1)).toEqual(before.filter(({ position }) => !gone.has(position)))
    expect(after.at(-1)).toMatchObject({ dealId: another.id, position: 21 })
  })
})
