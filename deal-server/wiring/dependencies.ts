import type { Cache } from '../../shared/platform/cache/cache.ts'
import { argon2 } from '../../shared/platform/crypto/argon2-threads.ts'
import { type Database, databaseWrites } from '../../shared/platform/database/database.ts'
import type { Dependency } from '../../shared/platform/http/server/health.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { KeyStores } from '../../verify/src/keys/key-stores.ts'
import type { PrincipalFeed } from '../../verify/src/principals/principal-feed.ts'
import type { EventStreams } from '../events/event-streams.ts'

interface DependencyPorts {
  readonly database: Pick<Database, 'ping' | 'checkWrites'>
  readonly cache: Pick<Cache, 'ping'>
  readonly keys: KeyStores
  /** Undefined where no feed can be followed. */
  readonly feed: Pick<PrincipalFeed, 'isCurrent'> | undefined
  readonly events: Pick<EventStreams, 'check'>
}

/** The dependencies that `/readyz` reports. */
export const dependenciesOf = ({ database, cache, keys, feed, events }: DependencyPorts): Dependency[] => [
  { name: 'database', required: true, check: () => database.ping() },
  { name: databaseWrites, required: false, check: () => database.checkWrites() },
  { name: 'cache', required: false, check: () => cache.ping() },
  { name: 'keys', required: true, check: () => requireThat(keys.areThere(), 'keys') },
  { name: 'hashing', required: false, check: () => argon2.check() },
  ...(feed
    ? [{ name: 'principal-feed', required: false, check: () => requireThat(feed.isCurrent(), 'principal-feed') }]
    : []),
  { name: 'events', required: false, check: () => events.check() },
]

function requireThat(condition: boolean, dependency: string): void {
  if (!condition) throw new Unavailable(dependency)
}
