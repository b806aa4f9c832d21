import { expect, it } from 'vitest'
import { wordsOf } from '../../../console/deal/event-words.ts'
import { readerOf } from '../../../console/frame/reader.ts'
import { dealEventTypes } from '../../../deal-server/use-cases/apply-events.ts'

const context = { reader: readerOf({ header: () => 'en-GB' }), titles: new Map([['t1', 'Call them']]) }
const words = (type: string, data: object) => wordsOf({ type, data: { currency: 'EUR', ...data } }, context)

it.each([
  ['deal.created', { name: 'Pumps', price: 12.5 }, 'created the deal', ['Pumps, €12.50']],
  ['deal.price-changed', { old: 1, new: 2, reason: 'dearer' }, 'changed the price', ['€1.00 → €2.00', 'dearer']],
  [
    'deal.completion-date-changed',
    { old: null, new: '2030-01-31', penalty: 0, why: 'late' },
    'changed the completion date',
    ['none → 31 Jan 2030', 'late'],
  ],
  ['deal.penalty-charged', { amount: 3, cause: 'cancelled' }, 'charged a penalty', ['€3.00 for the cancellation']],
  ['deal.held', { reason: 'wait', code: 'c' }, 'put the deal on hold', ['wait (c)']],
  [
    'deal.hold-reason-changed',
    { old: { reason: 'a', code: null }, new: { reason: 'b', code: 'c' } },
    'changed the reason of the hold',
    ['a → b (c)'],
  ],
  ['deal.unheld', { heldForSeconds: 180_000 }, 'ended the hold', ['It lasted: 2 days']],
  ['deal.task-assigned', { taskId: 't1', old: null, new: 'bob' }, 'assigned a task', ['Call them', 'none → bob']],
  ['deal.task-completed', { taskId: 't2', result: null }, 'completed a task', []],
  ['proposal.made', { useCase: 'HoldDeal' }, 'proposed a command', ['Hold the deal']],
  [
    'proposal.rejected',
    { useCase: 'UpdateDeal', proposedBy: 'bob', reason: 'no' },
    'rejected a proposal',
    ['Change the deal', 'Proposed by: bob', 'Reason: no'],
  ],
  ['proposal.approved', { useCase: 'PaintDeal' }, 'approved a proposal', ['PaintDeal']],
])('says in words: %s', (type, data, phrase, details) => {
  expect(words(type, data)).toEqual({ phrase, details })
})

it.each(dealEventTypes)('has words for %s, whose data may be gone', (type) => {
  expect(words(type, { old: 'a', new: 'b' }).phrase).not.toContain('deal.')
  const purged = wordsOf({ type, data: {} }, context)
  expect(purged.details).toEqual(type === 'deal.restored' ? [] : ['What it was about is no longer kept.'])
})

it('shows an event of an unknown type by its type and data', () => {
  expect(wordsOf({ type: 'deal.painted', data: { colour: 'red', coats: 2 } }, context)).toEqual({
    phrase: 'deal.painted',
    details: ['colour: red', 'coats: 2'],
  })
})
