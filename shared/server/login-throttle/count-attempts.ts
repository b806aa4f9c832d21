/**
 * Counts attempts in the cache, for all servers, and in this process. When the cache is not available or has lost its
 * data, the limits still hold for this process, and its counts do not restart from zero.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { AttemptCounts } from '../../platform/cache/attempt-counts.ts'
import type { AttemptVerdict, Cache, LimitedKey } from '../../platform/cache/cache.ts'
import type { Clock } from '../../platform/clock.ts'
import { KeyedQueue } from '../../platform/concurrency/keyed-queue.ts'
import type { IdSource } from '../../platform/ids.ts'
import { ignoreUnavailable, ProblemError, Unavailable } from '../../platform/problems/errors.ts'
import type { Attempt, LoginThrottle } from '../../protocol/authentication/login-throttle.ts'
import { isUsername } from '../../protocol/principal/record.ts'
import { type AccountLocks, type AccountLocksOptions, createAccountLocks } from './account-locks.ts'
import { type AttemptKeys, createAttemptKeys, type LoginThrottleLimits } from './attempt-keys.ts'
import { createKnownClients } from './known-clients.ts'
import { createRecentlyOpen } from './recently-open.ts'

/** The cache and the limits of the throttle. */
export interface LoginThrottleOptions extends AccountLocksOptions {
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly limits: LoginThrottleLimits
}

/** How long an attempt waits for others in flight by default, in milliseconds. */
const defaultPatienceMs = 10_000

/** The interval at which a waiting attempt tries again, in milliseconds. */
const retryIntervalMs = 15

/** The largest number of waiting attempts in this process; further ones are refused. */
const maxWaiting = 1_000

/** The login throttle over a cache, and the locks that come of it. */
export function createLoginThrottle(options: LoginThrottleOptions): LoginThrottle & AccountLocks {
  const { ids, limits, secrets } = options
  const keysOf = createAttemptKeys(limits, secrets)
  const knownClients = createKnownClients(options)
  const recentlyOpen = createRecentlyOpen(options.clock)
  const counts = createCounts(options)
  const wait = createWaiting(options)
  const locks = createAccountLocks(options)
  /** The limits of several prefixes together do not apply to a prefix from which the account has logged in. */
  const limitedBy = async (attempted: Attempt, client: AttemptKeys): Promise<LimitedAttempt> => {
    // Passwords alone: to look for the record of a user whom a Digest response names would show, by the time that it
    // takes, who is one.
    const ofPassword = attempted.secret === undefined && isUsername(attempted.account ?? '')
    const user = ofPassword ? attempted.account : undefined
    const generation = user === undefined ? 1 : await locks.generationOf(user)
    const counted = generation === 1 ? client : keysOf(attempted, generation)
    const keys = (await knownClients.find(client)) ? counted.own : counted.all
    return {
      keys,
      noteRefusal: async (refusal) => {
        const waitMs = waitOf(refusal)
        // A flood of refusals notes a lock once.
        if (user === undefined || waitMs === undefined || locks.isNoted(user, { generation, forMs: waitMs })) return
        const ofAccount = keys.filter((key) => counted.ofAccount.includes(key))
        const forMs = await counts.exhaustedForMs(ofAccount)
        if (forMs > 0) await locks.note(user, { generation, forMs })
      },
    }
  }
  const noting = async <Result>({ noteRefusal }: LimitedAttempt, counted: Promise<Result>): Promise<Result> => {
    try {
      return await counted
    } catch (error) {
      await noteRefusal(error)
      throw error
    }
  }

  const attempt: LoginThrottle['attempt'] = async (attempted, check) => {
    const client = keysOf(attempted)
    recentlyOpen.noteTry(client)
    const limited = await limitedBy(attempted, client)
    const { keys } = limited
    const id = ids.uuid()
    const [{ key } = { key: '' }] = keys
    const tryToBegin = () => noting(limited, counts.tryToBegin(id, keys))
    if (!(await tryToBegin())) await wait({ key, patienceMs: attempted.patienceMs ?? defaultPatienceMs }, tryToBegin)
    let failed = false
    try {
      const result = await check()
      failed = result === undefined
      if (!failed) await knownClients.remember(client)
      return result
    } finally {
      await counts.end(id, keys, failed)
    }
  }
  const judgeRight = async (attempted: Attempt, client: AttemptKeys): Promise<void> => {
    const noteOpen = recentlyOpen.look(client)
    const limited = await limitedBy(attempted, client)
    if (await noting(limited, counts.areOpen(limited.keys))) {
      noteOpen()
      await knownClients.remember(client)
    } else await attempt(attempted, async () => true)
  }
  return {
    attempt,
    judge: (attempted, isRight) => {
      if (!isRight) return attempt(attempted, async () => undefined)
      const client = keysOf(attempted)
      return recentlyOpen.has(client) ? undefined : judgeRight(attempted, client)
    },
    noteTry: (attempted) => recentlyOpen.noteTry(keysOf(attempted)),
    lockedUntil: locks.lockedUntil,
  }
}

