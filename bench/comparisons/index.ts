import { compared, type Measurements } from '../runs/measurement.ts'
import { holdDeals } from './hold-deals.ts'
import { compareLogins, issueToClients, refreshTokens } from './issued-credentials.ts'
import { measureMemory } from './memory.ts'
import { readOneDeal } from './read-one-deal.ts'

/** All measurements by name, in the order of a full run. */
export const measurements: Measurements = {
  'read-one-deal': compared('GET of one deal by each scheme (bare Hono)', readOneDeal),
  'hold-deals': compared('HoldDeal and UnholdDeal (bare Hono; pgbench)', holdDeals),
  refresh: compared('POST /refresh (one signature)', refreshTokens),
  'client-credentials': compared('POST /oauth/token (one signature)', issueToClients),
  logins: compared('POST /login (its password hash)', compareLogins),
  memory: { summary: 'resident memory under load (bare Hono)', run: measureMemory },
}
