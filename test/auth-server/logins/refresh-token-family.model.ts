/**
 * What logins must do, said a second time and far more simply than in the server: the model that random interleavings
 * are compared with.
 */
import { expect } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { parseStoredPrincipal, principalKey } from '../../../shared/protocol/principal/record.ts'
import type { AuthCore } from '../support/auth-core.ts'
import type { TestClock } from '../support/test-clock.ts'

/** One login as the model sees it: its refresh tokens in the order in which they were issued. */
export interface ModelLogin {
  readonly sid: string
  readonly generation: number
  readonly refreshTokens: string[]
  /** Expiry of each of them, in milliseconds. */
  readonly expiries: number[]
  accessToken: string
  accessExpiresAt: number
  rotatedAt: number
  /** When the token two before the last was used. */
  formerRotatedAt: number
  /** Index of the token that the client holds: the last one whose answer reached it. */
  held: number
  /** Highest index ever presented. */
  presented: number
  /**
   * It presented a token after that token's successor, or after the window for repeating: the rule that protects a
   * client.
   */
  brokeRule: boolean
  ended: boolean
}

/** Everything the model knows. */
export interface Model {
  readonly logins: ModelLogin[]
  generation: number
  kept: { id: string; generation: number } | null
  enabled: boolean
  password: string
  /** The time as the commands have moved it, in milliseconds. */
  now: number
}

/** `REFRESH_RETRY_WINDOW` of the server under test, in milliseconds. */
export const retryWindowMs = 60_000

/** The server under test, which a restart replaces. */
export interface Real {
  core: AuthCore
  readonly clock: TestClock
  readonly database: Database
  readonly username: string
  readonly restart: () => AuthCore
}

/** The model of a new user. */
export const newModel = (password: string, now: number): Model => ({
  now,
  logins: [],
  generation: 1,
  kept: null,
  enabled: true,
  password,
})

/** Whether the generation of a login still counts. */
export const isCurrent = (model: Model, login: ModelLogin): boolean =>
  model.enabled &&
  (login.generation === model.generation ||
    (model.kept?.id === login.sid && model.kept.generation === login.generation))

/** What presenting the token of this index must come to, and what it does to the model. */
export function present(model: Model, login: ModelLogin, index: number, now: number): 'rotate' | 'repeat' | 'refuse' {
  if (index < login.presented) login.brokeRule = true
  login.presented = Math.max(login.presented, index)
  if (login.ended || !isCurrent(model, login) || (login.expiries[index] ?? 0) <= now) return 'refuse'
  const last = login.refreshTokens.length - 1
  if (index === last) return 'rotate'
  if (index === last - 1 && now - login.rotatedAt <= retryWindowMs) return 'repeat'
  login.brokeRule = true
  if (index === last - 2 && now - login.formerRotatedAt <= retryWindowMs) return 'refuse'
  login.ended = true
  return 'refuse'
}

/** Compares everything that can be seen with the model. */
export async function compare(model: Model, { core, clock, username }: Real): Promise<void> {
  const record = await core.record(username)
  expect(record).toMatchObject({ enabled: model.enabled, generation: model.generation, keptLogin: model.kept })
  const cached = await core.cache.getVersioned(principalKey(await core.publisher.instanceId(), username))
  expect(parseStoredPrincipal(cached?.value ?? '')).toMatchObject({ version: record?.version, enabled: model.enabled })
  for (const login of model.logins) {
    const accepted =
      record?.enabled &&
      (login.generation === record.generation ||
        (record.keptLogin?.id === login.sid && record.keptLogin.generation === login.generation)) &&
      !record.revokedIds.includes(login.sid)
    const verdict = await core.verifyAccessToken(login.accessToken)
    expect(verdict.ok).toBe(login.accessExpiresAt > clock.now())
    if (verdict.ok) expect(accepted).toBe(isCurrent(model, login) && !login.ended)

    const family = await core.refreshTokenFamilies.find(login.sid)
    expect(family).toMatchObject({
      counter: login.refreshTokens.length - 1,
      alive: isCurrent(model, login) && !login.ended,
    })
  }
}
