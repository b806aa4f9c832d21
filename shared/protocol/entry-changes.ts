/** What a change gave and took, as its audit entry tells it (docs/contract/operators.md#audit-log). */
import * as z from 'zod'

/**
 * One member that changed: what a list has now and had not before, and what it had and has no more; of another member
 * the value now and the one before, as text. Never a secret. The MAC of an entry covers the members in this order.
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

/** In words: `rights +deal.hold -deal.read, enabled true → false`. */
export const changesInWords = (changes: readonly EntryChange[] = []): string =>
  changes.map(({ member, added, removed }) => `${member} ${inWords(added, removed)}`).join(', ')

const inWords = (added: readonly string[], removed: readonly string[]): string =>
  added.length === 1 && removed.length === 1
    ? `${removed[0]} → ${added[0]}`
    : [...added.map((text) => `+${text}`), ...removed.map((text) => `-${text}`)].join(' ')
