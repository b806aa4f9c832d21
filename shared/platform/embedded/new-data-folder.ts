/**
 * New data folders of the embedded engine. To make one takes the engine ten seconds of processor time, so it is made
 * once for each version of the engine, kept beside the installed packages, and copied from then on. It is empty: no
 * schema, no row, no secret.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { isSystemError } from '../operator-error.ts'

/**
 * Makes `folder` unless it exists. A process that is killed before it is done leaves no half of one. The caller holds
 * the lock of the folder above.
 */
export async function makeDataFolder(folder: string): Promise<void> {
  if (existsSync(folder)) return
  const draft = `${folder}.new`
  await rm(draft, { recursive: true, force: true })
  const prepared = await preparedFolder()
  if (prepared === undefined) await initialize(draft)
  else await cp(prepared, draft, { recursive: true })
  await rename(draft, folder)
}

/** The folder to copy, made when it is missing; undefined where the installed packages cannot be written. */
async function preparedFolder(): Promise<string | undefined> {
  const packageFolder = resolve(createRequire(import.meta.url).resolve('@electric-sql/pglite'), '../..')
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }
  const prepared = resolve(packageFolder, '../../.cache/keyhold', `embedded-folder-${version}`)
  if (existsSync(prepared)) return prepared
  const draft = `${prepared}.${randomUUID()}`
  try {
    await initialize(draft)
    await rename(draft, prepared)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (!isSystemError(error)) throw error
  }
  return existsSync(prepared) ? prepared : undefined
}

async function initialize(folder: string): Promise<void> {
  const engine = await PGlite.create(folder)
  await engine.close()
}
