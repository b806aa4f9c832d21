/** The last steps of a command in the pipeline: the decision with its facts, and the commit with what is remembered of it. */
import type { Clock } from '../../shared/clock.ts'
import { rfc3339 } from '../../shared/clock.ts'
import { Refused } from '../../shared/errors.ts'
import type { IdSource } from '../../shared/ids.ts'
import type { MemberError } from '../../shared/problems.ts'
import type { Caller } from '../../shared/schemes/authenticate.ts'
import { applyEvents, type Deal } from '../domain/deal.ts'
import type { CommandKey, CommandOutcome, CommandRecord, DealRepository, EventRecord } from '../domain/repository.ts'
import { commands } from '../use-cases/index.ts'
import type { FindEmployees } from './employees.ts'
import type { AnsweredCommand, CommandInvocation } from './invocation.ts'
import { contentOf } from './replay.ts'

/** One command on its way: what stays the same in every round. */
export interface Undertaking {
  readonly invocation: CommandInvocation
  readonly caller: Caller
  readonly key: CommandKey | undefined
  readonly dealId: string
  readonly queueKey: string
  readonly style: string
  readonly requestId: string
}

interface DecisionPorts {
  readonly findEmployees: FindEmployees
  readonly clock: Clock
  readonly ids: IdSource
  readonly defaultCurrency: string
}

/** A decision, ready to be committed. */
export interface Decided {
  readonly at: string
  readonly before: Deal | undefined
  readonly outcome: CommandOutcome
  readonly events: readonly EventRecord[]
}

/** How long the answer to a command is kept, in milliseconds. */
const answerKeptForMs = 30 * 24 * 60 * 60 * 1000

/** Refusals that time or another server may change: a retry with the same id makes sense, so they are not kept. */
const passingRefusals = new Set(['employee-unknown', 'date-out-of-range'])

/**
 * Hands the facts to the pure decision and works out the deal's next state.
 * @throws Refused for a refusal that is not kept
 */
export async function decide(
  ports: DecisionPorts,
  undertaking: Undertaking,
  before: Deal | undefined,
): Promise<Decided> {
  const { invocation, caller, dealId, key } = undertaking
  const { bound } = invocation
  const employees = await ports.findEmployees(bound.employees)
  const at = rfc3339(ports.clock.now())
  const decision = bound.decide(before, {
    now: at,
    actor: caller.username,
    newId: ports.ids.uuid,
    defaultCurrency: ports.defaultCurrency,
    employees,
    dealId,
  })
  if (decision instanceof Refused) {
    const members = refusalMembers(decision, undertaking, before)
    if (key === undefined) throw new Refused(decision.code, decision.message, { members })
    if (passingRefusals.has(decision.code)) {
      throw new Refused(decision.code, decision.message, { members: { ...members, final: false } })
    }
    return { at, before, outcome: keptRefusal(decision, members, undertaking.requestId), events: [] }
  }
  const first = before?.sequence ?? 0
  const events = decision.map((event, index) => ({ id: ports.ids.uuid(), sequence: first + index + 1, event }))
  const deal = before && events.length === 0 ? before : applyEvents(before, decision, { at, actor: caller.username })
  const summary = events.map(({ id, sequence, event }) => ({ id, type: event.type, sequence }))
  return { at, before, outcome: { state: 'succeeded', changed: events.length > 0, deal, events: summary }, events }
}

/** The facts a client needs beside a refusal by the deal's state (deal model 1.6). */
function refusalMembers(refusal: Refused, { invocation }: Undertaking, deal: Deal | undefined) {
  const allowed = commands.filter(({ guard }) => deal && guard && guard(deal) === undefined).map(({ name }) => name)
  return {
    ...memberErrorsBelow(invocation.bound.at, refusal),
    useCase: invocation.bound.command.name,
    ...(invocation.dealId === undefined ? {} : { dealId: invocation.dealId }),
    ...(deal ? { currentStatus: deal.status, held: deal.held, allowed } : {}),
  }
}

/** A decision names parameters; a client looks for them where its style put them. */
function memberErrorsBelow(at: string, { members }: Refused): Readonly<Record<string, unknown>> {
  const errors = members.errors as readonly MemberError[] | undefined
  if (!errors || at === '') return members
  return { ...members, errors: errors.map((error) => ({ ...error, pointer: at + error.pointer })) }
}

/** Request id and instance are kept too: a replay is the same document, byte for byte. */
const keptRefusal = (refusal: Refused, members: Record<string, unknown>, requestId: string): CommandOutcome => ({
  state: 'refused',
  code: refusal.code,
  detail: refusal.message,
  members: { ...members, final: true, requestId, instance: `urn:uuid:${requestId}` },
})

/**
 * Writes the decision. Undefined when another command came first and nothing was written.
 * @throws Refused the refusal, once it is kept
 */
export async function commitDecision(
  repository: DealRepository,
  undertaking: Undertaking,
  { at, before, outcome, events }: Decided,
): Promise<AnsweredCommand | undefined> {
  const { invocation, caller, key, style, requestId } = undertaking
  const command = key && recordOf(undertaking, key, { at, outcome })
  if (outcome.state === 'refused' || !outcome.changed) {
    if (command && (await repository.keepCommand(command)) === 'command-taken') return undefined
    if (outcome.state === 'refused') throw new Refused(outcome.code, outcome.detail, { members: outcome.members })
    return { outcome, replayed: false }
  }
  const context = { key, actor: caller.username, useCase: invocation.bound.command.name, style, requestId, at }
  const commit = { expectedVersion: before?.version, deal: outcome.deal, events, context, command }
  if ((await repository.commit(commit)) !== 'committed') return undefined
  return { outcome, replayed: false }
}

function recordOf(
  { invocation, caller, dealId, style, requestId }: Undertaking,
  key: CommandKey,
  { at, outcome }: { at: string; outcome: CommandOutcome },
): CommandRecord {
  return {
    key,
    dealId,
    useCase: invocation.bound.command.name,
    params: invocation.bound.params,
    fingerprint: contentOf(invocation),
    outcome,
    style,
    requestId,
    requestedBy: caller.username,
    requestedAt: at,
    expiresAt: rfc3339(Date.parse(at) + answerKeptForMs),
  }
}
