/**
 * The exclusive lock of a folder, among the processes of one machine (one process-id namespace).
 *
 * Every process creates a claim file with a unique name, and then reads the claims of the others. It holds the lock if
 * no other running process has a claim. Otherwise it removes its own claim and tries again. Of two processes, the one
 * with the later claim sees the earlier claim, so that they never both hold the lock. Any process can delete stale
 * claims safely at any time, because names are never reused. A single lock file would not work: deleting a stale one
 * safely would need a lock again.
 */
import { randomInt, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, rfc3339, systemClock } from '../clock.ts'
import { OperatorError } from '../operator-error.ts'
import { isRunning, processStart } from './process-identity.ts'

/** The content of a claim: its process. */
export interface LockHolder {
  readonly pid: number
  /** The time at which it asked for the lock; RFC 3339. */
  readonly startedAt: string
  /** Distinguishes the process from a later one with the same id; empty if the system does not provide it. */
  readonly processStart: string
}

/** The error when another running process has the folder open. */
export class FolderLocked extends OperatorError {
  override readonly name = 'FolderLocked'
  readonly holder: LockHolder

  constructor(folder: string, holder: LockHolder) {
    super(`${folder} is in use by process ${holder.pid} (started ${holder.startedAt})`)
    this.holder = holder
  }
}

const claimPrefix = 'keyhold.lock.'
const draftPrefix = 'keyhold.draft.'
/**
 * A waiting process changes the name of its claim at every attempt. A name that is seen this often belongs to the
 * holder.
 */
const sightingsOfHolder = 10
const longestPauseMs = 40

/**
 * Creates `folder` (mode 0700) if needed and takes its lock. Call it before you open files of the folder. Answers the
 * function that releases the lock. If a process ends without a release, the next process detects that.
 *
 * @throws FolderLocked when a running process holds the lock
 */
export async function lockFolder(folder: string, clock: Clock = systemClock): Promise<() => Promise<void>> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const own: LockHolder = {
    pid: process.pid,
    startedAt: rfc3339(clock.now()),
    processStart: processStart(process.pid) ?? '',
  }
  const sightings = new Map<string, number>()
  for (;;) {
    const claim = writeClaim(folder, own)
    const others = claimsOfOthers(folder, claim)
    if (others.size === 0) return async () => remove(folder, claim)
    remove(folder, claim)
    for (const [name, holder] of others) {
      const times = (sightings.get(name) ?? 0) + 1
      if (times === sightingsOfHolder) throw new FolderLocked(folder, holder)
      sightings.set(name, times)
    }
    await pause(randomInt(1, longestPauseMs))
  }
}

/**
 * Writes a claim under a draft name and renames it, so that other processes see it with its whole content or not at
 * all.
 */
function writeClaim(folder: string, own: LockHolder): string {
  const id = randomUUID()
  try {
    writeFileSync(join(folder, draftPrefix + id), JSON.stringify(own), { mode: 0o600 })
    renameSync(join(folder, draftPrefix + id), join(folder, claimPrefix + id))
  } catch (error) {
    remove(folder, draftPrefix + id)
    throw error
  }
  return claimPrefix + id
}

/** The claims of other running processes, by name. Removes the claims of processes that have ended. */
function claimsOfOthers(folder: string, own: string): Map<string, LockHolder> {
  const claims = new Map<string, LockHolder>()
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(claimPrefix) || name === own) continue
    const content = read(join(folder, name))
    if (content === undefined) continue
    const holder = parseHolder(content)
    if (holder !== undefined && isRunning(holder.pid, holder.processStart)) claims.set(name, holder)
    else remove(folder, name)
  }
  return claims
}

const remove = (folder: string, claim: string): void => rmSync(join(folder, claim), { force: true })

/** The content of a claim; undefined when it has been removed. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The process of a claim; undefined for invalid content, such as the empty file after a power cut. */
function parseHolder(content: string): LockHolder | undefined {
  try {
    const { pid, startedAt, processStart: start } = JSON.parse(content) as Partial<LockHolder>
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return undefined
    return { pid, startedAt: String(startedAt), processStart: String(start ?? '') }
  } catch {
    return undefined
  }
}
