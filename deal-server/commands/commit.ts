/** The commit of a command: writes events, state and command record in one statement. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { applicationOf } from '../../shared/protocol/authentication/application.ts'
import type { Deal } from '../domain/deal.ts'
import { uniqueFields } from '../domain/deal-fields.ts'
import type { CommandContext, CommandRequest, CommandResult } from './command-context.ts'
import type { Decided } from './decide.ts'
import { fingerprintOf } from './fingerprint.ts'
import type {
  CommandRecord,
  CommitContext,
  DealCommit,
  DealRepository,
  EventRecord,
  SucceededCommand,
} from './ports.ts'
import { isPresent } from './presence.ts'

/** How long the outcome of a command is kept, in milliseconds. */
export const outcomeKeptForMs = 30 * 24 * 60 * 60 * 1000

/**
 * Writes the decision; a dry run writes nothing. Returns undefined when another command was first: then nothing was
 * written.
 * @throws ProblemError when the decision is a refusal, stored or not
 */
export async function commitDecision(
  repository: DealRepository,
  context: CommandContext,
  decided: Decided,
): Promise<CommandResult | undefined> {
  const { key, request } = context
  const { outcome } = decided
  const { validateOnly } = request
  const record = recordOf(context, decided)
  const command = key && { ...record, key, fingerprint: fingerprintOf(request) }
  if (outcome.state === 'refused') {
    const isFinal = outcome.members.final === true
    if (command && isFinal && !validateOnly && (await repository.keepCommand(command)) === 'command-taken')
      return undefined
    throw new ProblemError(outcome.code, outcome.detail, { members: outcome.members })
  }
  if (!validateOnly && !(await writeSuccess(repository, context, { decided, outcome, command }))) return undefined
  return { outcome, replayed: false, record }
}

async function writeSuccess(
  repository: DealRepository,
  context: CommandContext,
  written: { decided: Decided; outcome: SucceededCommand; command: CommandRecord | undefined },
): Promise<boolean> {
  const { decided, outcome, command } = written
  const { before, events, at } = decided
  if (events.length === 0) return command === undefined || (await repository.keepCommand(command)) === 'committed'
  const tasks = outcome.deal.tasks.filter((task) => !before?.tasks.includes(task))
  const commit = { before, deal: outcome.deal, tasks, events, context: senderOf(context, at), command }
  const result = await repository.commit(commit)
  if (result === 'value-taken') throw valueTaken()
  return result === 'committed'
}

/** What events keep of a request. */
interface Sent extends Pick<CommandContext, 'key'> {
  readonly request: Pick<CommandRequest, 'caller' | 'style' | 'requestId'>
}

/** Who sends the command, as its events keep it. */
export function senderOf({ request: { caller, style, requestId }, key }: Sent, at: string): CommitContext {
  const { username: actor, userId: actorUserId, credential } = caller
  return { key, actor, actorUserId, client: applicationOf(credential), style, requestId, at }
}

/** An event beside those of a command, which leaves the version of its deal. */
interface EventAlone extends Pick<EventRecord, 'id' | 'useCase' | 'event'>, Pick<DealCommit, 'context' | 'command'> {}

/** The commit of such an event; undefined for a deleted deal, whose deletion stays its last event. */
export function commitOfEvent(
  deal: Deal | undefined,
  { context, command, ...event }: EventAlone,
): DealCommit | undefined {
  if (!isPresent(deal)) return undefined
  const sequence = deal.sequence + 1
  return { before: deal, deal: { ...deal, sequence }, tasks: [], events: [{ sequence, ...event }], context, command }
}

/** Another deal has a value that only one may have. A retry may succeed, so it is not stored. */
function valueTaken(): ProblemError {
  const message = 'Another deal has this value.'
  const errors = uniqueFields.map((name) => ({ pointer: `/${name}`, code: 'value-taken', message }))
  return new ProblemError('invalid-value', message, { members: { errors } })
}

function recordOf(
  { request: { bound, caller, style, requestId }, dealId }: CommandContext,
  { at, outcome }: Decided,
): Omit<CommandRecord, 'key' | 'fingerprint'> {
  return {
    dealId,
    useCase: bound.name,
    params: bound.params,
    outcome,
    style,
    requestId,
    requestedBy: caller.username,
    requestedAt: at,
    expiresAt: rfc3339(Date.parse(at) + outcomeKeptForMs),
    signature: caller.credential.signature?.digest ?? null,
  }
}
