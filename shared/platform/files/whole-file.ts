/** Files that appear when they are whole. What is no file of one's own is written straight, and stays what it is. */
import { createWriteStream, fstatSync, type Stats, statSync } from 'node:fs'
import { chmod, chown, copyFile, lstat, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

interface WholeFileOptions {
  /** Of a new file, without what the umask takes away; 0666 when left out. A file that is there keeps its own. */
  readonly mode?: number
  /** The path until the file is whole; `PATH.part` when left out. */
  readonly draft?: string
  /** True: what is there goes, whatever it is, with its mode. */
  readonly isAlwaysNew?: boolean
}

/**
 * Writes a file: `write` fills the stream and ends it. A new file, and a regular file of one's own, has the content
 * when all of it is on the disk; until then, and after an error, it is as it was. A link, a pipe, a device, and a file
 * of another user or of several names, is written straight: a new file in its place would be something else.
 */
export async function writeWhole(
  path: string,
  write: (target: Writable) => Promise<unknown>,
  { mode, draft = `${path}.part`, isAlwaysNew = false }: WholeFileOptions = {},
): Promise<void> {
  const found = isAlwaysNew ? undefined : await entryAt(path)
  if (found && !isOwnFile(found)) {
    await write(createWriteStream(path))
    return
  }
  // Whatever a link of that name leads to is not touched.
  await rm(draft, { force: true })
  const file = await open(draft, 'wx', found ? 0o600 : mode)
  try {
    await write(file.createWriteStream({ flush: true }))
    if (found) await giveAccessOf(found, draft)
    await replace(path, draft)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function replace(path: string, draft: string): Promise<void> {
  try {
    await rename(draft, path)
  } catch (error) {
    // A file that is mounted by itself, into a container for example, cannot be replaced.
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    await copyFile(draft, path)
    await rm(draft)
  }
}

/** Writes a text as `writeWhole` does. */
export const writeTextWhole = (path: string, text: string, options?: WholeFileOptions): Promise<void> =>
  writeWhole(path, (target) => pipeline(Readable.from([text]), target), options)

async function entryAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const isOwnFile = (found: Stats): boolean =>
  found.isFile() && found.nlink === 1 && found.uid === (process.geteuid?.() ?? found.uid)

async function giveAccessOf({ uid, gid, mode }: Stats, path: string): Promise<void> {
  // Who has left the group since cannot give it.
  await chown(path, uid, gid).catch(() => undefined)
  await chmod(path, mode & 0o7777)
}

/** Where a path leads to, so that a file is replaced and not the link to it; the path itself when nothing is there. */
export const placeOf = (path: string): Promise<string> => realpath(path).catch(() => path)

/** A renamed file is there after a power cut only when its folder is on the disk. */
export async function syncFolderOf(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r')
  await folder.sync().finally(() => folder.close())
}

/**
 * True if both are the same file: two paths, or a path such as `/dev/stdout` and a descriptor. Two streams to one file
 * overwrite each other.
 */
export function isSameFile(path: string, other: string | number): boolean {
  try {
    const [one, two] = [statSync(path), typeof other === 'number' ? fstatSync(other) : statSync(other)]
    return one.dev === two.dev && one.ino === two.ino
  } catch {
    return false
  }
}

/** The descriptor of standard output. */
export const standardOutput = 1
