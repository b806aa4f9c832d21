/**
 * Cache of credentials that the auth server has checked (API keys, Digest secrets, sessions, right passwords), in
 * memory only. An entry is valid while the version of its user's principal record has not grown: every change of a
 * credential is a change of its principal, so the change feed keeps the entries fresh, too. Versions cannot be compared
 * across instances: when the auth database is replaced, for example by an older one from a backup or by a promoted
 * standby, the cache is cleared.
 */
import { createMemo } from '../../platform/cache/memo.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Traced } from '../../platform/trace-context.ts'
import type { PrincipalRecord } from '../principal/record.ts'
import type { Principals } from './authenticate.ts'

/** An entry: it belongs to a user. */
export interface OfUser {
  readonly username: string
  /** Immutable. Another user with the same name, or the same name in another instance, has another id. */
  readonly userId: string
  /** The version of the user's principal record in the same snapshot of the database, or an older one. */
  readonly version: number
}

/** Asks for the credential of a key. */
type Load<Value> = () => Promise<Value | undefined>

interface CredentialCacheOptions {
  readonly principals: Principals
  readonly clock: Clock
  /** The largest number of entries, and of bytes in them. */
  readonly maxEntries: number
  readonly maxBytes: number
  /** The longest time that an entry is kept, in milliseconds; without it, as long as there is room. */
  readonly ttlMs?: number
  /** How long a key without a value is not loaded again, in milliseconds; 1 000 by default, 0 to load it each time. */
  readonly unknownForMs?: number
}

/** An empty cache of credentials by key. Concurrent callers of one key share a load. */
export function createCredentialCache<Value extends OfUser>(options: CredentialCacheOptions) {
  const { principals } = options
  const memo = createMemo<Value>({ unknownForMs: 1_000, ...options })
  let instances = 0
  principals.onOtherInstance?.(() => {
    instances += 1
    memo.clear()
  })

  /** True for a value that is current and was loaded during the same instance. */
  const isGood = async (value: Value, then: number, traceContext: Traced | undefined): Promise<boolean> =>
    (await isCredentialCurrent(value, principals, traceContext)) && then === instances

  /** The cached value, if it is known at once that it is valid. */
  function peek(key: string, traceContext?: Traced): Value | undefined {
    const value = memo.peek(key)
    const record = value && principals.get(value.username, traceContext)
    // The record is being loaded. A caller that goes on to `get` shares that load.
    if (record instanceof Promise) void record.catch(() => undefined)
    else if (value && isOf(value, record)) return value
    return undefined
  }

  /** The cached value, else that from `load`; undefined when it finds nothing. @throws errors of `load`; Unavailable */
  async function get(key: string, load: Load<Value>, traceContext?: Traced): Promise<Value | undefined> {
    const value = memo.peek(key)
    if (value && (await isGood(value, instances, traceContext))) return value
    if (value) memo.replace(key, value, undefined)
    else if (memo.isUnknown(key)) return undefined
    return renew(key, load, traceContext)
  }

  /** Loads and caches the value, even if one is cached. @throws errors of `load`; Unavailable */
  async function renew(key: string, load: Load<Value>, traceContext?: Traced): Promise<Value | undefined> {
    const then = instances
    const loaded = await memo.load(key, load)
    if (!loaded || (await isGood(loaded, then, traceContext))) return loaded
    // The load had begun before the record, or the whole database, changed.
    memo.replace(key, loaded, undefined)
    return memo.load(key, load)
  }

  return { peek, get, renew, replace: memo.replace }
}

/**
 * True while the version of the user's record has not grown past the value's. For a deleted or disabled user the value
 * stays current: the record itself refuses that user.
 */
export const isCredentialCurrent = async (
  value: OfUser,
  principals: Principals,
  traceContext?: Traced,
): Promise<boolean> => isOf(value, await principals.get(value.username, traceContext))

const isOf = ({ userId, version }: OfUser, record: PrincipalRecord | undefined): boolean =>
  record === undefined || (record.userId === userId && record.version <= version)
