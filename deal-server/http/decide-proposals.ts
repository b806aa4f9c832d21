/** The endpoints that decide on proposals: approve and reject (docs/contract/proposals.md#approve-and-reject). */
import * as z from 'zod'
import { readBodyAs } from '../../shared/platform/http/content/json-body.ts'
import { noParameters } from '../../shared/platform/http/content/query-parameters.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { component, defineEndpoint, jsonBody } from '../../shared/server/endpoints/endpoint.ts'
import { possibleCommands } from '../commands/allowed.ts'
import { approveProposal, boundAgain } from '../commands/approve.ts'
import { proposalClosed } from '../commands/propose.ts'
import { refuseInTime } from '../commands/refuse-in-time.ts'
import { requireAnyWidth } from '../commands/require-any-width.ts'
import type { Deal } from '../domain/deal.ts'
import { decidingRight, type ProposalState } from '../domain/proposals.ts'
import { decidersRights, type ProposalView, readProposal, viewOf } from '../queries/proposals.ts'
import { reasonText } from '../use-cases/parameters.ts'
import { approvedProposalSchema, proposalSchema } from './openapi/proposal-schemas.ts'
import { representDeal } from './representations/represent-deal.ts'
import { etagOfProposal, proposalsPath, representProposal } from './representations/represent-proposal.ts'
import { privateHeaders } from './representations/responses.ts'
import { commandParameters } from './requests/command-options.ts'
import { type Preconditions, preconditionsOf } from './requests/preconditions.ts'
import { proposalIdInPath } from './requests/proposal-target.ts'
import type { DealServices } from './services/deal-services.ts'

const ofProposal = {
  tag: 'proposals',
  method: 'POST',
  pathParameters: { id: { type: 'string', format: 'uuid' } },
} as const

const problems = ['invalid-body', 'not-found', 'missing-right', 'proposal-closed', 'proposer-cannot-decide']

const approve = (services: DealServices) =>
  defineEndpoint({
    ...ofProposal,
    right: decidingRight,
    path: `${proposalsPath}/:id/approve`,
    id: 'approveProposal',
    summary: 'Approve a proposal: its command runs',
    description: `Runs the command in your name. Needs the rights \`proposal.decide\`, \`deal.read\` and those of the
command. When the deal has changed since the proposal, send \`If-Match\` with the tag of the proposal as you have read it.
\`validateOnly=true\` shows the deal as it would become. When the command is refused, the proposal stays open.`,
    query: commandParameters,
    requestHeaders: ['IfMatch'],
    success: { description: 'The proposal, with the deal.', headers: ['ETag', 'Deal-Validated-Only'] },
    response: component('ApprovedProposal', approvedProposalSchema),
    problems: [...problems, 'precondition-failed', 'proposal-rejected'],
    check: async ({ request, path }) => {
      await readBodyAs(request, noParameters)
      return { id: proposalIdInPath(path), preconditions: preconditionsOf(request) }
    },
    handle: ({ request, caller, checked: { id, preconditions }, query: { validateOnly } }) =>
      refuseInTime(caller, async () => {
        requireAnyWidth(caller, decidersRights)
        const view = await readProposal(services.reader, caller, id, services.clock.now())
        refuseProposer(view, caller)
        if (view.state !== 'open' && view.state !== 'approved') throw proposalClosed(view.proposal, view.state)
        const bound = boundAgain(view.proposal)
        requireAnyWidth(caller, bound.rights)
        const { shown } = await approveProposal(services.executeCommand, view.proposal, {
          validateOnly: validateOnly === 'true',
          caller,
          requestId: request.requestId,
          traceId: request.traceId,
          requirePrecondition: (deal) => requireUnchanged(view, preconditions, deal),
        })
        const after = await viewOf(services.reader, view.proposal, services.clock.now())
        const result = shown && shown.deal.deletedAt === null ? representDeal(shown.deal) : null
        return { body: { ...representProposal(after), result }, headers: headersOf(after) }
      }),
  })

const reject = (services: DealServices) =>
  defineEndpoint({
    ...ofProposal,
    path: `${proposalsPath}/:id/reject`,
    id: 'rejectProposal',
    summary: 'Reject a proposal: its command never runs',
    description:
      'Needs the rights `proposal.decide`, `deal.read` and those of the command. Its proposer needs none: so a ' +
      'proposal is taken back.',
    query: noParameters,
    body: jsonBody(z.strictObject({ reason: reasonText }).meta({ examples: [{ reason: 'The customer has called.' }] })),
    success: { description: 'The proposal.', headers: ['ETag'] },
    response: component('Proposal', proposalSchema),
    problems: [...problems, 'invalid-value', 'unsupported-media-type'],
    check: ({ path }) => proposalIdInPath(path),
    handle: ({ request, caller, checked: id, body: { reason } }) =>
      refuseInTime(caller, async () => {
        const view = await readProposal(services.reader, caller, id, services.clock.now())
        if (!isProposer(view, caller)) {
          refuseProposer(view, caller)
          requireAnyWidth(caller, [...decidersRights, ...boundAgain(view.proposal).rights])
        }
        if (view.state === 'open')
          await services.rejectProposal(view.proposal, { caller, reason, requestId: request.requestId })
        const after = await viewOf(services.reader, view.proposal, services.clock.now())
        if (after.state !== 'rejected') throw proposalClosed(after.proposal, after.state)
        return { body: representProposal(after), headers: headersOf(after) }
      }),
  })

/** The endpoints. The console takes the types of its calls from the inferred type. */
export const proposalEndpoints = (services: DealServices) => [approve(services), reject(services)]

const headersOf = ({ state, deal }: ProposalView) => ({ ...privateHeaders, etag: etagOfProposal(state, deal) })

const isProposer = ({ proposal }: ProposalView, caller: Caller): boolean => proposal.principalId === caller.userId

/** @throws ProblemError `proposer-cannot-decide` */
function refuseProposer(view: ProposalView, caller: Caller): void {
  if (isProposer(view, caller)) throw cannotDecide('Somebody else approves what was proposed in your name.')
  if (caller.proposes) throw cannotDecide('This application proposes; it does not decide on proposals.')
}

const cannotDecide = (detail: string) => new ProblemError('proposer-cannot-decide', detail)

/** Without `If-Match` the deal must be as it was then. @throws ProblemError `precondition-failed` */
function requireUnchanged({ proposal }: ProposalView, { ifMatch }: Preconditions, deal: Deal | undefined): void {
  const state: ProposalState = 'open'
  const etag = etagOfProposal(state, deal)
  const accepted = ifMatch ?? [
    etagOfProposal(state, proposal.dealVersion === null ? undefined : { version: proposal.dealVersion }),
  ]
  if (accepted === '*' || accepted.includes(etag)) return
  const shown = deal && {
    dealId: deal.id,
    current: representDeal(deal),
    allowed: possibleCommands(deal).map(({ name }) => name),
  }
  throw new ProblemError('precondition-failed', 'The deal has changed. Look at the proposal again, and send its tag.', {
    members: shown ?? {},
    headers: { etag },
  })
}
