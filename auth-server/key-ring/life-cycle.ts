/**
 * The life cycle of a key: pending (published, not signing) → active (signs) → retired (verifies only) → removed. Pure:
 * computes the next steps of a ring, their times, and the ring after each step. Knows no files.
 */

import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import { type KeyEntry, type KeyRingFile, type KeyUse, keyUses } from './keyring-file.ts'

/** The durations of the states, in milliseconds. */
export interface LifeCycleRules {
  /** `KEY_MAX_AGE_DAYS`: an older active key must be replaced. */
  readonly maxAgeMs: number
  /** The longest life of a token of each use (`ACCESS_TOKEN_TTL`, `KEY_SIGNED_TOKEN_TTL`). */
  readonly longestTokenLifeMs: Readonly<Record<KeyUse, number>>
}

/** How long a key is published before it signs, in milliseconds: every cache of the key document then has it. */
export const publicationMs = 600_000

/**
 * How long a retired key stays after the expiry of its last token, in milliseconds: the clock tolerance, and a minute
 * for a server that notices the next key late and still signs with this one.
 */
const removalToleranceMs = (clockToleranceSeconds + 60) * 1000

/** A step that a ring needs, and the time from which it is due. */
export type Step =
  | { readonly do: 'generate'; readonly use: KeyUse; readonly dueAt: number }
  | { readonly do: 'promote' | 'remove'; readonly use: KeyUse; readonly kid: string; readonly dueAt: number }

/** The state of the ring forbids a step. The message says what to do instead. */
export class StepError extends Error {
  override readonly name = 'StepError'
}

/** What the next steps depend on: a key of a ring, without its file. */
export type KeyState = Pick<KeyEntry, 'kid' | 'use' | 'state' | 'publishedAt' | 'activatedAt' | 'removeAt'>

/** The next steps of every use, the earliest first. */
export function nextSteps(
  { keys }: { readonly keys: readonly KeyState[] },
  rules: Pick<LifeCycleRules, 'maxAgeMs'>,
): Step[] {
  const steps = keyUses.flatMap((use) => {
    const ofUse = keys.filter((key) => key.use === use)
    const removals = ofUse
      .filter(({ state }) => state === 'retired')
      .map(({ kid, removeAt }): Step => ({ do: 'remove', use, kid, dueAt: timeOf(removeAt) }))
    return [...removals, ...succession(ofUse, use, rules)]
  })
  return steps.toSorted((a, b) => a.dueAt - b.dueAt)
}

/** The step towards the next active key: promote the oldest pending key, or generate a new key. */
function succession(ofUse: readonly KeyState[], use: KeyUse, { maxAgeMs }: Pick<LifeCycleRules, 'maxAgeMs'>): Step[] {
  const [pending] = ofUse.filter(({ state }) => state === 'pending').toSorted(byPublication)
  if (pending) return [{ do: 'promote', use, kid: pending.kid, dueAt: timeOf(pending.publishedAt) + publicationMs }]
  const active = ofUse.find(({ state }) => state === 'active')
  return active ? [{ do: 'generate', use, dueAt: timeOf(active.activatedAt) + maxAgeMs }] : []
}

/** The next step of this key; for an active key, that its successor is made. */
export const stepFor = (key: KeyState, steps: readonly Step[]): Step | undefined =>
  steps.find((step) => (step.do === 'generate' ? key.state === 'active' && step.use === key.use : step.kid === key.kid))

const byPublication = (a: KeyState, b: KeyState) => timeOf(a.publishedAt) - timeOf(b.publishedAt)

const timeOf = (time: string | null): number => (time === null ? 0 : Date.parse(time))

/** The clock and the rules of a step. */
export interface StepContext {
  readonly clock: Clock
  readonly rules: LifeCycleRules
}

