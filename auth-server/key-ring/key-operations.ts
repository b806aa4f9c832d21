/**
 * What was done to the keys of a ring. Each key goes through each operation at most once, so kid and operation identify
 * it, on every server and after every restart. Pure.
 */
import type { KeyEntry } from './keyring-file.ts'

/** The operations on a key. */
export const keyOperations = ['generate', 'promote', 'retire', 'remove', 'revoke'] as const

/** One of the operations. */
export type KeyOperationName = (typeof keyOperations)[number]

/** One operation that a ring shows. */
export interface KeyOperation {
  readonly operation: KeyOperationName
  readonly kid: string
  readonly use: KeyEntry['use']
  /** RFC 3339; null where the ring does not tell the time. */
  readonly at: string | null
  /** What the operator gave as the reason; null when there is none. */
  readonly reason: string | null
}

/** Every operation that these keys went through, the earliest first; removals come last. */
export function operationsOf(keys: readonly Omit<KeyEntry, 'file'>[]): KeyOperation[] {
  const found = keys.flatMap((key): KeyOperation[] => {
    const of = (operation: KeyOperationName, at: string | null, reason: string | null = null) => ({
      operation,
      kid: key.kid,
      use: key.use,
      at,
      reason,
    })
    return [
      of('generate', key.createdAt),
      ...(key.activatedAt === null ? [] : [of('promote', key.activatedAt)]),
      ...(key.retiredAt === null ? [] : [of('retire', key.retiredAt)]),
      ...(key.revokedAt === null ? [] : [of('revoke', key.revokedAt, key.revokedReason)]),
      ...(key.state === 'removed' && key.revokedAt === null ? [of('remove', null)] : []),
    ]
  })
  return found.toSorted((a, b) => timeOf(a) - timeOf(b))
}

const timeOf = ({ at }: KeyOperation): number => (at === null ? Number.MAX_SAFE_INTEGER : Date.parse(at))

/** The operations that lead from one ring to another. */
export function operationsBetween(before: readonly KeyEntry[], after: readonly KeyEntry[]): KeyOperation[] {
  const done = new Set(operationsOf(before).map(operationNameOf))
  return operationsOf(after).filter((operation) => !done.has(operationNameOf(operation)))
}

/** Identifies an operation. */
export const operationNameOf = ({ operation, kid }: Pick<KeyOperation, 'operation' | 'kid'>): string =>
  `${operation} ${kid}`
