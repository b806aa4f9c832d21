/**
 * Proposals: commands of applications that wait until somebody approves them (docs/contract/proposals.md). A proposal
 * never changes. Its decision is the outcome of the command, kept under the key of the command: so there is one.
 */
import { defineEvent, type EventFacts, labelled } from './events.ts'

/** The right to approve and reject proposals, beside the rights of their commands. */
export const decidingRight = 'proposal.decide'

/** How long a proposal waits, in milliseconds. */
export const waitsMs = 14 * 24 * 60 * 60 * 1000

/** Code of the outcome of a command whose proposal was rejected. */
export const rejectedCode = 'proposal-rejected'

/** A proposal as it was made. */
export interface Proposal {
  readonly id: string
  /** The user for whom the application made it, by immutable id and by name. */
  readonly principalId: string
  readonly proposedBy: string
  /** The id of the command: that of the client, else that of the proposal. */
  readonly commandId: string
  /** Null for a new deal whose id the server chooses. */
  readonly dealId: string | null
  readonly useCase: string
  readonly params: Readonly<Record<string, unknown>>
  readonly fingerprint: string
  /** The version of the deal that it was made on; null for a new deal. */
  readonly dealVersion: number | null
  readonly client: { readonly id: string; readonly name: string }
  /** RFC 3339, as `expiresAt`. */
  readonly proposedAt: string
  readonly expiresAt: string
}

/** The states of a proposal. `expired`: nobody decided in time. */
export const proposalStates = ['open', 'approved', 'rejected', 'expired'] as const

/** One of these. */
export type ProposalState = (typeof proposalStates)[number]

/** What is read of the command that decided a proposal. */
export interface Decision {
  readonly fingerprint: string
  readonly outcome: { readonly state: string } | undefined
}

/** The state of a proposal. An id that was used for another command leaves nothing to approve. */
export function stateOf(proposal: Proposal, decision: Decision | undefined, now: number): ProposalState {
  if (!decision) return Date.parse(proposal.expiresAt) > now ? 'open' : 'expired'
  const isSame = decision.fingerprint === proposal.fingerprint
  return isSame && decision.outcome?.state !== 'refused' ? 'approved' : 'rejected'
}

interface Made {
  readonly proposalId: string
  readonly useCase: string
}

interface Decided extends Made {
  readonly proposedBy: string
  readonly reason?: string
}

const proposer = ({ text }: EventFacts) => labelled('Proposed by', text('proposedBy'))

/** The deal stays as it is: the events of the command itself change it. */
const unchanged = <State>(deal: State): State => deal

/** An application has proposed a command. */
export const proposalMade = defineEvent<Made>({
  type: 'proposal.made',
  phrase: 'proposed a command',
  details: ({ useCase }) => [useCase()],
  apply: unchanged,
})

/** Somebody has approved it: it ran in the name of the actor. */
export const proposalApproved = defineEvent<Decided>({
  type: 'proposal.approved',
  phrase: 'approved a proposal',
  details: (facts) => [facts.useCase(), proposer(facts)],
  apply: unchanged,
})

/** Somebody has rejected it, or the proposer took it back. */
export const proposalRejected = defineEvent<Decided>({
  type: 'proposal.rejected',
  phrase: 'rejected a proposal',
  details: (facts) => [facts.useCase(), proposer(facts), labelled('Reason', facts.text('reason'))],
  apply: unchanged,
})

/** The events of proposals. */
export const proposalEvents = [proposalMade, proposalApproved, proposalRejected] as const
