/** Under which keys an attempt is counted. */
import { createHmac } from 'node:crypto'
import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { AttemptLimit, LimitedKey } from '../../platform/cache/cache.ts'
import { deriveKey } from '../../platform/crypto/derive-key.ts'
import { clientPrefix, sitePrefix } from '../../platform/http/client-prefix.ts'
import { foldUsername, isUsername } from '../principal/record.ts'
import type { Attempt } from './login-throttle.ts'

/** So many failures are allowed. */
export interface GuessLimits {
  /** LOGIN_FAILURES_PER_ACCOUNT: for one account from one client prefix. */
  readonly perAccount: AttemptLimit
  /** LOGIN_FAILURES_PER_ADDRESS: from one client prefix. */
  readonly perAddress: AttemptLimit
  /** LOGIN_FAILURES_PER_ACCOUNT_EVERYWHERE: for one account from all prefixes but those that it has logged in from. */
  readonly perAccountEverywhere: AttemptLimit
}

/** What is counted for an account and a client. */
export interface AttemptKeys {
  /** The client prefix. */
  readonly prefix: string
  /** The account from this prefix first, then the prefix whatever the account. */
  readonly own: readonly LimitedKey[]
  /** Those, and whatever counts several prefixes together: the site of an IPv6 address, and the account everywhere. */
  readonly all: readonly LimitedKey[]
  /** Under what it is remembered that the account has logged in from this prefix; none where no account is named. */
  readonly successes: readonly string[]
}

/** The keys of so many accounts and addresses are remembered. */
const remembered = { maxEntries: 10_000, maxBytes: 32_000_000 }

/** A site may fail so many times as often as each of its prefixes. */
const prefixesPerSite = 8

/**
 * Keys under these secrets (SERVICE_SECRET): names and addresses are not readable in the cache, and each installation counts for itself.
 * Counted is under all of them, so that nothing is forgotten while they are rotated.
 */
export function createAttemptKeys(limits: GuessLimits, secrets: readonly string[]): (attempt: Attempt) => AttemptKeys {
  const { perAccount, perAddress } = limits
  // One prefix by itself never meets the limit for all of them first.
  const everywhere = {
    ...limits.perAccountEverywhere,
    count: Math.max(limits.perAccountEverywhere.count, perAccount.count),
  }
  const hmacKeys = secrets.map((secret) => deriveKey(secret, 'limits on guessing'))
  const names = (kind: string, parts: readonly string[]): string[] =>
    hmacKeys.map((hmacKey) => {
      const name = createHmac('sha256', hmacKey).update(JSON.stringify(parts)).digest('base64url')
      return `{keyhold}:${kind}:${name}`
    })
  const limited = (limit: AttemptLimit, ...parts: string[]): LimitedKey[] =>
    names('attempts', parts).map((key) => ({ key, limit }))
  const make = (address: string, account: string | undefined): AttemptKeys => {
    const [prefix, site] = [clientPrefix(address), sitePrefix(address)]
    const ofAccount = (limit: AttemptLimit, ...where: string[]) =>
      account === undefined ? [] : limited(limit, 'account', account, ...where)
    const own = [...ofAccount(perAccount, prefix), ...limited(perAddress, 'address', prefix)]
    const ofSite = [...ofAccount(severalTimes(perAccount), site), ...limited(severalTimes(perAddress), 'address', site)]
    const all = [...own, ...(site === prefix ? [] : ofSite), ...ofAccount(everywhere)]
    return { prefix, own, all, successes: account === undefined ? [] : names('logged-in', [account, prefix]) }
  }
  const made = createBoundedCache<AttemptKeys>(remembered)
  return ({ account, countedAs = account, address }) => {
    const named = countedAs !== undefined && isUsername(countedAs) ? foldUsername(countedAs) : undefined
    const name = named === undefined ? address : `${address} ${named}`
    const known = made.get(name)
    if (known) return known
    const keys = make(address, named)
    made.set(name, keys)
    return keys
  }
}

const severalTimes = ({ count, seconds }: AttemptLimit): AttemptLimit => ({ count: prefixesPerSite * count, seconds })
