import { randomUUID } from 'node:crypto'
import { createAuthClient } from '../deal-server/auth-client/auth-client.ts'
import { createKeyStore } from '../deal-server/auth-client/key-store.ts'
import { createPrincipalFeed } from '../deal-server/auth-client/principal-feed.ts'
import { createPrincipalRecords } from '../deal-server/auth-client/principal-records.ts'
import { createDealRepository } from '../deal-server/store/deals.ts'
import { createCacheSeals } from '../shared/platform/cache/cache-seals.ts'
import { rememberVerifiedTokens } from '../shared/protocol/access-token/verified-token-cache.ts'
import { createAccessTokenVerifier } from '../shared/protocol/access-token/verify-access-token.ts'
import {
  type Authenticate,
  createAuthentication,
  type Principals,
} from '../shared/protocol/authentication/authenticate.ts'
import { createBearerScheme } from '../shared/protocol/authentication/bearer/bearer.ts'
import { keyDocuments } from '../shared/protocol/internal-api/published-keys.ts'
import { type PrincipalRecord, parsePrincipalRecord, principalKey } from '../shared/protocol/principal/record.ts'
import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import type { Comparison } from './compare.ts'
import { repeated } from './repeated.ts'
import { readDeal } from './requests.ts'

/** Measures the cost of fresh records for a request that finds all data in memory. */
export async function compareFreshness(bench: Bench): Promise<Comparison> {
  const { clients, deals, servers } = bench
  const { principals, record, stop } = await followPrincipals(bench)
  const repository = createDealRepository(servers.database)
  const unchecked = await servers.listenWithFixedCaller(repository, await authenticateBy({ get: () => record }, bench))
  const fresh = await servers.listenWithFixedCaller(repository, await authenticateBy(principals, bench))
  const subject = (name: string, port: number) => {
    const numberOf = (client: number) => Math.floor((client * deals) / clients)
    const cycles = cyclesFor(clients, port, (client) => [readDeal(numberOf(client), servers.accessToken)])
    return { name, turn: (seconds: number) => httpTurn(bench, { cycles, expected: '200' }, seconds) }
  }
  return {
    title: 'GET of one deal with a Bearer token by 32 callers',
    unit: 'responses',
    floor: subject('the record is never checked', unchecked.port),
    subjects: [subject('the record is as fresh as promised', fresh.port)],
    close: () => Promise.all([unchecked.close(), fresh.close(), stop()]),
  }
}

/** Measures the same without HTTP: finding a record, and checking its freshness. */
export async function compareRecords(bench: Bench): Promise<Comparison> {
  const { username } = bench.servers
  const { principals, record, stop } = await followPrincipals(bench)
  const records = new Map([[username, record]])
  return {
    title: 'Finding a principal record in memory',
    unit: 'operations',
    floor: repeated('Map.get', () => records.get(username)),
    subjects: [repeated('a record as fresh as promised', () => principals.get(username))],
    close: stop,
  }
}

/**
 * Measures the HMAC of entries in Redis. Only loads of records need it, not requests that find their record in memory.
 */
export async function compareSeals(bench: Bench): Promise<Comparison> {
  const { username, follow } = bench.servers
  const { record, stop } = await followPrincipals(bench)
  const seals = createCacheSeals({ secrets: [follow.secret], clock: follow.clock })
  const [key, version, value] = [principalKey(randomUUID(), username), 7, JSON.stringify(record)]
  const sealed = seals.sealEntry(key, { version, value }, 3_600)
  return {
    title: `A principal record of ${value.length} bytes from Redis, after it was received`,
    unit: 'operations',
    floor: repeated('parsing it', () => parsePrincipalRecord(value)),
    subjects: [
      repeated('checking its HMAC', () => typeof seals.openEntry(key, { version, value: sealed }) === 'object'),
      repeated('making its HMAC', () => seals.sealEntry(key, { version, value }, 3_600)),
    ],
    close: stop,
  }
}

/** The records of a deal server whose feed is current. */
async function followPrincipals({ servers: { follow, username } }: Bench) {
  const authClient = createAuthClient({ ...follow, fetch: globalThis.fetch })
  const feed = createPrincipalFeed({ ...follow, authClient })
  const principals = createPrincipalRecords({ ...follow, feed, authClient, recordMaxAgeMs: 300_000 })
  await feed.start()
  const record: PrincipalRecord | undefined = await principals.get(username)
  if (!record) throw new Error('The user of the benchmark has no record.')
  return { principals, record, stop: () => feed.stop() }
}

async function authenticateBy(principals: Principals, { servers: { follow } }: Bench): Promise<Authenticate> {
  const authClient = createAuthClient({ ...follow, fetch: globalThis.fetch })
  const keys = createKeyStore({ ...follow, load: () => authClient.document(keyDocuments.jwt), alg: 'RS256' })
  await keys.refresh()
  const verify = rememberVerifiedTokens(createAccessTokenVerifier({ ...follow, keys }), { ...follow, keys })
  const schemes = [createBearerScheme({ verify, findKey: keys.findKey })]
  const { clock } = follow
  return createAuthentication({ schemes, principals, refuseCrossSite: () => undefined, clock }).authenticate
}
