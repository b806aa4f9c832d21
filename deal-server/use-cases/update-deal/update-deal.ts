/**
 * The attribute update: a representation of the deal, compared with the stored one; each difference is a use case (deal model 3.4).
 * Attributes are never written: only use cases run, in one fixed order, all or none.
 */

import { checkValue } from '../../../shared/platform/http/content/check-value.ts'
import type { Deal } from '../../domain/deal.ts'
import type { DealEvent } from '../../domain/events.ts'
import { foldEvents } from '../../domain/evolve.ts'
import { type DealRefusal, isRefusal } from '../../domain/refusal.ts'
import { assignOwner } from '../assign-owner.ts'
import { cancelDeal } from '../cancel-deal.ts'
import { changeCompletionDate } from '../change-completion-date.ts'
import { changePrice } from '../change-price.ts'
import { completeDeal } from '../complete-deal.ts'
import type { Asking, BoundCommand, Command, DecisionContext, Steps } from '../define-use-case.ts'
import { readingRight } from '../define-use-case.ts'
import { holdDeal } from '../hold-deal.ts'
import { renameDeal } from '../rename-deal.ts'
import { reopenDeal } from '../reopen-deal.ts'
import { unholdDeal } from '../unhold-deal.ts'
import { refusalOfAttribute } from './attribute-refusals.ts'
import {
  type Attributes,
  attributesSchema,
  missingAttributes,
  missingHoldReason,
  whatIsNoAttribute,
} from './attributes.ts'
import { type AttributeChange, type Differences, differences } from './differences.ts'

/** The use cases that attributes can express. */
export const attributeCommands: readonly Command[] = [
  reopenDeal,
  unholdDeal,
  renameDeal,
  assignOwner,
  changePrice,
  changeCompletionDate,
  holdDeal,
  completeDeal,
  cancelDeal,
]

export interface AttributeUpdateOptions {
  readonly dealId: string
  /** A PUT: the required members must be there. */
  readonly whole: boolean
}

/**
 * The update, ready to be decided, and the version it was made for, if it says so.
 * @throws Refused `invalid-body`, `invalid-value`, `incomplete-representation`, `use-case-required`
 */
export function bindAttributeUpdate(
  body: object,
  options: AttributeUpdateOptions,
): { bound: BoundCommand; version: number | undefined } {
  const attributes = checkValue(attributesSchema, body)
  const incomplete = options.whole ? missingAttributes(attributes) : undefined
  if (incomplete) throw incomplete
  const find = rememberLast((deal: Deal) => {
    const found = differences(attributes, deal)
    const withoutReason = options.whole ? missingHoldReason(attributes, deal) : undefined
    return { ...found, refusal: whatIsNoAttribute(attributes, deal) ?? withoutReason ?? found.refusal }
  })
  return { bound: boundUpdate(attributes, find), version: attributes.version }
}

/** Right, precondition and decision all ask for the differences from one and the same deal. */
function rememberLast<Result>(find: (deal: Deal) => Result): (deal: Deal) => Result {
  let last: { deal: Deal; result: Result } | undefined
  return (deal) => {
    if (last?.deal !== deal) last = { deal, result: find(deal) }
    return last.result
  }
}

type Find = (deal: Deal) => Differences

const boundUpdate = (attributes: Attributes, find: Find): BoundCommand => ({
  name: 'UpdateDeal',
  makes: undefined,
  target: 'deal',
  at: '',
  params: attributes,
  chosenDealId: undefined,
  onDeleted: false,
  rights: [],
  missingRights: (deal, asking, ran) => {
    const didRun = ran && attributeCommands.filter(({ name }) => ran.includes(name))
    return missingRights(asking, didRun ?? (deal ? find(deal).involved : []))
  },
  employees: (deal) =>
    deal && attributes.ownerId !== undefined && find(deal).involved.includes(assignOwner) ? [attributes.ownerId] : [],
  isFulfilledBy: (deal) => {
    const { changes, refusal } = find(deal)
    return refusal === undefined && changes.length === 0
  },
  decide: (deal, context) => {
    if (!deal) throw new TypeError('UpdateDeal needs a deal')
    const { changes, refusal } = find(deal)
    return refusal ?? runInOrder(deal, changes, context)
  },
})

/**
 * Each use case that it comes to, or did when it ran, needs its right. Who has neither the right to read nor any that attributes can ask for is told the
 * same of every deal, also of one that does not exist.
 */
function missingRights({ rights }: Asking, involved: readonly Command[]): readonly string[] {
  const possible = attributeCommands.map(({ right }) => right)
  if (![readingRight, ...possible].some((right) => rights.has(right))) return [readingRight]
  return [...new Set(involved.map(({ right }) => right))].filter((right) => !rights.has(right))
}

/** Each decision sees what the ones before it have made of the deal. */
function runInOrder(deal: Deal, changes: readonly AttributeChange[], context: DecisionContext): Steps | DealRefusal {
  const occasion = { at: context.now, actor: context.actor }
  const steps: { useCase: string; events: readonly DealEvent[] }[] = []
  let state = deal
  for (const { command, params } of changes) {
    const decided = command.bind(params, '').decide(state, context)
    if (isRefusal(decided)) return refusalOfAttribute(command, decided)
    for (const step of decided) {
      steps.push(step)
      state = foldEvents(state, step.events, occasion)
    }
  }
  return steps
}
