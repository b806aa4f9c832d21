/**
 * The attribute update: compares a representation of the deal with the stored deal. Each difference is a use case
 * (docs/deal-model.md#attribute-differences). Attributes are never written: only use cases run, in one fixed order, all
 * or none.
 */
import { checkValue } from '../../../shared/platform/problems/check-value.ts'
import type { MemberError } from '../../../shared/platform/problems/problem-document.ts'
import type { Deal } from '../../domain/deal.ts'
import type { DealEvent } from '../../domain/events.ts'
import { reaches, widthOf } from '../../domain/own-deals.ts'
import { type DealRefusal, isRefusal, refuseMember } from '../../domain/refusal.ts'
import { readingRight } from '../../domain/sight.ts'
import { foldEvents } from '../apply-events.ts'
import { assignOwner } from '../assign-owner.ts'
import type { BoundCommand, Command, CommandCaller, DecisionContext, Steps } from '../define-use-case.ts'
import { commands } from '../index.ts'
import {
  type Attributes,
  attributesSchema,
  missingAttributes,
  missingHoldReason,
  unsupportedChange,
} from './attributes.ts'
import { type AttributeChange, type Differences, differences } from './differences.ts'

/** The name of the attribute update among the use cases. */
export const attributeUpdate = 'UpdateDeal'

/** The use cases that attributes can express. */
export const attributeCommands: readonly Command[] = commands.filter(({ attributes }) => attributes !== undefined)

interface AttributeUpdateOptions {
  readonly dealId: string
  /** True for a PUT: all required members must be present. */
  readonly whole: boolean
}

/**
 * The update, ready for the decision, and the member `version`, if there is one.
 * @throws ProblemError `invalid-body`, `invalid-value`, `incomplete-representation`, `use-case-required`
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
    return { ...found, refusal: unsupportedChange(attributes, deal) ?? withoutReason ?? found.refusal }
  })
  return { bound: boundUpdate(attributes, find), version: attributes.version }
}

/** Remembers the last result: right, precondition and decision need the differences from the same deal. */
function rememberLast<Result>(find: (deal: Deal) => Result): (deal: Deal) => Result {
  let last: { deal: Deal; result: Result } | undefined
  return (deal) => {
    if (last?.deal !== deal) last = { deal, result: find(deal) }
    return last.result
  }
}

type Find = (deal: Deal) => Differences

const boundUpdate = (attributes: Attributes, find: Find): BoundCommand => ({
  name: attributeUpdate,
  makes: undefined,
  target: 'deal',
  at: '',
  params: attributes,
  chosenDealId: undefined,
  onDeleted: false,
  rights: [readingRight],
  missingRights: (deal, caller, ran) => {
    const didRun = ran?.flatMap((useCase) => attributeCommands.filter(({ name }) => name === useCase))
    return missingRights(caller, deal, didRun ?? (deal?.deletedAt === null ? find(deal).involved : []))
  },
  assignableUsers: (deal) =>
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
 * Needs the right to read the deal, and that of each use case that the update runs or, for a replay, has run. Which
 * these are depends on how the deal is: a caller who may not read it does not learn them.
 */
function missingRights(caller: CommandCaller, deal: Deal | undefined, involved: readonly Command[]): readonly string[] {
  const has = (right: string) => (deal ? reaches(caller, right, deal) : widthOf(caller.rights, right) !== undefined)
  if (!has(readingRight)) return [readingRight]
  return [...new Set(involved.map(({ right }) => right))].filter((right) => !has(right))
}

/** Runs the use cases. Each decision sees the deal as the use cases before it changed it. */
function runInOrder(deal: Deal, changes: readonly AttributeChange[], context: DecisionContext): Steps | DealRefusal {
  const occasion = { at: context.now, actor: context.caller.username }
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

/** Translates a refusal of one use case for the sender of attributes: the pointer names the attribute. */
function refusalOfAttribute({ attributes }: Command, refusal: DealRefusal): DealRefusal {
  const [error] = (refusal.members.errors ?? []) as readonly MemberError[]
  const attribute = error && attributes?.[error.pointer.slice(1)]
  return attribute
    ? refuseMember(refusal.code, { name: attribute, problem: error.code, message: error.message })
    : refusal
}
