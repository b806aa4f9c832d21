/**
 * The exclusive lock of a data folder, among the processes of one machine (one process-id namespace).
 *
 * Each process that wants the folder first puts down a claim, a file with a name never used again, and then looks for the claims
 * of others. It has the lock when it sees no other claim of a live process; else it withdraws its own and tries again. Of two
 * processes the one whose claim came later sees the earlier one, so never do both have the lock. What a killed process or a
 * reboot leaves behind may be removed by anybody at any time, since nobody can put down a claim of the same name: that is why there
 * is no one lock file, whose removal would need a lock of its own, and that lock a way to survive its holder in turn.
 */
import { randomInt, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, rfc3339, systemClock } from '../clock.ts'
import { OperatorError } from '../operator-error.ts'
import { isRunning, processStart } from './process-identity.ts'

/** What a claim says of its process. */
export interface LockHolder {
  readonly pid: number
  /** When it asked for the lock; RFC 3339. */
  readonly startedAt: string
  /** Tells the process from a later one with the same id; empty where the system does not say. */
  readonly processStart: string
}

/** Another process that is alive has the data folder open. */
export class DataFolderLocked extends OperatorError {
  override readonly name = 'DataFolderLocked'
  readonly holder: LockHolder

  constructor(folder: string, holder: LockHolder) {
    super(`${folder} is in use by process ${holder.pid} (started ${holder.startedAt})`)
    this.holder = holder
  }
}

const CLAIM = 'keyhold.lock.'
const DRAFT = 'keyhold.draft.'
/** Who tries changes the name of its claim each time. A name seen so often belongs to the holder. */
const SIGHTINGS_OF_A_HOLDER = 10
const LONGEST_PAUSE_MS = 40

/**
 * Creates `folder` (mode 0700) if need be and takes its lock; call it before anything in there is opened. Resolves to the
 * function that lets go. A process that ends without calling that is recognised as gone by the next one.
 *
 * @throws DataFolderLocked when a live process holds it
 */
export const lockDataFolder = async (folder: string, clock: Clock = systemClock): Promise<() => Promise<void>> => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const own: LockHolder = {
    pid: process.pid,
    startedAt: rfc3339(clock.now()),
    processStart: processStart(process.pid) ?? '',
  }
  const sightings = new Map<string, number>()
  for (;;) {
    const claim = putDown(folder, own)
    const others = claimsOfOthers(folder, claim)
    if (others.size === 0) return async () => remove(folder, claim)
    remove(folder, claim)
    for (const [name, holder] of others) {
      const times = (sightings.get(name) ?? 0) + 1
      if (times === SIGHTINGS_OF_A_HOLDER) throw new DataFolderLocked(folder, holder)
      sightings.set(name, times)
    }
    await pause(randomInt(1, LONGEST_PAUSE_MS))
  }
}

/** The claim is there with all its content or not at all. */
const putDown = (folder: string, own: LockHolder): string => {
  const id = randomUUID()
  try {
    writeFileSync(join(folder, DRAFT + id), JSON.stringify(own), { mode: 0o600 })
    renameSync(join(folder, DRAFT + id), join(folder, CLAIM + id))
  } catch (error) {
    remove(folder, DRAFT + id)
    throw error
  }
  return CLAIM + id
}

/** The claims of live processes, by name; those of processes that are gone are removed. */
const claimsOfOthers = (folder: string, own: string): Map<string, LockHolder> => {
  const claims = new Map<string, LockHolder>()
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(CLAIM) || name === own) continue
    const content = read(join(folder, name))
    if (content === undefined) continue
    const holder = parseHolder(content)
    if (holder !== undefined && isRunning(holder.pid, holder.processStart)) claims.set(name, holder)
    else remove(folder, name)
  }
  return claims
}

const remove = (folder: string, claim: string): void => rmSync(join(folder, claim), { force: true })

/** Undefined when it was withdrawn meanwhile. */
const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Undefined for what no live process has put down, such as the empty file that a power cut leaves. */
const parseHolder = (content: string): LockHolder | undefined => {
  try {
    const { pid, startedAt, processStart: start } = JSON.parse(content) as Partial<LockHolder>
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return undefined
    return { pid, startedAt: String(startedAt), processStart: String(start ?? '') }
  } catch {
    return undefined
  }
}
