import { createMemoryCache } from '../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { createIdSource } from '../../shared/platform/ids.ts'
import { createLog, type Log } from '../../shared/platform/log/log.ts'
import { createMetrics } from '../../shared/platform/metrics/metrics.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { AuthClient } from '../../verify/src/auth-client/auth-client.ts'
import type { ServiceSystems } from '../../verify/src/auth-client/service-systems.ts'

interface Fakes extends Omit<Systems & ServiceSystems, 'log'> {
  readonly authClient: Partial<AuthClient>
  readonly cache: Systems['cache']
  readonly log: object
}

const refuse = (name: string) => () => {
  throw new TypeError(`this test gives no ${name}`)
}

/** What a test does not give, and must not be used. */
const unused = <Type extends object>(name: string): Type => new Proxy({} as Type, { get: refuse(name) })

/** One for all: each log of its own listens for the end of the process. */
const silentLog = createLog({ level: 'silent', format: 'json' })

/** The systems of a server or of a service: what a test gives, and the rest in memory and silent. */
export function fakeSystems(given: Partial<Fakes> = {}) {
  const { clock = systemClock } = given
  const authClient: AuthClient = {
    ask: refuse('answer of the auth server'),
    catalogue: refuse('catalogue'),
    document: refuse('document'),
    feedLines: refuse('feed'),
    instanceId: refuse('instance'),
    principal: refuse('principal'),
    stop: () => undefined,
    ...given.authClient,
  }
  return {
    database: unused<Database>('database'),
    cache: createMemoryCache(clock),
    clock,
    ids: createIdSource(clock),
    metrics: createMetrics(),
    fetch: refuse('fetch'),
    serviceSecret: 'a service secret of the tests, long enough',
    ...given,
    authClient,
    log: Object.assign(silentLog.child({}), given.log) as Log,
  }
}
