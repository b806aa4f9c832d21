/** Suites whose deals are on two shards, by each way that leads to them. */
import { describe } from 'vitest'
import { describeBackends, type OpenBackend } from './backends.ts'
import { citusUrl, openCitus } from './citus.ts'
import { hasPlproxy, openProxied, shards } from './plproxy.ts'

const { TEST_DATABASE_URL: serverUrl = '', TEST_REDIS_URL: redisUrl } = process.env
const hasProxy = redisUrl !== undefined && (await hasPlproxy(process.env.TEST_DATABASE_URL))
const hasCitus = redisUrl !== undefined && citusUrl !== undefined

/** Runs a suite over shards behind PL/Proxy, and over those behind Citus where TEST_CITUS_URL is set. */
export function describeShards(name: string, suite: (open: OpenBackend) => void): void {
  describe.skipIf(!hasProxy)(`${name} (PL/Proxy)`, () => suite(() => openProxied(serverUrl)))
  describe.skipIf(!hasCitus)(`${name} (Citus)`, () => suite(() => openCitus(serverUrl, citusUrl ?? '')))
}

/** Runs a suite over every backend without shards, and over shards. */
export function describeWithShards(name: string, suite: (open: OpenBackend, shards: number) => void): void {
  describeBackends(name, (open) => suite(open, 1))
  describeShards(name, (open) => suite(open, shards))
}
