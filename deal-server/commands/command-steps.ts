/** The last steps of a command in the pipeline: the decision with its facts, and the commit with what is remembered of it. */
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import type { Traced } from '../../shared/platform/http/trace.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { Refused } from '../../shared/platform/problems/errors.ts'
import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import { applyEvents } from '../domain/evolve.ts'
import { type DealRefusal, type DealRefusalCode, isRefusal } from '../domain/refusal.ts'
import type { AnsweredCommand, CommandInvocation, SucceededCommand } from '../http/requests/invocation.ts'
import { possibleCommands } from './allowed.ts'
import type { FindEmployees } from './find-employees.ts'
import type { CommandKey, CommandOutcome, CommandRecord, DealRepository, EventRecord } from './ports.ts'
import { contentOf } from './replay.ts'

/** One command on its way: what stays the same in every round. */
export interface Undertaking extends Traced {
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

/** What there is of the deal. */
export interface Found {
  readonly present: Deal | undefined
  /** True when there is, or was, one with this id: of a deleted deal a creation learns no more. */
  readonly isTaken: boolean
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

/**
 * Refusals that are not kept, because a retry with the same id makes sense: what time or another server may change, and what was not
 * found (deal model 2.2, point 9).
 */
const passingRefusals: ReadonlySet<DealRefusalCode> = new Set([
  'employee-unknown',
  'date-out-of-range',
  'task-not-found',
])

const isKept = ({ code }: DealRefusal): boolean => !passingRefusals.has(code)

/**
 * Hands the facts to the pure decision and works out the deal's next state.
 * @throws Refused for a refusal that is not kept
 */
export async function decide(
  ports: DecisionPorts,
  undertaking: Undertaking,
  { present: before, isTaken }: Found,
): Promise<Decided> {
  const { invocation, caller, dealId } = undertaking
  const { bound } = invocation
  const employees = await ports.findEmployees(bound.employees(before), undertaking)
  const at = rfc3339(ports.clock.now())
  const decision = bound.decide(before, {
    now: at,
    actor: caller.username,
    newId: ports.ids.uuid,
    defaultCurrency: ports.defaultCurrency,
    employees,
    dealId,
    isTaken,
  })
  if (isRefusal(decision)) return { at, before, outcome: refusedOutcome(decision, undertaking, before), events: [] }
  const events = decision.flatMap(({ useCase, events: ofStep }) => ofStep.map((event) => ({ useCase, event })))
  const first = before?.sequence ?? 0
  const records = events.map((event, index) => ({ id: ports.ids.uuid(), sequence: first + index + 1, ...event }))
  const occasion = { at, actor: caller.username }
  const facts = events.map(({ event }) => event)
  const deal = before && facts.length === 0 ? before : applyEvents(before, facts, occasion)
  const outcome: CommandOutcome = {
    state: 'succeeded',
    changed: records.length > 0,
    deal,
    useCases: decision.map(({ useCase }) => useCase),
    events: records.map(({ id, sequence, event }) => ({ id, type: event.type, sequence })),
  }
  return { at, before, outcome, events: records }
}

/** A refusal with the facts a client needs beside it (deal model 1.6). */
function refusedOutcome(refusal: DealRefusal, undertaking: Undertaking, deal: Deal | undefined): CommandOutcome {
  const { invocation, key, requestId } = undertaking
  const { bound, dealId } = invocation
  const isFinal = key !== undefined && isKept(refusal)
  const members = {
    ...memberErrorsBelow(bound.at, refusal),
    useCase: bound.name,
    ...(dealId === undefined ? {} : { dealId }),
    ...(deal ? stateOf(deal) : {}),
    ...(key === undefined ? {} : { final: isFinal }),
    // Kept too: a replay is the same document, byte for byte.
    ...(isFinal ? { requestId, instance: `urn:uuid:${requestId}` } : {}),
  }
  return { state: 'refused', code: refusal.code, detail: refusal.message, members }
}

const stateOf = (deal: Deal) => ({
  currentStatus: deal.status,
  held: deal.held,
  allowed: possibleCommands(deal).map(({ name }) => name),
})

/** A decision names parameters; a client looks for them where its style put them. */
function memberErrorsBelow(at: string, { members }: Refused): Readonly<Record<string, unknown>> {
  const errors = members.errors as readonly MemberError[] | undefined
  if (!errors || at === '') return members
  return { ...members, errors: errors.map((error) => ({ ...error, pointer: at + error.pointer })) }
}

/**
 * Writes the decision, or, when the command is only tried, nothing. Undefined when another command came first and nothing was written.
 * @throws Refused the refusal, kept or not
 */
export async function commitDecision(
  repository: DealRepository,
  undertaking: Undertaking,
  decided: Decided,
): Promise<AnsweredCommand | undefined> {
  const { key, invocation } = undertaking
  const { outcome } = decided
  const { validateOnly } = invocation
  const record = recordOf(undertaking, decided)
  const command = key && { ...record, key, fingerprint: contentOf(invocation) }
  if (outcome.state === 'refused') {
    const isFinal = outcome.members.final === true
    if (command && isFinal && !validateOnly && (await repository.keepCommand(command)) === 'command-taken')
      return undefined
    throw new Refused(outcome.code, outcome.detail, { members: outcome.members })
  }
  if (!validateOnly && !(await writeSuccess(repository, undertaking, { decided, outcome, command }))) return undefined
  return { outcome, replayed: false, record }
}

async function writeSuccess(
  repository: DealRepository,
  { caller, key, style, requestId }: Undertaking,
  written: { decided: Decided; outcome: SucceededCommand; command: CommandRecord | undefined },
): Promise<boolean> {
  const { decided, outcome, command } = written
  const { before, events, at } = decided
  if (!outcome.changed) return command === undefined || (await repository.keepCommand(command)) === 'committed'
  const context = { key, actor: caller.username, actorUserId: caller.userId, style, requestId, at }
  const tasks = outcome.deal.tasks.filter((task) => !before?.tasks.includes(task))
  const commit = { expectedVersion: before?.version, deal: outcome.deal, tasks, events, context, command }
  return (await repository.commit(commit)) === 'committed'
}

function recordOf(
  { invocation, caller, dealId, style, requestId }: Undertaking,
  { at, outcome }: Decided,
): Omit<CommandRecord, 'key' | 'fingerprint'> {
  return {
    dealId,
    useCase: invocation.bound.name,
    params: invocation.bound.params,
    outcome,
    style,
    requestId,
    requestedBy: caller.username,
    requestedAt: at,
    expiresAt: rfc3339(Date.parse(at) + answerKeptForMs),
    signature: caller.credential.signature?.digest ?? null,
  }
}
