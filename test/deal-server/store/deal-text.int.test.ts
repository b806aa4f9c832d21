import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { currencyExponents } from '../../../deal-server/domain/currency.ts'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import { emptyFields, type FieldKind, fieldKinds } from '../../../deal-server/domain/deal-fields.ts'
import type { Task } from '../../../deal-server/domain/task.ts'
import { representDeal, representText } from '../../../deal-server/http/representations/represent-deal.ts'
import { createDealRepository, type DealStore } from '../../../deal-server/store/deals.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfSuite } from '../../support/stores/own-database.ts'

/** PostgreSQL stores no NUL. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\0', '')),
  fc.constantFrom('"\\/\b\f\n\r\t', '\u007f\u0080\u2028\u2029\ufeff', '\u0001\u001f', '</script>', "{},'[]"),
)
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null })
const time = fc
  .date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString())
const day = time.map((whole) => whole.slice(0, 10))
const amount = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: 999_999_999_999_999 }))

const task: fc.Arbitrary<Task> = fc.record({
  id: fc.uuid(),
  title: text,
  dueDate: maybe(day),
  assigneeId: maybe(text),
  assigneeUserId: maybe(fc.uuid()),
  status: fc.constantFrom('open', 'done', 'dropped'),
  result: maybe(text),
  createdAt: time,
  assignedAt: maybe(time),
  doneAt: maybe(time),
})

const state = fc.oneof(
  fc.record({ status: fc.constant('open' as const), held: fc.constant(false) }),
  fc.record({ status: fc.constant('open' as const), held: fc.constant(true), holdReason: text }),
  fc.record({ status: fc.constant('completed' as const), held: fc.constant(false) }),
  fc.record({ status: fc.constant('cancelled' as const), held: fc.constant(false), cancelReason: text }),
)

const ofKind: Readonly<Record<FieldKind, fc.Arbitrary<unknown>>> = {
  id: fc.uuid(),
  text,
  user: text,
  userId: text,
  date: day,
  time,
  amount,
  currency: fc.constantFrom(...currencyExponents.keys()),
  status: fc.constant('open'),
  flag: fc.boolean(),
  count: fc.integer({ min: 1, max: 2_147_483_647 }),
  completion: fc.record({ completedOn: day, finalPrice: amount, documentNumber: maybe(text), comment: maybe(text) }),
}

/** Any deal that the checks of the table allow. */
const deal = fc
  .record({
    ...Object.fromEntries(
      fieldKinds.map(([name, kind]) => [name, name in emptyFields ? maybe(ofKind[kind]) : ofKind[kind]]),
    ),
    tasks: fc.uniqueArray(task, { maxLength: 4, selector: ({ id }) => id }),
  })
  .chain((members) =>
    state.map((ofState) => ({ ...members, id: randomUUID(), holdReason: null, cancelReason: null, ...ofState })),
  ) as fc.Arbitrary<unknown> as fc.Arbitrary<Deal>

const create = (store: DealStore, created: Deal) =>
  store.commit({
    before: undefined,
    deal: created,
    tasks: created.tasks,
    events: [],
    context: {
      key: undefined,
      actor: 'alice',
      actorUserId: randomUUID(),
      style: 'resource',
      requestId: randomUUID(),
      at: created.createdAt,
    },
    command: undefined,
  })

describeDealStores('the text of a deal', (open) => {
  const store = createDealRepository(databaseOfSuite(open).database)

  it('is, character for character, the representation of the deal that a command loads', async () => {
    const groups = fc.array(deal, { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(groups, async (deals) => {
        expect(await Promise.all(deals.map((one) => create(store, one)))).toEqual(deals.map(() => 'committed'))
        const texts = await Promise.all(deals.map(({ id }) => store.loadText(id)))
        const loaded = await Promise.all(deals.map(({ id }) => store.load(id, undefined)))
        for (const [index, found] of texts.entries()) {
          const whole = loaded[index]?.deal
          if (!found || !whole) throw new Error('a deal that was stored is missing')
          expect(representText(found)).toBe(JSON.stringify(representDeal(whole)))
          const { id, version, deletedAt, purgeAt } = whole
          expect(found).toMatchObject({ id, version, deletedAt, purgeAt })
        }
      }),
      { numRuns: 30 },
    )
  })

  it('is missing for an id without a deal, beside ids of deals', async () => {
    const [stored] = fc.sample(deal, 1)
    if (!stored) throw new Error('no sample')
    await create(store, stored)
    const [found, missing] = await Promise.all([store.loadText(stored.id), store.loadText(randomUUID())])
    expect([found?.id, missing]).toEqual([stored.id, undefined])
  })
})
