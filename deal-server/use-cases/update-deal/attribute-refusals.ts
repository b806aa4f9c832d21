import type { MemberError } from '../../../shared/platform/problems/problem-document.ts'
import { type DealRefusal, refuseMember } from '../../domain/refusal.ts'
import type { Command } from '../define-use-case.ts'

/** Use case → parameter that its decision may refuse → attribute that it was taken from. */
const attributes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AssignOwner: { employeeId: 'ownerId' },
  ChangePrice: { newPrice: 'price' },
  ChangeCompletionDate: { penaltyAmount: 'completionDatePenalty' },
  CompleteDeal: { completedOn: 'completion/completedOn', finalPrice: 'completion/finalPrice' },
  CancelDeal: { penaltyAmount: 'cancelPenalty' },
}

/** A refusal of one use case as the sender of attributes understands it: the member at fault is the attribute. */
export function refusalOfAttribute({ name }: Command, refusal: DealRefusal): DealRefusal {
  const [error] = (refusal.members.errors ?? []) as readonly MemberError[]
  const attribute = error && attributes[name]?.[error.pointer.slice(1)]
  return attribute
    ? refuseMember(refusal.code, { name: attribute, problem: error.code, message: error.message })
    : refusal
}
