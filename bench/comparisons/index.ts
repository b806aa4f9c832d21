import { batchSizes, compareCommits } from '../in-process/commits.ts'
import { compareRecords, compareSeals } from '../in-process/freshness.ts'
import { verifyKeySigned } from '../in-process/key-signed.ts'
import { compareRevocations } from '../in-process/revocations.ts'
import { measureVerifyingBesideHashes, verifyTokens } from '../in-process/verify-tokens.ts'
import { compared, type Measurements } from '../runs/measurement.ts'
import { issueToClients } from './client-credentials.ts'
import { compareConsolePages } from './console-pages.ts'
import { measureCostliest } from './costliest.ts'
import { askForDecisions } from './decisions.ts'
import { holdDeals } from './hold-deals.ts'
import { measureKeyRing } from './key-ring.ts'
import { measureListSums } from './lists/list-sums.ts'
import { compareList, listNames } from './lists/lists.ts'
import { measureLiveEvents } from './live-events.ts'
import { compareLogins } from './logins.ts'
import { readMe } from './me.ts'
import { measureMemory } from './memory.ts'
import { readWithNewTokens } from './new-tokens.ts'
import { measureProfiles } from './profiles.ts'
import { readOneDeal } from './read-one-deal.ts'
import { measureReadsBesideLogins } from './reads-beside-logins.ts'
import { refreshTokens } from './refresh.ts'
import { measureRoleHolders } from './role-holders.ts'
import { measureStarts } from './start.ts'
import { compareNamedStyles, compareStyles } from './styles.ts'
import { holdWithTraces, readWithTraces } from './traces/traces.ts'
import { holdWithWorkers, issueWithWorkers, readWithWorkers, renderWithWorkers } from './workers.ts'

/** All measurements by name, in the order of a full run. */
export const measurements: Measurements = {
  'read-one-deal': compared('GET of one deal by each scheme (bare Hono)', readOneDeal),
  'new-tokens': compared('GET of one deal with tokens that are not remembered (a remembered one)', readWithNewTokens),
  'hold-deals': compared('HoldDeal and UnholdDeal (bare Hono; pgbench)', holdDeals),
  styles: compared('the same in styles 2, 3, 4 and 7 (style 1)', compareStyles),
  'named-styles': compared('the same in styles 5 and 6 (style 1 with Idempotency-Key)', compareNamedStyles),
  traces: compared('GET of one deal with traces (bare Hono; no traces)', readWithTraces),
  'traces-hold': compared('HoldDeal and UnholdDeal with traces (no traces)', holdWithTraces),
  workers: compared('GET of one deal with two workers (one process)', readWithWorkers),
  'workers-hold': compared('HoldDeal and UnholdDeal with two workers (one process)', holdWithWorkers),
  'workers-pages': compared('a page of the console with two workers (one process)', renderWithWorkers),
  'workers-token': compared('POST /oauth/token with two workers (one process)', issueWithWorkers),
  refresh: compared('POST /refresh (one RS256 signature)', refreshTokens),
  'client-credentials': compared('POST /oauth/token (one RS256 signature)', issueToClients),
  revocations: compared('revocations of logins (a transaction for each change)', compareRevocations),
  me: compared('GET /me at the auth server (bare Hono; GET of a deal)', readMe),
  decisions: compared('decisions for a service (bare Hono; GET of a deal)', askForDecisions),
  'role-holders': {
    summary: 'from a change of a role to the refusal of its holders',
    run: measureRoleHolders,
  },
  'console-pages': compared('pages of the console (GET of a deal by session)', compareConsolePages),
  logins: compared('POST /login (its password hash)', compareLogins),
  'reads-beside-logins': {
    summary: 'latencies of GET of one deal while others log in (idle)',
    run: measureReadsBesideLogins,
  },
  costliest: compared('the most expensive refused requests (no credential)', measureCostliest),
  events: { summary: 'from a command to its event on a stream (response; PUBLISH)', run: measureLiveEvents },
  ...Object.fromEntries(
    listNames.map((name) => [name, compared('a list in a large database (a small one)', (b) => compareList(b, name))]),
  ),
  'lists-sums': { summary: 'times of counts, sums and filters that read all deals', run: measureListSums },
  memory: { summary: 'resident memory under load (bare Hono)', run: measureMemory },
  start: { summary: 'starts until ready, and a command of the operators (node)', run: measureStarts },
  profiles: { summary: 'where read, command, refresh and login spend their time', run: measureProfiles },
  'key-signed': compared('verification of a key-signed token, in process (publicDecrypt)', verifyKeySigned),
  'verify-tokens': compared('verification of access tokens, in process (crypto.verify)', verifyTokens),
  ...Object.fromEntries(
    batchSizes.map((size) => [
      `commits-${size}`,
      compared('batches of commits, in process (without buckets)', (bench) => compareCommits(bench, size)),
    ]),
  ),
  'verify-beside-hashes': {
    summary: 'latencies of one verification beside Argon2id hashes, in process',
    run: ({ settings }) => measureVerifyingBesideHashes(settings),
  },
  'freshness-records': compared('finding a principal record, in process (Map.get)', compareRecords),
  'freshness-seals': compared('the HMAC of a record from Redis, in process (parsing)', compareSeals),
  // This comes last, because it makes all tokens invalid.
  'key-ring': { summary: 'from keys revoke to the refusal of a token by three deal servers', run: measureKeyRing },
}
