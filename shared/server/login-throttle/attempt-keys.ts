/** Under which keys an attempt is counted. */
import { createHmac } from 'node:crypto'
import { type AttemptLimit, cacheKey, type LimitedKey } from '../../platform/cache/cache.ts'
import { createMemo } from '../../platform/cache/memo.ts'
import { deriveKey } from '../../platform/crypto/derive-key.ts'
import { clientPrefix, sitePrefix } from '../../platform/http/client-prefix.ts'
import type { Attempt } from '../../protocol/authentication/login-throttle.ts'
import { foldUsername, isUsername } from '../../protocol/principal/record.ts'

/** The allowed numbers of failures. */
export interface LoginThrottleLimits {
  /** LOGIN_FAILURES_PER_ACCOUNT: for one account from one client prefix. */
  readonly perAccount: AttemptLimit
  /** LOGIN_FAILURES_PER_ADDRESS: from one client prefix. */
  readonly perAddress: AttemptLimit
  /**
   * LOGIN_FAILURES_PER_ACCOUNT_EVERYWHERE: for one account from all prefixes, except those that it has logged in from.
   */
  readonly perAccountEverywhere: AttemptLimit
}

/** The keys for an account and a client. */
export interface AttemptKeys {
  /** The client prefix. */
  readonly prefix: string
  /** First the account from this prefix, then the prefix with any account. */
  readonly own: readonly LimitedKey[]
  /**
   * These, and the keys that count several prefixes together: the site of an IPv6 address, the account everywhere, and
   * the service that tells of the attempt.
   */
  readonly all: readonly LimitedKey[]
  /** Those of `all` that count the account. */
  readonly ofAccount: readonly LimitedKey[]
  /** The keys of logins of the account from this prefix; none where no account is named. */
  readonly successes: readonly string[]
  /** The keys of logins by which the prefix is known: those, and for a service those that the servers saw. */
  readonly knownBy: readonly string[]
}

/** Bounds of the memo of keys. */
const remembered = { maxEntries: 10_000, maxBytes: 32_000_000 }

/** A site and a service may each have this many times the failures of one prefix. */
const prefixesOfMany = 8

/**
 * Keys under these secrets (SERVICE_SECRET): names and addresses are not readable in the cache, and each instance
 * counts for itself. Attempts count under all secrets, so that a rotation of secrets forgets nothing. Those of an
 * account count under its throttle generation: a new password and an unlock start over.
 */
export function createAttemptKeys(
  limits: LoginThrottleLimits,
  secrets: readonly string[],
): (attempt: Attempt, generation?: number) => AttemptKeys {
  const { perAccount, perAddress } = limits
  // A single prefix must not reach the limit of all prefixes before its own.
  const everywhere = {
    ...limits.perAccountEverywhere,
    count: Math.max(limits.perAccountEverywhere.count, perAccount.count),
  }
  const hmacKeys = secrets.map((secret) => deriveKey(secret, 'limits on guessing'))
  const names = (parts: readonly string[]): string[] =>
    hmacKeys.map((hmacKey) => createHmac('sha256', hmacKey).update(JSON.stringify(parts)).digest('base64url'))
  const limited = (limit: AttemptLimit, ...parts: string[]): LimitedKey[] =>
    names(parts).map((name) => ({ key: cacheKey(`attempts:${name}`), limit }))
  const loggedIn = (...parts: string[]): string[] => names(parts).map((name) => cacheKey(`logged-in:${name}`))
  function make(name: string): AttemptKeys {
    const [address = '', account = '', secret = '', service = '', generation = ''] = name.split(' ')
    const [prefix, site] = [clientPrefix(address), sitePrefix(address)]
    const teller = service === '' ? [] : ['service', service]
    const under = generation === '' ? [] : ['generation', generation]
    const ofAccount = (limit: AttemptLimit, ...where: string[]) =>
      account === '' ? [] : limited(limit, ...teller, secret, account, ...where, ...under)
    const within = (place: string, limits: Pick<LoginThrottleLimits, 'perAccount' | 'perAddress'>) => ({
      account: ofAccount(limits.perAccount, place),
      address: limited(limits.perAddress, ...teller, 'address', place),
    })
    const atPrefix = within(prefix, limits)
    const many = { perAccount: severalTimes(perAccount), perAddress: severalTimes(perAddress) }
    const atSite = site === prefix ? { account: [], address: [] } : within(site, many)
    const ofService = service === '' ? [] : limited(many.perAddress, ...teller)
    const own = [...atPrefix.account, ...atPrefix.address]
    const counted = [...atPrefix.account, ...atSite.account, ...ofAccount(everywhere)]
    const successes = account === '' ? [] : loggedIn(...teller, account, prefix)
    const knownBy = service === '' || account === '' ? successes : [...successes, ...loggedIn(account, prefix)]
    const all = [...counted, ...atPrefix.address, ...atSite.address, ...ofService]
    return { prefix, own, all, ofAccount: counted, successes, knownBy }
  }
  const known = createMemo<AttemptKeys>(remembered)
  function keysOf(
    { account, countedAs = account, address, secret, service }: Attempt,
    generation?: number,
  ): AttemptKeys {
    const named = countedAs !== undefined && isUsername(countedAs) ? foldUsername(countedAs) : undefined
    // None of them has a space.
    return known.get([address, named, secret ?? 'account', service, generation].join(' '), make)
  }
  return keysOf
}

const severalTimes = ({ count, seconds }: AttemptLimit): AttemptLimit => ({ count: prefixesOfMany * count, seconds })
