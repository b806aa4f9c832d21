/** What a change gave and took, as its audit entry tells it (docs/contract/operators.md#audit-log). */
import * as z from 'zod'

/**
 * One member that changed: what a list has now and had not before, and what it had and has no more; of another member
 * the value now and the one before, as text. Never a secret, and of personal data no value at all. The MAC of an entry
 * covers the members in this order.
 */
export interface EntryChange {
  readonly added: readonly string[]
  readonly member: string
  readonly removed: readonly string[]
}

/** The schema of `EntryChange`. */
export const entryChangeSchema = z.strictObject({
  added: z.array(z.string()),
  member: z.string(),
  removed: z.array(z.string()),
})

/** The part of an entry that says who asked, and from where. */
export interface EntryOrigin {
  /** User name; null for an unauthenticated caller. A text that has not the form of a name is stored as null. */
  readonly actor: string | null
  /** The name of the application by which the actor acts; left out or null for the actor's own credentials. */
  readonly client?: string | null | undefined
  readonly scheme: string | null
  readonly address: string | null
  readonly requestId: string | null
}

/** The part of an entry that says what changed. */
export interface ChangeEntry {
  readonly action: string
  readonly target?: string | null | undefined
  /** The user name, where the origin has no actor. */
  readonly actor?: string | undefined
  /** `succeeded` when left out. */
  readonly outcome?: string | undefined
  /** The scheme, where the work itself authenticates its caller. */
  readonly scheme?: string | undefined
  readonly changes?: readonly EntryChange[] | undefined
}

/** A value that an entry may tell. */
type AuditedValue = string | number | boolean | null | undefined | readonly string[]

/** The members that differ. What is made has no members before, and what is deleted none after. */
export function differenceOf(
  before: Readonly<Record<string, AuditedValue>>,
  after: Readonly<Record<string, AuditedValue>>,
): z.infer<typeof entryChangeSchema>[] {
  return Object.keys({ ...before, ...after }).flatMap((member) => {
    const [was, is] = [textsOf(before[member]), textsOf(after[member])]
    const [added, removed] = [beyond(was, is), beyond(is, was)]
    return added.length + removed.length === 0 ? [] : [{ added, member, removed }]
  })
}

function textsOf(value: AuditedValue): readonly string[] {
  if (value === null || value === undefined || value === '') return []
  return typeof value === 'object' ? value : [String(value)]
}

function beyond(first: readonly string[], second: readonly string[]): string[] {
  const known = new Set(first)
  return second.filter((text) => !known.has(text))
}

/** In words: `rights +deal.hold -deal.read, enabled true → false, email changed`. */
export const changesInWords = (changes: readonly EntryChange[] = []): string =>
  changes.map(({ member, added, removed }) => `${member} ${inWords(added, removed)}`).join(', ')

function inWords(added: readonly string[], removed: readonly string[]): string {
  if (added.length === 1 && removed.length === 1) return `${removed[0]} → ${added[0]}`
  return [...added.map((text) => `+${text}`), ...removed.map((text) => `-${text}`)].join(' ') || 'changed'
}
