/** The rejection of a proposal: it becomes the outcome of the command, which then never runs. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { type Caller, missingRights } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import { type Proposal, proposalRejected, rejectedCode } from '../domain/proposals.ts'
import { boundAgain, decisionStyle } from './approve.ts'
import type { CommandSystems } from './command-systems.ts'
import { commitOfEvent, outcomeKeptForMs, senderOf } from './commit.ts'
import type { CommandRecord } from './ports.ts'

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
      const event = rejectionOf(proposal, rejection.reason)
      const context = senderOf({ request: { ...rejection, style: decisionStyle }, key: record.key }, at)
      const commit = commitOfEvent(deal, { id: ids.uuid(), ...event, context, command: record })
      const written = await (commit ? repository.commit(commit) : repository.keepCommand(record))
      if (written === 'committed') return
    }
    throw new Unavailable('database', { retryAfterSeconds: 1 })
  }

const rejectionOf = ({ id: proposalId, useCase, proposedBy }: Proposal, reason: string) => ({
  useCase,
  event: proposalRejected({ proposalId, useCase, proposedBy, reason }),
})

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