/** The ring after the promotion: this pending key signs, and its predecessor only verifies. @throws StepError */
export function promote(
  ring: KeyRingFile,
  kid: string,
  { clock, rules, early = false }: StepContext & { readonly early?: boolean },
): KeyRingFile {
  const key = requireKey(ring, kid, ['pending'])
  const dueAt = timeOf(key.publishedAt) + publicationMs
  if (!early && clock.now() < dueAt) {
    throw new StepError(
      `${kid} may sign from ${rfc3339(dueAt)} on, when every cache of the key document knows it; --now does not wait`,
    )
  }
  const now = rfc3339(clock.now())
  const removeAt = removalOf(key.use, { clock, rules })
  return changed(ring, (entry) => {
    if (entry.kid === kid) return { ...entry, state: 'active', activatedAt: now }
    const isPredecessor = entry.use === key.use && entry.state === 'active'
    return isPredecessor ? { ...entry, state: 'retired', retiredAt: now, removeAt } : entry
  })
}

/**
 * The ring after this pending key was retired without signing. The active key cannot retire like this. @throws
 * StepError
 */
export function retire(ring: KeyRingFile, kid: string, { clock, rules }: StepContext): KeyRingFile {
  const key = requireKey(ring, kid, ['pending', 'active'])
  if (key.state === 'active') throw new StepError(`${kid} signs; it retires when another key is promoted`)
  const removeAt = removalOf(key.use, { clock, rules })
  const retiredAt = rfc3339(clock.now())
  return changed(ring, (entry) => (entry.kid === kid ? { ...entry, state: 'retired', retiredAt, removeAt } : entry))
}

/** The ring without this retired key. @throws StepError while a token of it may be valid */
export function remove(ring: KeyRingFile, kid: string, clock: Clock): KeyRingFile {
  const key = requireKey(ring, kid, ['retired'])
  if (clock.now() < timeOf(key.removeAt)) throw new StepError(`tokens of ${kid} may be valid until ${key.removeAt}`)
  return changed(ring, (entry) => (entry.kid === kid ? { ...entry, state: 'removed' } : entry))
}

/**
 * The ring after the revocation of this key, in any state. If the key was active, the oldest pending key of its use
 * signs at once, although some caches may not have it yet; without a pending key, the new key `successor`. @throws
 * StepError
 */
export function revoke(
  ring: KeyRingFile,
  kid: string,
  { clock, reason, successor }: { readonly clock: Clock; readonly reason: string; readonly successor?: KeyEntry },
): KeyRingFile {
  const key = requireKey(ring, kid, ['pending', 'active', 'retired'])
  const now = rfc3339(clock.now())
  const all = successor ? [...ring.keys, successor] : ring.keys
  const heir = key.state === 'active' ? heirOf(all, key) : undefined
  if (key.state === 'active' && !heir) throw new StepError(`${kid} signs, and there is no other key to take over`)
  return changed({ ...ring, keys: all }, (entry) => {
    if (entry.kid === kid) return { ...entry, state: 'removed', revokedAt: now, revokedReason: reason }
    return entry.kid === heir?.kid ? { ...entry, state: 'active', activatedAt: now } : entry
  })
}

/** The pending key that would replace this key. */
export const heirOf = (keys: readonly KeyEntry[], { use }: KeyEntry): KeyEntry | undefined =>
  keys.filter((entry) => entry.use === use && entry.state === 'pending').toSorted(byPublication)[0]

/** The key with this kid. @throws StepError when there is none, or its state is not among `states` */
export function requireKey(ring: KeyRingFile, kid: string, states: readonly KeyEntry['state'][]): KeyEntry {
  const key = ring.keys.find((entry) => entry.kid === kid)
  if (!key) throw new StepError(`there is no key ${kid}; keys status lists them`)
  if (!states.includes(key.state))
    throw new StepError(`${kid} is ${key.state}; this needs a key that is ${states.join(' or ')}`)
  return key
}

const removalOf = (use: KeyUse, { clock, rules }: StepContext): string =>
  rfc3339(clock.now() + rules.longestTokenLifeMs[use] + removalToleranceMs)

const changed = (ring: KeyRingFile, change: (entry: KeyEntry) => KeyEntry): KeyRingFile => ({
  ...ring,
  keys: ring.keys.map(change),
})
