import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { CommandKey } from '../../../deal-server/commands/ports.ts'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import type { Task } from '../../../deal-server/domain/task.ts'
import { type DealFilter, type DealSort, dealSortKeys } from '../../../deal-server/queries/ports.ts'
import { createDealRepository } from '../../../deal-server/store/deals.ts'
import type { Database, Statement } from '../../../shared/platform/database/database.ts'
import type { Page, PageRequest } from '../../../shared/platform/pagination.ts'
import { campaign } from '../../support/campaign.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfSuite } from '../../support/stores/own-database.ts'
import { commitOf, newDeal } from './commits.ts'

const keyOf = (commandId: string): CommandKey => ({ principalId: randomUUID(), commandId })

/** Reads a list page by page. */
async function walk<Item>(read: (page: PageRequest) => Promise<Page<Item>>, limit: number): Promise<Item[]> {
  const items: Item[] = []
  let after: PageRequest['after']
  do {
    const page: Page<Item> = await read({ limit, after })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    items.push(...page.items)
    after = page.next
  } while (after !== undefined)
  return items
}

/** As PostgreSQL orders texts under `collate "C"`. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

/** The order of a list: deals without a value last, ties by id. */
function ordered(deals: readonly Deal[], { by, descending }: DealSort): string[] {
  const sign = descending ? -1 : 1
  const compare = (one: Deal, other: Deal): number => {
    const [a, b] = [one[by], other[by]]
    if (a === null || b === null) {
      if (a !== b) return a === null ? 1 : -1
    } else if (a !== b) {
      return sign * (typeof a === 'number' ? a - Number(b) : byBytes(a, String(b)))
    }
    return sign * byBytes(one.id, other.id)
  }
  return [...deals].sort(compare).map(({ id }) => id)
}

const minute = (value: number) => `2026-01-01T00:${String(value).padStart(2, '0')}:00.${value % 2 ? '000' : '120'}Z`

