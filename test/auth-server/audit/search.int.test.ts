import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import type { AuditEntry } from '../../../auth-server/audit/audit.ts'
import { type AuditFilter, type AuditOrder, readEntries } from '../../../auth-server/audit/read-entries.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import { campaign } from '../../support/campaign.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createSettledLog } from '../support/settled-log.ts'
import { createTestClock } from '../support/test-clock.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

const actors = ['admin', 'Alice', 'alice@example.com', null] as const
const actions = ['key.generated', 'key.promoted', 'user.changed', 'user.created', 'userx.changed'] as const
const targets = ['bob', 'BOB', '0191e7a0-0000-7000-8000-000000000000', null] as const
const outcomes = ['succeeded', 'missing-right'] as const

/** The filter as its description says it, over entries in memory. */
const holds =
  ({ actor, action, target, outcome, from, to }: AuditFilter) =>
  (entry: AuditEntry): boolean =>
    (actor === undefined || foldUsername(entry.actor ?? '') === foldUsername(actor)) &&
    (action === undefined ||
      (action.endsWith('*') ? entry.action.startsWith(action.slice(0, -1)) : entry.action === action)) &&
    (target === undefined || foldUsername(entry.target ?? '') === foldUsername(target)) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (from === undefined || entry.at >= from) &&
    (to === undefined || entry.at < to)

const start = Date.UTC(2026, 0, 1)
const moment = fc.integer({ min: -2, max: 130 }).map((second) => rfc3339(start + second * 1000))
const filters = fc.record(
  {
    actor: fc.constantFrom('admin', 'ALICE', 'alice@example.com', 'nobody'),
    action: fc.constantFrom('key.*', 'user.*', 'user.changed', 'u*', 'key', 'none.at-all'),
    target: fc.constantFrom('Bob', '0191E7A0-0000-7000-8000-000000000000'),
    outcome: fc.constantFrom(...outcomes),
    from: moment,
    to: moment,
  },
  { requiredKeys: [] },
)
const orders = fc.constantFrom<AuditOrder>('asc', 'desc')

describeDatabases('the search of the audit log', (open) => {
  const clock = createTestClock(start)
  const { database } = databaseOfSuite(open)
  let written = 0

  const createLog = () => createSettledLog({ database, clock, log: quiet, secretsKeys })
  /** Entries whose times do not follow their numbers, as those of several servers. */
  const write = async (count: number): Promise<void> => {
    const log = createLog()
    for (let index = 0; index < count; index += 1, written += 1) {
      clock.advance(((written * 7919) % 13 === 0 ? -3 : 1) * 1000)
      await log.record({
        actor: actors[(written * 5) % 4] ?? null,
        action: actions[(written * 3) % 5] ?? '',
        target: targets[(written >> 1) % 4] ?? null,
        outcome: outcomes[written % 7 === 0 ? 1 : 0] ?? '',
        scheme: null,
        address: null,
        requestId: null,
      })
    }
  }
  const all = async () => (await readEntries(database, { limit: 100_000 })).items
  const walk = async (order: AuditOrder, limit: number, filter: AuditFilter, between = async () => {}) => {
    const seen: AuditEntry[] = []
    for (let after: number | undefined; ; ) {
      const { items, next } = await readEntries(database, { after, limit, order, filter })
      seen.push(...items)
      expect(items.length).toBeLessThanOrEqual(limit)
      if (next === undefined) return seen
      after = next
      await between()
    }
  }

  beforeAll(() => write(120))

  it('finds by each filter and by several together what a model finds, in both orders and in pages of any size', async () => {
    const entries = await all()
    expect(entries.length).toBe(120)
    const property = fc.asyncProperty(
      filters,
      orders,
      fc.integer({ min: 1, max: 60 }),
      async (filter, order, limit) => {
        const expected = entries.filter(holds(filter))
        const found = await walk(order, limit, filter)
        expect(found).toEqual(order === 'asc' ? expected : expected.toReversed())
      },
    )
    await fc.assert(property, { numRuns: campaign({ short: 40, long: 1000 }) })
  })

  it('neither misses nor doubles an entry in a walk while entries are added', async () => {
    const property = fc.asyncProperty(
      filters,
      orders,
      fc.integer({ min: 5, max: 40 }),
      async (filter, order, limit) => {
        const before = await all()
        const found = await walk(order, limit, filter, () => write(1))
        const numbers = found.map(({ seq }) => seq)
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => (order === 'asc' ? a - b : b - a)))
        const expected = before.filter(holds(filter))
        expect(found.filter(({ seq }) => seq <= before.length)).toEqual(
          order === 'asc' ? expected : expected.toReversed(),
        )
        if (order === 'desc') expect(numbers.filter((seq) => seq > before.length)).toEqual([])
      },
    )
    await fc.assert(property, { numRuns: campaign({ short: 10, long: 200 }) })
  })

  it('finds entries of a span of time that stand far from the beginning of the order', async () => {
    await database.transaction(async (transaction) => {
      await transaction.execute(
        `insert into auth.audit_entries (seq, at, action, outcome, key_id, mac)
          select n, timestamptz '2027-01-01Z' + n * interval '1 second', 'login.started', 'succeeded', 'k', 'm'
          from generate_series(10001, 30000) n`,
      )
      await transaction.execute('update auth.audit_head set count = 30000')
    })
    const first = { from: '2027-01-01T07:00:00.000Z', to: '2027-01-01T07:00:10.000Z' }
    for (const order of ['asc', 'desc'] as const) {
      expect(await walk(order, 7, first)).toHaveLength(10)
      expect(await walk(order, 7, { ...first, actor: 'admin' })).toEqual([])
      expect(await walk(order, 200, { to: '2026-02-01T00:00:00.000Z' })).toHaveLength(written)
    }
  })
})