/** The keys that limit an attempt. */
interface LimitedAttempt {
  readonly keys: readonly LimitedKey[]
  /** Notes the lock of the account, if that is why the attempt was refused. */
  noteRefusal(error: unknown): Promise<void>
}

/** The counts in this process and in the cache. Either can refuse an attempt. */
function createCounts({ cache, clock }: LoginThrottleOptions) {
  const own = new AttemptCounts(clock)
  const isAllowed = (verdict: AttemptVerdict | undefined): boolean => {
    if (verdict?.state === 'exhausted') throw tooManyAttempts(verdict.retryAfterMs)
    return verdict?.state !== 'busy'
  }
  return {
    /**
     * Begins an attempt. False when it must wait for others in flight; then nothing is counted.
     * @throws ProblemError `too-many-attempts`
     */
    tryToBegin: async (id: string, keys: readonly LimitedKey[]): Promise<boolean> => {
      if (!isAllowed(own.begin(keys, id))) return false
      let hasBegun = false
      try {
        hasBegun = isAllowed(await cache.beginAttempt(keys, id).catch(ignoreUnavailable))
        return hasBegun
      } finally {
        if (!hasBegun) own.end(keys, { id, failed: false })
      }
    },
    end: async (id: string, keys: readonly LimitedKey[], failed: boolean): Promise<void> => {
      own.end(keys, { id, failed })
      await cache.endAttempt(keys, { id, failed }).catch(ignoreUnavailable)
    },
    /**
     * True when an attempt could begin now; false when it would wait for others. @throws ProblemError
     * `too-many-attempts`
     */
    areOpen: async (keys: readonly LimitedKey[]): Promise<boolean> =>
      isAllowed(own.allows(keys)) && isAllowed(await cache.allowsAttempt(keys).catch(ignoreUnavailable)),
    /** For how long these keys refuse attempts, in milliseconds; 0 when they do not. */
    exhaustedForMs: async (keys: readonly LimitedKey[]): Promise<number> => {
      const verdicts = [own.allows(keys), await cache.allowsAttempt(keys).catch(ignoreUnavailable)]
      return Math.max(...verdicts.map((verdict) => (verdict?.state === 'exhausted' ? verdict.retryAfterMs : 0)))
    },
  }
}

/**
 * Waits until an attempt can begin. Attempts with the same key wait in turn. @throws Unavailable after too long, and
 * when too many wait
 */
function createWaiting({ clock }: LoginThrottleOptions) {
  const turns = new KeyedQueue()
  let waiting = 0
  return async (
    { key, patienceMs }: { key: string; patienceMs: number },
    tryToBegin: () => Promise<boolean>,
  ): Promise<void> => {
    if (waiting >= maxWaiting) throw new Unavailable('hashing')
    waiting += 1
    try {
      const until = clock.monotonic() + patienceMs
      await turns.run(key, async () => {
        while (!(await tryToBegin())) {
          if (clock.monotonic() > until) throw new Unavailable('hashing')
          await pause(retryIntervalMs)
        }
      })
    } finally {
      waiting -= 1
    }
  }
}

/** How long a refusal for too many failures says to wait, in milliseconds; undefined for other errors. */
const waitOf = (error: unknown): number | undefined =>
  error instanceof ProblemError && error.code === 'too-many-attempts'
    ? (error.retryAfterSeconds ?? 0) * 1000
    : undefined

const tooManyAttempts = (retryAfterMs: number) =>
  new ProblemError('too-many-attempts', 'Too many failed attempts for this account, or from this address.', {
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  })
