/** Archive files: compressed lines of JSON (`NAME.ndjson.gz`), each with a manifest (`NAME.manifest.json`). */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { syncFolderOf, writeTextWhole, writeWhole } from '../files/whole-file.ts'

const ending = '.ndjson.gz'
/** Only the owner can read a new file. */
const mode = 0o600

/** The path of an archive file in a directory. */
export const archivePath = (directory: string, name: string): string => join(directory, `${name}${ending}`)

/** The name in the path of an archive file; undefined when it does not end as one. */
export const archiveName = (path: string): string | undefined =>
  path.endsWith(ending) ? basename(path).slice(0, -ending.length) : undefined

/** The path of the manifest beside an archive file. */
export const manifestPath = (path: string): string =>
  join(dirname(path), `${archiveName(path) ?? basename(path)}.manifest.json`)

/** What identifies the bytes of a file. */
export interface FileSum {
  readonly bytes: number
  /** SHA-256, hexadecimal: what `sha256sum` prints. */
  readonly sha256: string
}

/** Writes values as lines. The file appears when all of them are on the disk. */
export async function writeArchive(
  path: string,
  values: AsyncIterable<unknown>,
  signal: AbortSignal,
): Promise<FileSum> {
  const hash = createHash('sha256')
  let bytes = 0
  async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  try {
    await writeWhole(
      path,
      (target) => pipeline(Readable.from(linesOf(values)), createGzip(), counted, target, { signal }),
      { mode },
    )
    await syncFolderOf(path)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
  return { bytes, sha256: hash.digest('hex') }
}

async function* linesOf(values: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`
}

/** Writes the manifest of an archive file. */
export async function writeManifest(path: string, manifest: unknown): Promise<void> {
  await writeTextWhole(manifestPath(path), `${JSON.stringify(manifest, null, 2)}\n`, { mode })
  await syncFolderOf(path)
}

/** Reads the manifest of an archive file, as JSON; undefined when there is none. @throws ArchiveDamaged */
export async function readManifest(path: string): Promise<unknown> {
  const text = await readFile(manifestPath(path), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  return parsed(text, 'its manifest is no JSON.')
}

/** A file that cannot be read as an archive. The message is a sentence that begins in lower case. */
export class ArchiveDamaged extends Error {
  override readonly name = 'ArchiveDamaged'
}

/** Reads the values of an archive file one by one. @throws ArchiveDamaged */
export async function* readArchive(path: string): AsyncGenerator<unknown> {
  const file = createReadStream(path)
  const plain = createGunzip().setEncoding('utf8')
  file.on('error', (error) => plain.destroy(error))
  file.pipe(plain)
  let number = 0
  try {
    for await (const line of linesIn(plain)) {
      number += 1
      yield parsed(line, `line ${number} is no JSON.`)
    }
  } catch (error) {
    const isPacking = (error as NodeJS.ErrnoException).code?.startsWith('Z_')
    throw isPacking ? new ArchiveDamaged('it is cut off, or is no gzip file.') : error
  } finally {
    plain.destroy()
    file.destroy()
  }
}

async function* linesIn(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const text of texts) {
    const parts = `${rest}${text}`.split('\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
  if (rest !== '') yield rest
}

/** Reads a file once more, for its sum. */
export async function sumOf(path: string): Promise<FileSum> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

function parsed(text: string, complaint: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ArchiveDamaged(complaint)
  }
}
