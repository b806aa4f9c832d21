/** Commands of applications that may only propose: stored instead of being run (docs/contract/proposals.md). */
import { rfc3339 } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { applicationOf } from '../../shared/protocol/authentication/application.ts'
import { type Proposal, type ProposalState, proposalMade, stateOf, waitsMs } from '../domain/proposals.ts'
import type { CommandContext, CommandRequest, ProposedCommand } from './command-context.ts'
import type { CommandSystems } from './command-systems.ts'
import { commitOfEvent, senderOf } from './commit.ts'
import type { Decided } from './decide.ts'
import { fingerprintOf } from './fingerprint.ts'
import { commandIdReused } from './replay.ts'

/** True for a command that waits for approval. A dry run changes nothing, so it runs. */
export const isProposed = ({ caller, validateOnly }: CommandRequest): boolean => caller.proposes && !validateOnly

/**
 * The proposal of a command that was sent before.
 * @throws ProblemError `command-id-reused`; `proposal-closed` for a proposal that has expired
 */
export async function findProposed(
  { repository, clock }: CommandSystems,
  { key, request }: CommandContext,
): Promise<ProposedCommand | undefined> {
  const proposal = key && (await repository.findProposal(key))
  if (!proposal) return undefined
  if (proposal.fingerprint !== fingerprintOf(request)) throw commandIdReused(proposal)
  // An approved one has a command of the same key, which is replayed.
  const state = stateOf(proposal, undefined, clock.now())
  if (state !== 'open') throw proposalClosed(proposal, state)
  return { proposal, state }
}

/** The refusal of what only an open proposal allows. */
export const proposalClosed = ({ id }: Proposal, state: ProposalState) =>
  new ProblemError('proposal-closed', `The proposal is ${state}.`, { members: { proposalId: id, state } })

/**
 * Stores a decision as a proposal; undefined when another command was first: then nothing was written.
 * @throws ProblemError `too-many-proposals`
 */
export async function propose(
  { repository, ids }: CommandSystems,
  context: CommandContext,
  decided: Decided,
): Promise<ProposedCommand | undefined> {
  const { request, key } = context
  const { bound, caller, dealId } = request
  const { before, at } = decided
  const client = applicationOf(caller.credential)
  if (!client) throw new TypeError('only applications propose')
  const id = ids.uuid()
  const proposal: Proposal = {
    id,
    principalId: caller.userId,
    proposedBy: caller.username,
    commandId: key?.commandId ?? id,
    dealId: dealId ?? null,
    useCase: bound.name,
    params: bound.params,
    fingerprint: fingerprintOf(request),
    dealVersion: before?.version ?? null,
    client,
    proposedAt: at,
    expiresAt: rfc3339(Date.parse(at) + waitsMs),
  }
  const commit = commitOfEvent(before, {
    id: ids.uuid(),
    useCase: bound.name,
    event: proposalMade({ proposalId: id, useCase: bound.name }),
    context: senderOf(context, at),
    command: undefined,
  })
  return (await repository.propose(proposal, commit)) === 'committed' ? { proposal, state: 'open' } : undefined
}
