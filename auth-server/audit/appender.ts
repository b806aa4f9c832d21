/** Appends entries to the audit log: to the chain, or to the journal while other servers write too. */
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import type { AuditHead } from './audit.ts'
import { appendAfter, createLink, headOf, insertLinked, lockHead, readHead } from './chain-end.ts'
import { type Chainable, chainJournal, createJournal, hasJournal, type Pending } from './journal.ts'

/** The systems that an appender uses. */
export interface AppenderPorts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  readonly secretsKeys: SecretsKeys
}

/** Appends the entries of one process. */
export interface Appender {
  /** Stores entries. Call it for one batch after the other. @throws Unavailable */
  append(entries: readonly Pending[]): Promise<void>
  /** Resolves when all entries have their numbers that were stored before the call. @throws Unavailable */
  settle(): Promise<void>
}

const damagedJournal =
  'The journal of the audit log is not what the servers wrote: an entry was changed or removed. It stays as it is.'

/** After another writer was met, entries go to the journal for so long, in milliseconds. */
const crowdedForMs = 1_000

/** How long entries wait in the journal before this process chains them, in milliseconds. */
const chainAfterMs = 50

/**
 * Appends entries to the chain. While this process alone writes, one statement is enough. When other processes write
 * too, entries go to the journal, and are chained some moments later. In both cases the numbers have no gaps, and the
 * chain has no branches.
 */
export function createAppender({ database, clock, log, secretsKeys }: AppenderPorts): Appender {
  const [secretsKey] = secretsKeys
  const link = createLink(secretsKey)
  const journal = createJournal({ database, secretsKeys })
  let left: AuditHead | undefined
  let crowdedUntil = Number.NEGATIVE_INFINITY
  let isPlanned = false
  let isDamageTold = false

  /** Appends behind the head, if it still is the head and nothing waits in the journal. */
  const appendBehind = async (head: AuditHead, entries: readonly Pending[]): Promise<boolean> => {
    left = undefined
    const linked = link(entries, head)
    if (!(await appendAfter(database, head, linked))) return false
    left = headOf(linked)
    return true
  }
  const chainOnce = async (): Promise<boolean> => {
    const append = async (transaction: Drizzle, entries: readonly Chainable[]) =>
      insertLinked(transaction, link(entries, await lockHead(transaction)))
    const chained = await chainJournal(database, { secretsKeys, lockHead, append })
    if (chained.head) left = chained.head
    if (chained.isDamaged && !isDamageTold) log.error(damagedJournal)
    isDamageTold = chained.isDamaged
    return chained.isFull && chained.count > 0
  }
  const settle = async (): Promise<void> => {
    if (!(await hasJournal(database))) return
    while (await chainOnce());
  }
  const chainLater = (): void => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      // The next entry, read or minute tries again.
      settle().catch((err: unknown) => log.warn({ err }, 'Audit entries wait to be chained'))
    }, chainAfterMs).unref()
  }
  return {
    settle,
    append: async (entries: readonly Pending[]): Promise<void> => {
      if (clock.monotonic() >= crowdedUntil) {
        if (left && (await appendBehind(left, entries))) return
        if (await appendBehind(await readHead(database), entries)) return
        crowdedUntil = clock.monotonic() + crowdedForMs
      }
      await journal.add(entries)
      chainLater()
    },
  }
}