describeDealStores('the store of deals', (open) => {
  const { database, openAnother } = databaseOfSuite(open)
  const store = createDealRepository(database)

  const loadDeal = async (id: string) => (await store.load(id, undefined)).deal

  it('keeps a deal with all that belongs to it, and gives it back', async () => {
    const task = { id: randomUUID(), title: 'call', dueDate: '2030-01-01', assigneeId: 'bob' }
    const assigned = { assigneeUserId: null, status: 'open', result: null, doneAt: null } as const
    const times = { createdAt: minute(1), assignedAt: minute(2) }
    const tasks: Task[] = [{ ...task, ...assigned, ...times }]
    const deal = { ...newDeal(), tasks }
    const key = keyOf('create')
    expect(await store.commit({ ...commitOf(deal, { key }), tasks })).toBe('committed')
    expect(await loadDeal(deal.id)).toEqual(deal)
    expect((await store.loadText(deal.id))?.id).toBe(deal.id)
    expect((await store.history(deal.id, { limit: 9, after: undefined })).items).toHaveLength(1)
    const [command] = (await store.listCommands(deal.id, { limit: 9, after: undefined })).items
    expect([command?.key, (await store.load(undefined, key)).command]).toEqual([key, command])
  })

  it('reads the deals and the commands of a batch by statements that leave together', async () => {
    const sent: number[] = []
    const watched = {
      query: (...given: Parameters<Database['query']>) => {
        sent.push(1)
        return database.query(...given)
      },
      queryAll: (statements: readonly (Statement | undefined)[]) => {
        sent.push(statements.filter((statement) => statement !== undefined).length)
        return database.queryAll(statements)
      },
    } as Database
    const [deal, key] = [newDeal(), keyOf('together')]
    await store.commit(commitOf(deal, { key }))
    const { load } = createDealRepository(watched)
    const [known, unknown] = await Promise.all([load(deal.id, key), load(randomUUID(), keyOf('none'))])
    expect([known.deal, known.command?.dealId]).toEqual([deal, deal.id])
    expect(unknown).toEqual({ deal: undefined, command: undefined, purged: false })
    expect(sent).toEqual([2])
  })

  it('knows no deal and no command that was not committed', async () => {
    expect(await store.load(randomUUID(), keyOf('none'))).toEqual({
      deal: undefined,
      command: undefined,
      purged: false,
    })
    expect(await store.load(undefined, keyOf('none'))).toEqual({ deal: undefined, command: undefined, purged: false })
    expect(await store.loadText(randomUUID())).toBeUndefined()
  })

  it('refuses a second creation, and a change of a version that is gone', async () => {
    const deal = newDeal()
    expect(await store.commit(commitOf(deal))).toBe('committed')
    expect(await store.commit(commitOf({ ...deal, name: 'another' }))).toBe('deal-exists')
    const changed = { ...deal, name: 'changed', version: 2, sequence: 2 }
    expect(await store.commit(commitOf(changed, { before: deal }))).toBe('committed')
    expect(await store.commit(commitOf(changed, { before: deal }))).toBe('version-lost')
    expect(await loadDeal(deal.id)).toEqual(changed)
  })

  it('lets one command have an id, on whichever deals it is tried at once, by several servers', async () => {
    const servers = [store, createDealRepository(openAnother())]
    const key = keyOf('once')
    const many = Array.from({ length: 16 }, () => newDeal())
    const results = await Promise.all(many.map((deal, index) => servers[index % 2]?.commit(commitOf(deal, { key }))))
    expect(results.filter((result) => result === 'committed')).toHaveLength(1)
    expect(results.filter((result) => result === 'command-taken')).toHaveLength(15)
    const winner = many[results.indexOf('committed')]
    expect((await store.load(undefined, key)).command?.dealId).toBe(winner?.id)
    const found = await Promise.all(many.map(({ id }) => loadDeal(id)))
    expect(found.filter((deal) => deal !== undefined)).toEqual([winner])
    expect(await store.commit(commitOf(newDeal(), { key: keyOf('once') }))).toBe('committed')
  })

  it('keeps a command that changed no deal, once', async () => {
    const [key, deal] = [keyOf('refused'), newDeal()]
    const { command } = commitOf(deal, { key })
    if (!command) throw new TypeError('a commit with a key has a command')
    expect(await store.keepCommand(command)).toBe('committed')
    expect(await store.keepCommand(command)).toBe('command-taken')
    expect(await store.commit(commitOf(newDeal(), { key }))).toBe('command-taken')
    expect((await store.load(randomUUID(), key)).command).toEqual({ ...command, requestedAt: expect.any(String) })
  })

  describe('with many deals', () => {
    const written: Deal[] = []
    const currency = 'CHF'
    const filter: DealFilter = { currency }

    beforeAll(async () => {
      const names = ['a', 'B', 'ä', '\u{1f600}', '\ufb01', 'b', 'A']
      for (let index = 0; index < 42; index += 1) {
        written.push({
          ...newDeal(),
          currency,
          name: names[index % 7] ?? '',
          price: (index * 37) % 11,
          ownerId: ['alice', 'Alice', 'bob'][index % 3] ?? '',
          createdAt: minute(index % 9),
          updatedAt: minute(index % 5),
          completionDate: index % 4 ? `2030-01-0${index % 4}` : null,
        })
      }
      const results = await Promise.all(written.map((deal) => store.commit(commitOf(deal))))
      expect(new Set(results)).toEqual(new Set(['committed']))
    })

    it('lists each once, in any order and in pages of any size', async () => {
      const anyList = fc.record({
        by: fc.constantFrom(...dealSortKeys),
        descending: fc.boolean(),
        limit: fc.integer({ min: 1, max: 50 }),
      })
      const check = async ({ limit, ...sort }: DealSort & { readonly limit: number }) => {
        const found = await walk((page) => store.list({ filter, sort, page }), limit)
        expect(found.map(({ id }) => id)).toEqual(ordered(written, sort))
      }
      await fc.assert(fc.asyncProperty(anyList, check), { numRuns: campaign({ short: 14, long: 500 }) })
    })

    it('gives each once during a walk while others are renamed, at the place where it was', async () => {
      const sort = { by: 'name', descending: false } as const
      const before = ordered(written, sort)
      const seen: string[] = []
      let after: PageRequest['after']
      let round = 0
      do {
        const page = await store.list({ filter, sort, page: { limit: 5, after } })
        seen.push(...page.items.map(({ id }) => id))
        after = page.next
        const index = (round * 13) % written.length
        const deal = written[index]
        if (!deal) throw new TypeError('there is such a deal')
        const changed = { ...deal, name: round % 2 ? 'zz' : '0', version: 2, sequence: 2 }
        const commit = commitOf(changed, { before: deal })
        const data = { old: deal.name, new: changed.name }
        const events = commit.events.map((one) => ({ ...one, event: { type: 'deal.renamed', data } as never }))
        expect(await store.commit({ ...commit, events })).toBe('committed')
        written[index] = changed
        round += 1
      } while (after !== undefined)
      expect(seen).toEqual(before)
    })

    it('counts and sums them', async () => {
      expect(await store.count(filter, true)).toEqual({ count: written.length, isExact: true })
      expect((await store.count(filter, false)).isExact).toBe(false)
      const { groups, totalCount, otherCount } = await store.summarize({ filter, by: ['ownerId'] })
      const value = (owners: readonly string[]) =>
        String(written.filter(({ ownerId }) => owners.includes(ownerId)).reduce((sum, { price }) => sum + price, 0))
      expect(groups).toEqual([
        { ownerId: 'Alice', currency, count: 28, value: value(['alice', 'Alice']) },
        { ownerId: 'bob', currency, count: 14, value: value(['bob']) },
      ])
      expect([totalCount, otherCount]).toEqual([42, 0])
    })

    it('refuses a cursor that was made elsewhere', async () => {
      const sort = { by: 'createdAt', descending: true } as const
      const other = [minute(1), randomUUID(), '0123456789ab']
      const read = store.list({ filter, sort, page: { limit: 5, after: other } })
      await expect(read).rejects.toMatchObject({ code: 'outdated-cursor' })
    })
  })

  it('lists the open tasks of a user over all deals, the most urgent first', async () => {
    const assigneeId = `user-${randomUUID()}`
    const dates = Array.from({ length: 12 }, (_, index) => (index % 5 ? `2030-02-0${index % 5}` : null))
    const expected: { readonly id: string; readonly dueDate: string | null }[] = []
    for (const dueDate of dates) {
      const id = randomUUID()
      const open = { assigneeUserId: null, status: 'open', result: null, doneAt: null } as const
      const tasks: Task[] = [
        { id, title: 't', dueDate, assigneeId, createdAt: minute(1), assignedAt: minute(1), ...open },
      ]
      expect(await store.commit({ ...commitOf({ ...newDeal(), tasks }), tasks })).toBe('committed')
      expected.push({ id, dueDate })
    }
    const last = (date: string | null) => date ?? '9'
    expected.sort((a, b) => byBytes(last(a.dueDate), last(b.dueDate)) || byBytes(a.id, b.id))
    const assignee = { username: assigneeId, userId: undefined }
    for (const limit of [1, 5, 50]) {
      const found = await walk((page) => store.assignedTasks(assignee, page), limit)
      expect(found.map(({ taskId }) => taskId)).toEqual(expected.map(({ id }) => id))
    }
  })
})
