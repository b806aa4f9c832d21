import { link, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withFilesOf } from '../../shared/platform/operator-error.ts'
import { keyRingText, type NewKeyOptions, newKeyPair, writePrivately } from './key-files.ts'
import { type KeyEntry, keyRingFileName, keyUses } from './keyring-file.ts'
import { addNotes, type OperatorNote } from './operator-notes.ts'

/** How the keys are made, and by whom. */
export interface FirstRingOptions extends NewKeyOptions {
  /** Who makes the ring, and why, for the audit log, which names nobody when it is left out. */
  readonly by?: Pick<OperatorNote, 'operator' | 'reason'>
}

/**
 * Writes a first key ring, with one active key for each use, into `directory`; creates the folder if it is missing.
 * False when a `keyring.json` exists, with any content. The file appears in one step: when two processes start at the
 * same time, one writes the ring and both find it. @throws OperatorError when the folder cannot be written
 */
export const createKeyRing = (directory: string, options: FirstRingOptions): Promise<boolean> =>
  withFilesOf('KEYS_DIR', directory, () => createIfMissing(directory, options))

async function createIfMissing(directory: string, options: FirstRingOptions): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const target = join(directory, keyRingFileName)
  if (await exists(target)) return false
  const pairs = await Promise.all(keyUses.map((use) => newKeyPair(use, options)))
  for (const { entry, pem } of pairs) await writePrivately(join(directory, entry.file), pem)

  const keys = pairs.map(({ entry }): KeyEntry => ({ ...entry, state: 'active', activatedAt: entry.publishedAt }))
  const draft = join(directory, `${keyRingFileName}.${pairs[0]?.entry.kid}.new`)
  await writePrivately(draft, keyRingText({ keyholdKeyRing: 1, keys }))
  try {
    await link(draft, target)
  } catch (error) {
    if (!isExists(error)) throw error
    await Promise.all(pairs.map(({ entry }) => rm(join(directory, entry.file), { force: true })))
    return false
  } finally {
    await rm(draft, { force: true })
  }
  if (options.by) await addNotes(directory, notesOf(keys, options.by))
  return true
}

const notesOf = (
  keys: readonly KeyEntry[],
  { operator, reason }: NonNullable<FirstRingOptions['by']>,
): OperatorNote[] =>
  keys.flatMap(({ kid, createdAt: at }) => [
    { operation: 'generate', kid, at, operator, reason },
    { operation: 'promote', kid, at, operator, reason },
  ])

async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path, 'r')).close()
    return true
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false
    throw error
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

const isExists = (error: unknown): boolean => isCode(error, 'EEXIST')
