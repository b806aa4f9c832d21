import * as z from 'zod'
import { type Deal, openTasks, requireFree } from '../domain/deal.ts'
import type { Completion } from '../domain/deal-fields.ts'
import { defineEvent, labelled } from '../domain/events.ts'
import { amountIn } from '../domain/money.ts'
import { type DealRefusal, isRefusal, refuse, refuseMember } from '../domain/refusal.ts'
import { dropOpenTasks, taskDropped } from '../domain/shared-events.ts'
import { defineDealCommand } from './define-use-case.ts'
import { completionMembers } from './parameters.ts'

const params = z.strictObject(completionMembers)

const completed = defineEvent({
  type: 'deal.completed',
  phrase: 'completed the deal',
  amounts: ['finalPrice'],
  details: (facts) => [
    labelled('Completed on', facts.date('completedOn')),
    labelled('Final price', facts.money('finalPrice')),
    labelled('Document number', facts.text('documentNumber')),
    facts.text('comment'),
  ],
  apply: (deal, completion: Completion) => ({ ...deal, status: 'completed', completion }),
})

/** Completes a deal that is open and not held. With open tasks it is refused, unless the caller drops them. */
export const completeDeal = defineDealCommand({
  name: 'CompleteDeal',
  summary: 'Complete a deal',
  right: { name: 'deal.complete', description: 'Complete deals', own: 'Complete own deals' },
  verb: 'complete',
  stateName: 'completed',
  words: { title: 'Complete', done: 'The deal is completed.', pageTitle: 'Complete the deal' },
  events: [completed, taskDropped],
  isDestructive: true,
  refusals: ['deal-closed', 'deal-held', 'open-tasks', 'date-out-of-range'],
  params,
  attributes: {
    completedOn: 'completion/completedOn',
    finalPrice: 'completion/finalPrice',
    documentNumber: 'completion/documentNumber',
    comment: 'completion/comment',
    openTasks: 'completion/openTasks',
  },
  guard: requireFree,
  isDone: isCompletedAs,
  decide: (deal, given, { now }) => {
    const refusal = requirePast(given.completedOn, now) ?? requireTasksDone(deal, given.openTasks)
    if (refusal) return refusal
    const finalPrice =
      given.finalPrice === undefined ? undefined : amountIn(deal.currency, given.finalPrice, 'finalPrice')
    if (isRefusal(finalPrice)) return finalPrice
    const completion: Completion = {
      completedOn: given.completedOn ?? now.slice(0, 10),
      finalPrice: finalPrice ?? deal.price,
      documentNumber: given.documentNumber ?? null,
      comment: given.comment ?? null,
    }
    return [completed(completion), ...dropOpenTasks(deal, 'completed')]
  },
})

/** True for a deal that was completed with these parameters. Omitted parameters count as equal. */
export function isCompletedAs({ completion, currency }: Deal, given: z.output<typeof params>): boolean {
  if (!completion) return false
  const differs = <Value>(value: Value | undefined, present: Value) => value !== undefined && value !== present
  const { completedOn, documentNumber, comment } = given
  return !(
    differs(completedOn, completion.completedOn) ||
    differs(given.finalPrice && amountIn(currency, given.finalPrice, 'finalPrice'), completion.finalPrice) ||
    differs(documentNumber, completion.documentNumber) ||
    differs(comment, completion.comment)
  )
}

/** The first time zone on earth, UTC+14, has the latest date. */
const furthestZoneMs = 14 * 60 * 60 * 1000

function requirePast(completedOn: string | undefined, now: string): DealRefusal | undefined {
  const latest = new Date(Date.parse(now) + furthestZoneMs).toISOString().slice(0, 10)
  if (completedOn === undefined || completedOn <= latest) return undefined
  const message = `The deal cannot have been completed after today (${latest} at the latest).`
  return refuseMember('date-out-of-range', { name: 'completedOn', problem: 'date-out-of-range', message })
}

function requireTasksDone(deal: Deal, onOpenTasks: 'refuse' | 'drop' = 'refuse'): DealRefusal | undefined {
  const open = openTasks(deal).length
  if (open === 0 || onOpenTasks === 'drop') return undefined
  const detail = 'The deal has open tasks; complete them, or send openTasks: "drop".'
  return refuse('open-tasks', detail, { openTasks: open })
}
