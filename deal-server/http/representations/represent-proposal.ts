/** Proposals as clients read them (docs/contract/proposals.md). */
import { jsonResponse } from '../../../shared/platform/http/response.ts'
import { mapAmounts } from '../../commands/amount-parameters.ts'
import type { ProposedCommand } from '../../commands/command-context.ts'
import type { Deal } from '../../domain/deal.ts'
import type { ProposalState } from '../../domain/proposals.ts'
import type { ProposalView } from '../../queries/proposals.ts'
import { pathOf } from './represent-deal.ts'
import { privateHeaders } from './responses.ts'

/** The collection of proposals. */
export const proposalsPath = '/proposals'

/** The path of a proposal. */
export const pathOfProposal = ({ id }: { readonly id: string }): string => `${proposalsPath}/${id}`

/** A proposal in responses. */
export const representProposal = ({ proposal, state, decision, dealId, deal }: ProposalView) => ({
  id: proposal.id,
  state,
  useCase: proposal.useCase,
  deal: dealId,
  params: mapAmounts(proposal.params, Number),
  commandId: proposal.commandId,
  proposedBy: proposal.proposedBy,
  client: proposal.client,
  proposedAt: proposal.proposedAt,
  expiresAt: proposal.expiresAt,
  dealVersion: proposal.dealVersion,
  currentVersion: deal?.version ?? null,
  hasChanged: state === 'open' && (deal?.version ?? null) !== proposal.dealVersion,
  decision: decision ? decisionOf(decision) : null,
  links: { self: pathOfProposal(proposal), deal: dealId === null ? null : pathOf({ id: dealId }) },
})

function decisionOf({ requestedBy: by, requestedAt: at, outcome }: NonNullable<ProposalView['decision']>) {
  const reason = outcome?.state === 'refused' ? outcome.members.reason : undefined
  return { by, at, reason: typeof reason === 'string' ? reason : null }
}

/** The entity tag of a proposal: other after a decision and after every change of its deal. */
export const etagOfProposal = (state: ProposalState, deal: Pick<Deal, 'version'> | undefined): string =>
  `"${state}-${deal?.version ?? 0}"`

/** 202 for a command that waits, in every style. */
export const proposedResponse = (command: ProposedCommand) =>
  jsonResponse(202, representProposed(command), { ...privateHeaders, location: pathOfProposal(command.proposal) })

/** A command that waits. */
export const representProposed = ({ proposal: { id, expiresAt }, state }: ProposedCommand) => ({
  proposal: { id, state, expiresAt },
})
