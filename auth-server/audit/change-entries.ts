/**
 * The entries of changes. Whoever changes something stores the entry of the change in the same transaction: so there is
 * no change without its entry, and no entry without its change. What a request is about, and who asks, is known above;
 * the change itself happens some functions below. In between the work under way carries it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { ChangeEntry, EntryChange } from '../../shared/protocol/entry-changes.ts'
import { auditJournal } from '../store/audit-tables.ts'
import type { Audit, AuditEvent, Origin } from './audit.ts'
import { type Pending, pendingOf } from './journal.ts'

interface Work {
  readonly origin: Origin
  readonly entry: ChangeEntry | undefined
  readonly clock: Clock
  /** True when a change may have stored entries. */
  hasChanged: boolean
  /** True when the entry of the work is stored. */
  isStored: boolean
}

const works = new AsyncLocalStorage<Work>()
let underWay = 0
/** The work that begins just now, and has no context. */
let beginning: Work | undefined

/** Runs in the context of a work. Contexts cost time at every `await`, so there are none while no work is under way. */
async function runIn<Result>(work: Work, run: () => Promise<Result>): Promise<Result> {
  underWay += 1
  try {
    return await beginIn(undefined, () => works.run(work, run))
  } finally {
    underWay -= 1
    if (underWay === 0) works.disable()
  }
}

/** Runs the beginning of a work, up to its first `await`, so that `entriesUnderWay` finds it there, or another one. */
function beginIn<Result>(work: Work | undefined, run: () => Promise<Result>): Promise<Result> {
  const before = beginning
  beginning = work
  try {
    return run()
  } finally {
    beginning = before
  }
}

/** The parts of the log that work uses. */
export interface DuringPorts extends Pick<Audit, 'check' | 'record' | 'recordRefusal'> {
  readonly clock: Clock
  /** Called after a change that may have stored entries. */
  stored(): void
}

/** Creates `Audit.beginning`. */
export const createBeginning = ({ clock, stored }: Pick<DuringPorts, 'clock' | 'stored'>): Audit['beginning'] => {
  return async (origin, run) => {
    const work: Work = { origin, entry: undefined, clock, hasChanged: false, isStored: false }
    try {
      return await beginIn(work, run)
    } finally {
      if (work.hasChanged) stored()
    }
  }
}

/** Creates `Audit.during`. */
export const createDuring = ({ clock, stored, ...audit }: DuringPorts): Audit['during'] => {
  return async (origin, entry, run) => {
    if (entry) audit.check()
    const work: Work = { origin, entry, clock, hasChanged: false, isStored: false }
    try {
      const result = await runIn(work, run)
      if (entry && !work.isStored) await audit.record(eventOf(origin, entry))
      return result
    } catch (error) {
      if (entry && error instanceof ProblemError) {
        await audit.recordRefusal(eventOf(origin, { ...entry, outcome: error.code }))
      }
      throw error
    } finally {
      if (work.hasChanged) stored()
    }
  }
}

/** The event of an entry. */
export const eventOf = (
  origin: Origin,
  { action, target, actor, outcome, scheme, changes }: ChangeEntry,
): AuditEvent => ({
  ...origin,
  scheme: origin.scheme ?? scheme ?? null,
  actor: origin.actor ?? actor ?? null,
  action,
  target: target ?? null,
  outcome: outcome ?? 'succeeded',
  changes,
})

/** The entries of one change. */
export interface EntriesOfChange {
  readonly entries: readonly Pending[]
  /** Call it when the change is stored. */
  stored(): void
}

/** The entries of a change: these, or else the one of the work, with what changed. Its action stands for that one. */
export type EntriesOf = (own?: readonly ChangeEntry[], changes?: readonly EntryChange[]) => EntriesOfChange

const none: EntriesOfChange = { entries: [], stored: () => undefined }

/**
 * The entries of changes of the work under way. Call it before the first `await`: what a driver of a database calls
 * back may be out of the context. Without a work, a change has no entries.
 */
export function entriesUnderWay(): EntriesOf {
  const work = beginning ?? (underWay > 0 ? works.getStore() : undefined)
  if (!work) return () => none
  return (own, changes) => {
    const { origin, entry, clock, isStored } = work
    const all = own ?? (entry && !isStored ? [{ ...entry, changes }] : [])
    if (all.length === 0) return none
    work.hasChanged = true
    const at = rfc3339(clock.now())
    return {
      entries: all.map((one) => pendingOf(eventOf(origin, one), at)),
      stored: () => {
        work.isStored ||= all.some(({ action }) => action === entry?.action)
      },
    }
  }
}

/** Stores the entries of a change in its transaction. */
export async function insertEntries(transaction: Drizzle, { entries }: EntriesOfChange): Promise<void> {
  if (entries.length > 0) await transaction.insert(auditJournal).values(entries.map((entry) => ({ entry })))
}
