import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { createCacheSeals } from '../../shared/platform/cache/cache-seals.ts'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import { createIdSource } from '../../shared/platform/ids.ts'
import { openCache } from '../../shared/platform/redis/open-cache.ts'
import { type PrincipalRecord, parseStoredPrincipal, principalKey } from '../../shared/protocol/principal/record.ts'
import { createAuthClient } from '../../verify/src/auth-client/auth-client.ts'
import { createPrincipalFeed } from '../../verify/src/principals/principal-feed.ts'
import { createPrincipalRecords } from '../../verify/src/principals/principal-records.ts'
import type { Comparison } from '../runner/compare.ts'
import type { Bench } from '../servers/bench.ts'
import { repeated } from './repeated.ts'

/** Compares finding a principal record and checking its freshness with `Map.get`: each request does it. */
export async function compareRecords(bench: Bench): Promise<Comparison> {
  const { username } = bench.keyhold.user
  const { principals, record, stop } = await followPrincipals(bench)
  const records = new Map([[username, record]])
  return {
    title: 'Finding a principal record in memory',
    unit: 'operations',
    floors: [repeated('Map.get', () => records.get(username))],
    subjects: [repeated('a record as fresh as promised', () => principals.get(username))],
    close: stop,
  }
}

/**
 * Measures the HMAC of entries in Redis. Only loads of records need it, not requests that find their record in memory.
 */
export async function compareSeals(bench: Bench): Promise<Comparison> {
  const { username } = bench.keyhold.user
  const { stored, secret, stop } = await followPrincipals(bench)
  const seals = createCacheSeals({ secrets: [secret], clock })
  const [key, version, value] = [principalKey(randomUUID(), username), 7, JSON.stringify(stored)]
  const sealed = seals.sealEntry(key, { version, value }, 3_600)
  return {
    title: `A principal record of ${value.length} bytes from Redis, after it was received`,
    unit: 'operations',
    floors: [repeated('parsing it', () => parseStoredPrincipal(value))],
    subjects: [
      repeated('checking its HMAC', () => typeof seals.openEntry(key, { version, value: sealed }) === 'object'),
      repeated('making its HMAC', () => seals.sealEntry(key, { version, value }, 3_600)),
    ],
    close: stop,
  }
}

/** The records of a deal server in this process, whose feed is current. */
async function followPrincipals({ keyhold, environment: { redisUrl } }: Bench) {
  const secret = keyhold.variables.SERVICE_SECRET ?? ''
  const cache = openCache({ redisUrl, clock, secrets: [secret] })
  const parts = { authUrl: keyhold.authOrigin, secret, cache, clock, ids: createIdSource(clock) }
  const log = pino({ level: 'silent' })
  const authClient = createAuthClient({ ...parts, fetch: globalThis.fetch })
  const feed = createPrincipalFeed({ ...parts, log, authClient })
  const principals = createPrincipalRecords({ ...parts, feed, authClient, recordMaxAgeMs: 300_000 })
  await feed.start()
  const { username } = keyhold.user
  const record: PrincipalRecord | undefined = await principals.get(username)
  const { record: stored } = await authClient.principal(username)
  if (!record || !stored) throw new Error('The user of the benchmark has no record.')
  const stop = async () => {
    await feed.stop()
    await cache.close()
  }
  return { principals, record, stored, secret, stop }
}
