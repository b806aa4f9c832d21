/** Limits on guessing, and attempts that are right or wrong, for the suites of this folder. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Cache } from '../../../../shared/platform/cache/cache.ts'
import { systemClock } from '../../../../shared/platform/clock.ts'
import { createIdSource } from '../../../../shared/platform/ids.ts'
import type { LoginThrottle } from '../../../../shared/protocol/authentication/login-throttle.ts'
import {
  createLoginThrottle,
  type LoginThrottleOptions,
} from '../../../../shared/server/login-throttle/count-attempts.ts'

const ids = createIdSource(systemClock)
export const limits = {
  perAccount: { count: 10, seconds: 900 },
  perAddress: { count: 100, seconds: 60 },
  perAccountEverywhere: { count: 1000, seconds: 3600 },
}
export const address = '192.0.2.1'
let serial = 0
/** Others may run the same suite on the same Redis. */
export const newSecret = () => `secret ${randomUUID()}`
export const newAccount = () => `Account-${++serial}`

export const right = async () => 'right' as const
export const wrong = async () => undefined

export const server = (cache: Cache, options: Partial<LoginThrottleOptions> = {}) =>
  createLoginThrottle({ cache, clock: systemClock, ids, limits, secrets: [newSecret()], ...options })

export async function fail(
  loginThrottle: LoginThrottle,
  account: string,
  times: number,
  from = address,
): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    expect(await loginThrottle.attempt({ account, address: from }, wrong)).toBeUndefined()
  }
}

export const expectTooMany = (attempt: Promise<unknown> | undefined) =>
  expect(Promise.resolve(attempt)).rejects.toMatchObject({
    code: 'too-many-attempts',
    retryAfterSeconds: expect.any(Number),
  })
