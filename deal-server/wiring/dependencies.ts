import { argon2 } from '../../shared/platform/crypto/argon2-threads.ts'
import { databaseWrites } from '../../shared/platform/database/database.ts'
import type { Dependency } from '../../shared/platform/http/server/health.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { WatchedServices } from './metrics.ts'

/** The dependencies that `/readyz` reports. */
export const dependenciesOf = ({ database, cache }: Systems, { keys, feed, events }: WatchedServices): Dependency[] => [
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
