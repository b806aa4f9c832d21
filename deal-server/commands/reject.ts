/** The rejection of a proposal: it becomes the outcome of the command, which then never runs. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { applicationOf } from '../../shared/protocol/authentication/application.ts'
import { type Caller, missingRights } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import { type Proposal, proposalRejected, rejectedCode } from '../domain/proposals.ts'
import { boundAgain, decisionStyle } from './approve.ts'
import type { CommandSystems } from './command-systems.ts'
import { outcomeKeptForMs } from './commit.ts'
import type { CommandRecord, DealCommit } from './ports.ts'
import { isPresent } from './presence.ts'

/** A rejection as its caller sent it. */
export interface Rejection {
  readonly caller: Caller
  readonly reason: string
  readonly requestId: string
}

/** Others may change the deal first, this often. */
const maxRounds = 20

/**
 * Rejects a proposal. Does nothing when it has a decision already.
 * @throws ProblemError `missing-right` for somebody else who could not run the command; Unavailable
 */
export type RejectProposal = (proposal: Proposal, rejection: Rejection) => Promise<void>

/** Makes the function. */
export const createRejectProposal =
  ({ repository, clock, ids }: Pick<CommandSystems, 'repository' | 'clock' | 'ids'>): RejectProposal =>
  async (proposal, rejection) => {
    const { principalId, commandId, dealId } = proposal
    for (let round = 0; round < maxRounds; round += 1) {
      const { deal, command } = await repository.load(dealId ?? undefined, { principalId, commandId })
      if (command) return
      requireRights(proposal, deal, rejection)
      const at = rfc3339(clock.now())
      const record = recordOf(proposal, rejection, { at, dealId: dealId ?? ids.uuid() })
      const commit = isPresent(deal)
        ? commitOf(proposal, rejection, { deal, record, at, eventId: ids.uuid() })
        : undefined
      const written = await (commit ? repository.commit(commit) : repository.keepCommand(record))
      if (written === 'committed') return
    }
    throw new Unavailable('database', { retryAfterSeconds: 1 })
  }

/** Who proposed it may take it back. */
function requireRights(proposal: Proposal, deal: Deal | undefined, { caller }: Rejection): void {
  if (caller.userId === proposal.principalId) return
  const missing = boundAgain(proposal).missingRights(deal, caller)
  if (missing.length > 0) throw missingRights(caller, missing)
}

function recordOf(
  { id: proposalId, principalId, commandId, useCase, params, fingerprint }: Proposal,
  { caller, reason, requestId }: Rejection,
  { at, dealId }: { readonly at: string; readonly dealId: string },
): CommandRecord {
  const members = { proposalId, commandId, useCase, final: true, reason, requestId, instance: `urn:uuid:${requestId}` }
  return {
    key: { principalId, commandId },
    dealId,
    useCase,
    params,
    fingerprint,
    outcome: { state: 'refused', code: rejectedCode, detail: 'The proposal was rejected.', members },
    style: decisionStyle,
    requestId,
    requestedBy: caller.username,
    requestedAt: at,
    expiresAt: rfc3339(Date.parse(at) + outcomeKeptForMs),
    signature: null,
  }
}

interface Written {
  readonly deal: Deal
  readonly record: CommandRecord
  readonly at: string
  readonly eventId: string
}

/** The event is written on the deal as it is, whose version stays. A deleted deal gets none. */
function commitOf(
  { id: proposalId, useCase, proposedBy }: Proposal,
  { caller, reason, requestId }: Rejection,
  { deal, record: command, at, eventId }: Written,
): DealCommit {
  const sequence = deal.sequence + 1
  const { username: actor, userId: actorUserId, credential } = caller
  const client = applicationOf(credential)
  return {
    before: deal,
    deal: { ...deal, sequence },
    tasks: [],
    events: [{ id: eventId, sequence, useCase, event: proposalRejected({ proposalId, useCase, proposedBy, reason }) }],
    context: { key: command.key, actor, actorUserId, client, style: decisionStyle, requestId, at },
    command,
  }
}
