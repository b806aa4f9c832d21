import { systemClock } from '../../../shared/platform/clock.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import type { Outcome } from '../../../shared/platform/terminal/outcome.ts'
import type { readOperatorConfig } from '../../config.ts'
import type { OpenAuthData } from './auth-data.ts'
import type { OpenStoredData } from './stored-data.ts'

/** What the commands use. */
export type OpsSystems = ReturnType<typeof opsSystems>

/** Gathers it. The code of a system is loaded by the command that uses it. */
export function opsSystems(config: ReturnType<typeof readOperatorConfig>['config'], outcome: Outcome) {
  const clock = systemClock
  const openAuthData: OpenAuthData = async (work) => {
    const { createOpenAuthData } = await import('./auth-data.ts')
    return createOpenAuthData(config)(work)
  }
  const openStoredData: OpenStoredData = async (work) => {
    const { createOpenStoredData } = await import('./stored-data.ts')
    return createOpenStoredData(config)(work)
  }
  const hash = async (password: string) => {
    const { createPasswordHashing } = await import('../../passwords/password-hashing.ts')
    return createPasswordHashing({ concurrency: 1 }).hash(password)
  }
  return {
    ...outcome,
    operation: { ...config.keyRing, clock, operator: config.operator },
    /** The name of the operator, for the audit log; undefined when it is not known. */
    operator: config.operator,
    /** The URL of the servers that publish the ring. */
    authUrl: config.authUrl,
    fetch: globalThis.fetch,
    clock,
    ids: createIdSource(clock),
    openAuthData,
    readKeys: async () => (await import('./auth-data.ts')).readKeys(config),
    openStoredData,
    hashing: { hash },
  }
}
