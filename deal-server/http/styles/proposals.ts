/** The reads of proposals. They are routes of a style, so that assistants have them as tools. */
import * as z from 'zod'
import type { Clock } from '../../../shared/platform/clock.ts'
import { noParameters, pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonResponse } from '../../../shared/platform/http/response.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { proposalStates } from '../../domain/proposals.ts'
import { listProposals, readProposal } from '../../queries/proposals.ts'
import { describeList, describeRead } from '../openapi/read-operations.ts'
import { etagOfProposal, proposalsPath, representProposal } from '../representations/represent-proposal.ts'
import { privateHeaders } from '../representations/responses.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import { proposalIdInPath } from '../requests/proposal-target.ts'

const style = 'proposals'

/** The query parameters of the list. */
export const proposalListParameters = z.strictObject({
  state: z.enum(proposalStates).default('open').meta({ description: 'The state that the proposals have.' }),
  ...pageParameters.shape,
})

const seen = 'Those that you may decide on, with the rights `proposal.decide` and `deal.read`, and your own.'

const listOperation = describeList({
  id: 'listProposals',
  summary: 'List commands that wait for approval',
  description: `Or that were decided, for 30 days. ${seen} Without a right to decide, your own alone.`,
  tags: [style],
  query: proposalListParameters,
  success: { description: 'Proposals, the newest first.', schema: ref('ProposalPage') },
})

const readOperation = describeRead({
  id: 'getProposal',
  summary: 'Read a proposal',
  description: `With its decision, and whether its deal has changed since. ${seen}`,
  tags: [style],
  success: { description: 'The proposal.', schema: ref('Proposal'), headers: ['ETag'] },
})

/** The parts that reads of proposals use. */
export interface ProposalOptions {
  readonly lists: Lists
  readonly clock: Clock
}

/** The routes that read proposals. */
export const proposalRoutes = (options: ProposalOptions): readonly StyleRoute[] => [
  {
    style,
    methods: ['GET'],
    path: proposalsPath,
    describe: () => [listOperation],
    decode: (request) => decodeList(request, options),
  },
  {
    style,
    methods: ['GET'],
    path: `${proposalsPath}/:id`,
    describe: () => [readOperation],
    decode: (request) => decodeRead(request, options),
  },
]

function decodeList(request: HttpRequest, { lists, clock }: ProposalOptions): Invocation {
  const { state, ...page } = readQuery(request, proposalListParameters)
  const list = lists.open(request, { list: 'proposals', query: { state } }, page)
  return {
    kind: 'query',
    rights: () => [],
    answer: async (reader, caller) =>
      list.answer(await listProposals(reader, caller, { state, page: list.page, now: clock.now() }), {
        represent: representProposal,
        headers: privateHeaders,
      }),
  }
}

function decodeRead(request: HttpRequest, { clock }: ProposalOptions): Invocation {
  const id = proposalIdInPath(request.pathParameters)
  readQuery(request, noParameters)
  return {
    kind: 'query',
    rights: () => [],
    answer: async (reader, caller) => {
      const view = await readProposal(reader, caller, id, clock.now())
      const headers = { ...privateHeaders, etag: etagOfProposal(view.state, view.deal) }
      return jsonResponse(200, representProposal(view), headers)
    },
  }
}
