/** Reads proposals for a caller: those of deals that the caller sees and may decide on, and the caller's own. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { applicationOf } from '../../shared/protocol/authentication/application.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'
import type { CommandRecord } from '../commands/ports.ts'
import { isPresent } from '../commands/presence.ts'
import type { Deal } from '../domain/deal.ts'
import { decidingRight, type Proposal, type ProposalState, stateOf } from '../domain/proposals.ts'
import { readingRight, sees, seesDeleted, sightOf } from '../domain/sight.ts'
import type { DealReader } from './ports.ts'

/** A proposal with its decision. */
export interface ProposalView {
  readonly proposal: Proposal
  readonly state: ProposalState
  /** The command that decided it. */
  readonly decision: CommandRecord | undefined
  /** Null for a new deal whose id the server chooses, until it is there. */
  readonly dealId: string | null
  /** The deal as it is now; undefined for a proposal that makes one. */
  readonly deal: Deal | undefined
}

/** The rights of who decides on proposals of others, beside those of the commands. */
export const decidersRights = [decidingRight, readingRight] as const

/** The proposals of a list. */
export interface ProposalList {
  readonly state: ProposalState
  readonly page: PageRequest
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** A page of proposals, the newest first. Pages of who sees own deals alone can be shorter. @throws Unavailable */
export async function listProposals(
  reader: DealReader,
  caller: Caller,
  { state, page, now }: ProposalList,
): Promise<Page<ProposalView>> {
  const decides = sightOf(caller, decidersRights).deals !== undefined
  const found = await reader.listProposals({
    state,
    page,
    now: rfc3339(now),
    proposer: decides ? undefined : caller.userId,
  })
  const views = await Promise.all(found.items.map((proposal) => viewOf(reader, proposal, now)))
  return { items: views.filter((view) => isVisible(caller, view)), next: found.next }
}

/** A proposal. @throws ProblemError `not-found`; Unavailable */
export async function readProposal(reader: DealReader, caller: Caller, id: string, now: number): Promise<ProposalView> {
  const proposal = await reader.loadProposal(id)
  const view = proposal && (await viewOf(reader, proposal, now))
  if (view && isVisible(caller, view)) return view
  throw new ProblemError('not-found', 'There is no such proposal.', { members: { proposalId: id } })
}

/** A proposal, for whoever has just decided on it: the decision may have taken the deal out of the caller's sight. */
export async function viewOf(reader: DealReader, proposal: Proposal, now: number): Promise<ProposalView> {
  const { principalId, commandId, dealId } = proposal
  const { deal, command: decision } = await reader.load(dealId ?? undefined, { principalId, commandId })
  const view = { proposal, state: stateOf(proposal, decision, now), decision }
  if (dealId !== null || view.state !== 'approved' || !decision) return { ...view, dealId, deal }
  const made = await reader.load(decision.dealId, undefined)
  return { ...view, dealId: decision.dealId, deal: made.deal }
}

/** True for a proposal in the name of the user for whom the credential acts, and for what its application proposed. */
const isOwn = (caller: Caller, { principalId, client }: Proposal): boolean =>
  principalId === caller.userId && (actsForItsUser(caller) || applicationOf(caller.credential)?.id === client.id)

function isVisible(caller: Caller, { proposal, deal }: ProposalView): boolean {
  if (isOwn(caller, proposal)) return true
  const sight = sightOf(caller, decidersRights)
  if (!deal) return sight.deals !== undefined
  return sees(sight, deal) && (isPresent(deal) || seesDeleted(sight, deal))
}
