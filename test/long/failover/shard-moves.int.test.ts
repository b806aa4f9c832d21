/** Shards that move while deals are written: by copying while writes wait, and by replication while they go on. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { DealCommit } from '../../../deal-server/commands/ports.ts'
import { checkDeals } from '../../../deal-server/retention/torn-deals.ts'
import { createDealRepository, type DealStore } from '../../../deal-server/store/deals.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { commitOf, newDeal } from '../../deal-server/store/commits.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { citusSql } from '../../support/processes/stores/citus-cluster.ts'
import { describeCitus } from '../../support/stores/citus.ts'

/** So many move by copying, in tenths of a second each. */
const byCopy = 22
/** Each takes 3 s: Citus waits for its replication. */
const byReplication = campaign({ short: 2, long: 22 })
const writers = 48
const changesOfDeal = 5

/** Clients of a few servers, each of whose commands has an id. A command whose fate is unknown is sent again. */
class Writers {
  /** The last acknowledged version of each deal. */
  readonly versions = new Map<string, number>()
  readonly faults: unknown[] = []
  #isOver = false
  readonly #running: Promise<void>[]

  constructor(stores: readonly DealStore[]) {
    this.#running = Array.from({ length: writers }, (_, index) => this.#write(stores[index % stores.length]))
  }

  get commands(): number {
    return [...this.versions.values()].reduce((sum, version) => sum + version, 0)
  }

  async #write(store: DealStore | undefined): Promise<void> {
    while (!this.#isOver && store) {
      let deal = newDeal()
      await this.#command(store, commitOf(deal, { key: { principalId: randomUUID(), commandId: 'create' } }))
      while (!this.#isOver && deal.version < changesOfDeal && this.versions.get(deal.id) === deal.version) {
        const version = deal.version + 1
        const changed = { ...deal, name: `version ${version}`, version, sequence: version }
        const key = { principalId: randomUUID(), commandId: 'change' }
        await this.#command(store, commitOf(changed, { before: deal, key }))
        deal = changed
      }
    }
  }

  async #command(store: DealStore, commit: DealCommit): Promise<void> {
    const { deal, command } = commit
    for (;;) {
      try {
        const result = await store.commit(commit)
        const isDone = result === 'committed' || (await store.load(deal.id, command?.key)).command !== undefined
        if (isDone) this.versions.set(deal.id, deal.version)
        else this.faults.push(`version ${deal.version}: ${result}`)
        return
      } catch (error) {
        if (!(error instanceof Unavailable)) return void this.faults.push(error)
        await pause(50)
      }
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }
}

describeCitus('deals while shards move', (openBackend, cluster) => {
  it('are whole, on workers and on a coordinator that has shards too', async () => {
    const backend = await openBackend()
    const url = backend.environment.DEAL_DATABASE_URL ?? ''
    const { coordinator, workers } = cluster()
    const query = (statement: string) => coordinator.query(statement, new URL(url).pathname.slice(1))
    const places = [coordinator, ...workers].map(({ port }) => port)
    await query(`select citus_set_node_property('127.0.0.1', ${coordinator.port}, 'shouldhaveshards', true)`)
    // As it was left before; the present SQL ends it, beside servers.
    await query(`select create_distributed_function('deals.commit(smallint, text, text, text, text)', 'of_bucket',
      colocate_with := 'deals.event_counters')`)
    const databases = Array.from({ length: 3 }, () => openPostgres(url))
    const load = new Writers(databases.map((database) => createDealRepository(database)))
    await eventually(() => expect(load.commands).toBeGreaterThan(500))
    await query(citusSql('distribute'))

    const move = async (at: number, mode: string) => {
      const shards = await query(`select shardid, nodeport from citus_shards
        where table_name = 'deals.event_counters'::regclass order by shardid`)
      const { shardid, nodeport } = shards[at % shards.length] ?? {}
      const to = places[(places.indexOf(nodeport) + 1) % places.length]
      const nodes = [nodeport, to].map((port) => `'127.0.0.1', ${port}`).join()
      await query(`select citus_move_shard_placement(${shardid}, ${nodes}, '${mode}')`)
    }
    /** Of writes and a move that wait for each other, Citus undoes one. */
    const moveAtLast = (at: number, mode: string) => eventually(() => move(at, mode))
    for (let at = 0; at < byCopy; at += 1) await moveAtLast(at, 'block_writes')
    for (let at = 0; at < byReplication; at += 1) await moveAtLast(at, 'force_logical')
    await load.end()

    expect(load.faults).toEqual([])
    const [database] = databases
    if (!database) throw new TypeError('there are databases')
    const torn: string[] = []
    for await (const checked of checkDeals(database, { signal: new AbortController().signal }))
      torn.push(...checked.torn)
    expect(torn).toEqual([])
    const rows = await query('select id, version from deals.deals')
    expect(new Map(rows.map(({ id, version }) => [id, version]))).toEqual(load.versions)
    const counted = await query(`select (select count(*) from deals.events)::int as events,
      (select count(*) from deals.commands)::int as commands, (select sum(count) from deals.event_counters)::int as counts`)
    expect(counted).toEqual([{ events: load.commands, commands: load.commands, counts: load.commands }])
    for (const each of databases) await each.close()
    await backend.close()
  }, 600_000)
})
