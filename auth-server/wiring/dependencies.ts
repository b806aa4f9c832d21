import type { Cache } from '../../shared/platform/cache/cache.ts'
import { argon2 } from '../../shared/platform/crypto/argon2-threads.ts'
import { type Database, databaseWrites } from '../../shared/platform/database/database.ts'
import type { Dependency } from '../../shared/platform/http/server/health.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { KeyRing } from '../key-ring/key-ring.ts'
import type { PrincipalPublisher } from '../principals/principal-publisher.ts'

interface DependencyPorts {
  readonly database: Pick<Database, 'ping' | 'checkWrites'>
  readonly cache: Pick<Cache, 'ping'>
  readonly keyRing: Pick<KeyRing, 'problem'>
  readonly publisher: Pick<PrincipalPublisher, 'health'>
}

/** The dependencies that `/readyz` reports. */
export const dependenciesOf = ({ database, cache, keyRing, publisher }: DependencyPorts): Dependency[] => [
  { name: 'database', required: true, check: () => database.ping() },
  { name: databaseWrites, required: false, check: () => database.checkWrites() },
  { name: 'cache', required: false, check: () => cache.ping() },
  { name: 'key-ring', required: false, check: () => requireNoProblem('key-ring', keyRing.problem()) },
  { name: 'hashing', required: true, check: () => argon2.check() },
  {
    name: 'principal-feed',
    required: false,
    check: () => requireNoProblem('principal-feed', publisher.health().problem),
  },
]

function requireNoProblem(dependency: string, problem: string | undefined): void {
  if (problem !== undefined) throw new Unavailable(dependency)
}
