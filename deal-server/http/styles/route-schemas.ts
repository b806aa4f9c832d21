/** The schemas of routes, for the types of callers in the same program. A test compares them with the documentation. */
import * as z from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { pageOf } from '../../../shared/platform/http/pagination/page-schema.ts'
import { proposalSchema } from '../openapi/proposal-schemas.ts'
import {
  assignedTaskSchema,
  dealSchema,
  dealSummarySchema,
  eventSchema,
  listedDealSchema,
} from '../openapi/response-schemas.ts'
import { dealListParameters, dealSummaryParameters } from '../requests/deal-lists.ts'
import { proposalListParameters } from './proposals.ts'
import { dealReadParameters } from './resource.ts'

/** With `Prefer: count=…` a page of deals says how many match in all. */
const dealPage = pageOf(listedDealSchema).extend({
  totalCount: z.number().int().min(0).optional(),
  totalCountExact: z.boolean().optional(),
})

/** Method and path → the query and the reply of a success. */
export const routeSchemas = {
  'GET /rest/v1/deals': { query: dealListParameters, reply: dealPage },
  'GET /rest/v1/deals/summary': { query: dealSummaryParameters, reply: dealSummarySchema },
  'GET /rest/v1/deals/:id': { query: dealReadParameters, reply: dealSchema },
  'GET /rest/v1/deals/:id/history': { query: pageParameters, reply: pageOf(eventSchema) },
  'GET /proposals': { query: proposalListParameters, reply: pageOf(proposalSchema) },
  'GET /proposals/:id': { reply: proposalSchema },
  // Of all kinds of records, tasks alone.
  'GET /query/:dtoName/:parameter': { query: pageParameters, reply: z.array(assignedTaskSchema) },
} as const
