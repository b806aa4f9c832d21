/** The decision of a command: loads the facts, makes the pure decision, and applies its events to the deal. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import type { Deal } from '../domain/deal.ts'
import { proposalApproved } from '../domain/proposals.ts'
import { type DealRefusal, type DealRefusalCode, isRefusal } from '../domain/refusal.ts'
import { applyEvents } from '../use-cases/apply-events.ts'
import { deleteDeal } from '../use-cases/delete-deal.ts'
import { possibleCommands } from './allowed.ts'
import type { CommandContext, CommandRequest } from './command-context.ts'
import type { CommandSystems } from './command-systems.ts'
import { findAssignableUsers } from './find-assignable-users.ts'
import type { CommandOutcome, EventRecord } from './ports.ts'

/** The deal as the store has it. */
export interface Found {
  readonly present: Deal | undefined
  /** True when a deal with this id exists or existed. A creation sees nothing else of a deleted deal. */
  readonly isTaken: boolean
}

/** A decision, ready to be committed. */
export interface Decided {
  readonly at: string
  readonly before: Deal | undefined
  readonly outcome: CommandOutcome
  readonly events: readonly EventRecord[]
}

/**
 * Refusals that are not stored, because a retry with the same id can succeed: time or another server may change the
 * facts, or the task may exist later (docs/contract/deals.md#command-ids).
 */
const passingRefusals: ReadonlySet<DealRefusalCode> = new Set([
  'employee-unknown',
  'date-out-of-range',
  'task-not-found',
])

const isKept = ({ code }: DealRefusal): boolean => !passingRefusals.has(code)

/**
 * Passes the facts to the pure decision and computes the deal's next state.
 * @throws Unavailable when the facts cannot be loaded
 */
export async function decide(
  systems: CommandSystems,
  context: CommandContext,
  { present: before, isTaken }: Found,
): Promise<Decided> {
  const { request, dealId } = context
  const { bound, caller } = request
  const assignableUsers = await findAssignableUsers(systems.principals, bound.assignableUsers(before), request)
  const at = rfc3339(systems.clock.now())
  const decision = bound.decide(before, {
    now: at,
    caller,
    newId: systems.ids.uuid,
    defaultCurrency: systems.defaultCurrency,
    assignableUsers,
    dealId,
    isTaken,
  })
  if (isRefusal(decision)) return { at, before, outcome: refusedOutcome(decision, context, before), events: [] }
  const ofSteps = decision.flatMap(({ useCase, events }) => events.map((event) => ({ useCase, event })))
  const approval = approvalOf(request)
  // The last event of a deleted deal is its deletion.
  const events = bound.name === deleteDeal.name ? [...approval, ...ofSteps] : [...ofSteps, ...approval]
  const first = before?.sequence ?? 0
  const records = events.map((event, index) => ({ id: systems.ids.uuid(), sequence: first + index + 1, ...event }))
  const occasion = { at, actor: caller.username }
  const facts = events.map(({ event }) => event)
  const isChanged = ofSteps.length > 0
  const deal =
    before && !isChanged ? { ...before, sequence: first + records.length } : applyEvents(before, facts, occasion)
  const outcome: CommandOutcome = {
    state: 'succeeded',
    changed: isChanged,
    deal,
    useCases: decision.map(({ useCase }) => useCase),
    events: records.map(({ id, sequence, event }) => ({ id, type: event.type, sequence })),
  }
  return { at, before, outcome, events: records }
}

/** The event of an approval, beside those of the command. */
const approvalOf = ({ approves, bound: { name: useCase } }: CommandRequest) => {
  if (!approves) return []
  const { id: proposalId, proposedBy } = approves
  return [{ useCase, event: proposalApproved({ proposalId, useCase, proposedBy }) }]
}

/** A refusal with the facts a client needs beside it (docs/deal-model.md#refusals). */
function refusedOutcome(refusal: DealRefusal, context: CommandContext, deal: Deal | undefined): CommandOutcome {
  const { key, request } = context
  const { bound, dealId, requestId } = request
  // A proposal that is refused stays open.
  const isFinal = key !== undefined && !request.approves && isKept(refusal)
  const members = {
    ...memberErrorsBelow(bound.at, refusal),
    useCase: bound.name,
    ...(dealId === undefined ? {} : { dealId }),
    ...(deal ? stateOf(deal) : {}),
    ...(key === undefined ? {} : { final: isFinal }),
    // Stored too: a replay is the same document, byte for byte.
    ...(isFinal ? { requestId, instance: `urn:uuid:${requestId}` } : {}),
  }
  return { state: 'refused', code: refusal.code, detail: refusal.message, members }
}

const stateOf = (deal: Deal) => ({
  currentStatus: deal.status,
  held: deal.held,
  allowed: possibleCommands(deal).map(({ name }) => name),
})

/** Moves the pointers of a decision, which name parameters, to the place where the style has the parameters. */
function memberErrorsBelow(at: string, { members }: ProblemError): Readonly<Record<string, unknown>> {
  const errors = members.errors as readonly MemberError[] | undefined
  if (!errors || at === '') return members
  return { ...members, errors: errors.map((error) => ({ ...error, pointer: at + error.pointer })) }
}
