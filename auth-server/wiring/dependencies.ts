import { argon2 } from '../../shared/platform/crypto/argon2-threads.ts'
import { databaseWrites } from '../../shared/platform/database/database.ts'
import type { Dependency } from '../../shared/platform/http/server/health.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { AuthParts } from './parts.ts'

/** The dependencies that `/readyz` reports. */
export const dependenciesOf = ({ database, cache, keyRing, publisher }: AuthParts): Dependency[] => [
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
