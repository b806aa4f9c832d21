/**
 * The operations of operators on the key ring in `KEYS_DIR`, one at a time. Each step ends with one replacement of
 * `keyring.json`, and every running server follows within a second. A step that fails changes nothing.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { withFilesOf } from '../../shared/platform/operator-error.ts'
import { lockFolder } from '../../shared/platform/process/folder-lock.ts'
import { type NewKeyOptions, newKeyPair, replaceKeyRing, writePrivately } from './key-files.ts'
import { operationsBetween } from './key-operations.ts'
import { type KeyEntry, KeyRingError, type KeyRingFile, type KeyUse, parseKeyRingFile } from './keyring-file.ts'
import * as lifeCycle from './life-cycle.ts'
import { type KeyRingPlace, loadKeys, readKeyRingText } from './load-key-ring.ts'
import { addNotes } from './operator-notes.ts'

/** The folder of the ring, the rules of its life cycle, and the kind of new keys. */
export interface KeyRingOperation extends KeyRingPlace, NewKeyOptions {
  readonly rules: lifeCycle.LifeCycleRules
  /** The name of the operator, for the audit log; undefined when it is not known. */
  readonly operator?: string | undefined
  /** Why the operator does it, for the audit log. */
  readonly reason?: string | undefined
}

/** Reads the ring in the folder, and opens and checks every key. @throws KeyRingError */
export async function readKeyRing(place: KeyRingPlace): Promise<KeyRingFile> {
  const text = await readKeyRingText(place.directory)
  await loadKeys(text, place)
  return parseKeyRingFile(text, place.directory)
}

/** Adds a new key, which is published and does not sign yet. @throws KeyRingError, FolderLocked, OperatorError */
export const generateKey = (operation: KeyRingOperation, use: KeyUse): Promise<KeyEntry> =>
  alone(operation, (ring) => addKey(operation, ring, use))

/** Lets a pending key sign. @throws StepError, KeyRingError, FolderLocked */
export const promoteKey = (operation: KeyRingOperation, kid: string, options: { early: boolean }): Promise<void> =>
  alone(operation, (ring) => replace(operation, ring, lifeCycle.promote(ring, kid, { ...operation, ...options })))

/** Retires a pending key. @throws StepError, KeyRingError, FolderLocked */
export const retireKey = (operation: KeyRingOperation, kid: string): Promise<void> =>
  alone(operation, (ring) => replace(operation, ring, lifeCycle.retire(ring, kid, operation)))

/**
 * Revokes a key in an emergency: no token of this key is accepted, and its file is deleted. Returns the key that now
 * signs, if the revoked key was active. @throws StepError, KeyRingError, FolderLocked
 */
export const revokeKey = (operation: KeyRingOperation, kid: string, reason: string): Promise<KeyEntry | undefined> =>
  alone(operation, async (ring) => {
    const key = lifeCycle.requireKey(ring, kid, ['pending', 'active', 'retired'])
    const needsSuccessor = key.state === 'active' && !lifeCycle.heirOf(ring.keys, key)
    const pair = needsSuccessor ? await newKeyPair(key.use, operation) : undefined
    if (pair) await writePrivately(join(operation.directory, pair.entry.file), pair.pem)
    const { clock } = operation
    const next = lifeCycle.revoke(ring, kid, { clock, reason, ...(pair && { successor: pair.entry }) })
    await replace(operation, ring, next)
    return key.state === 'active'
      ? next.keys.find(({ use, state }) => use === key.use && state === 'active')
      : undefined
  })

/** Does every step that is due. Returns these steps and the next ones. A second call at once does nothing. */
export const rotateKeys = (
  operation: KeyRingOperation,
): Promise<{ readonly done: readonly lifeCycle.Step[]; readonly next: readonly lifeCycle.Step[] }> =>
  alone(operation, async (before) => {
    let ring = before
    const done: lifeCycle.Step[] = []
    for (const step of lifeCycle.nextSteps(ring, operation.rules)) {
      if (step.dueAt > operation.clock.now()) continue
      if (step.do === 'generate') await addKey(operation, ring, step.use)
      else await replace(operation, ring, takeStep(operation, ring, step))
      done.push(step)
      ring = await readKeyRing(operation)
    }
    return { done, next: lifeCycle.nextSteps(ring, operation.rules) }
  })

const takeStep = (operation: KeyRingOperation, ring: KeyRingFile, step: { do: 'promote' | 'remove'; kid: string }) =>
  step.do === 'promote'
    ? lifeCycle.promote(ring, step.kid, operation)
    : lifeCycle.remove(ring, step.kid, operation.clock)

async function addKey(operation: KeyRingOperation, ring: KeyRingFile, use: KeyUse): Promise<KeyEntry> {
  const { entry, pem } = await newKeyPair(use, operation)
  await writePrivately(join(operation.directory, entry.file), pem)
  await replace(operation, ring, { ...ring, keys: [...ring.keys, entry] })
  return entry
}

/** Runs one operation at a time, and only on a ring that can be used. */
const alone = <Result>(operation: KeyRingOperation, work: (ring: KeyRingFile) => Promise<Result>): Promise<Result> =>
  withFilesOf('KEYS_DIR', operation.directory, async () => {
    await readKeyRingText(operation.directory)
    const unlock = await lockFolder(operation.directory, operation.clock)
    try {
      return await work(await readKeyRing(operation))
    } finally {
      await unlock()
    }
  })

/**
 * Detects changes by a process that the lock does not stop, as in another container with this folder. @throws
 * KeyRingError
 */
async function requireUnchanged({ directory }: KeyRingPlace, ring: KeyRingFile): Promise<void> {
  const now = parseKeyRingFile(await readKeyRingText(directory), directory)
  if (JSON.stringify(now) === JSON.stringify(ring)) return
  throw new KeyRingError(`${directory} was changed by another process just now; look at keys status and try again`)
}

/** Notes who does this and why, before it is done. */
async function note(
  { directory, clock, operator, reason }: KeyRingOperation,
  before: KeyRingFile,
  next: KeyRingFile,
): Promise<void> {
  const by = { at: rfc3339(clock.now()), operator: operator ?? null }
  const notes = operationsBetween(before.keys, next.keys).map(({ operation, kid, reason: ofRing }) => ({
    operation,
    kid,
    ...by,
    reason: reason ?? ofRing,
  }))
  await addNotes(directory, notes)
}

async function replace(operation: KeyRingOperation, before: KeyRingFile, next: KeyRingFile): Promise<void> {
  await requireUnchanged(operation, before)
  await note(operation, before, next)
  await replaceKeyRing(operation.directory, next)
  const gone = next.keys.filter(({ state }) => state === 'removed')
  for (const { file } of gone) await rm(join(operation.directory, file), { force: true })
}
