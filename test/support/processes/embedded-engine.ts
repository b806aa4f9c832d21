import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { type EmbeddedEngine, shareEngine } from '../../../shared/platform/embedded/embedded.ts'

/** An empty engine in memory. */
export const openTestEngine = async (): Promise<EmbeddedEngine> => shareEngine(await startTestEngine())

/**
 * The same as its library has it. Only the first test on a machine pays for its initialisation, the others load a dump
 * of that.
 */
export const startTestEngine = async (folder = 'memory://'): Promise<PGlite> => {
  if (!existsSync(preparedFile)) await prepare()
  const engine = await PGlite.create(folder, { loadDataDir: new Blob([readFileSync(preparedFile)]) })
  await engine.exec("set timezone = 'UTC'")
  return engine
}

/**
 * Makes `dataDir`, a DATA_DIR with an empty engine in it: a start then finds what it would otherwise take ten seconds
 * of processor time to make. For suites that are about something else.
 */
export const prepareDataDir = async (dataDir: string): Promise<void> => {
  if (!existsSync(preparedFolder)) {
    const unfinished = `${preparedFolder}.${randomUUID()}`
    const engine = await startTestEngine(unfinished)
    await engine.close()
    if (existsSync(preparedFolder)) rmSync(unfinished, { recursive: true })
    else renameSync(unfinished, preparedFolder)
  }
  mkdirSync(dataDir, { mode: 0o700 })
  await cp(preparedFolder, join(dataDir, 'postgres'), { recursive: true })
}

const packageFile = join(dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite')), '../package.json')
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
const cacheFolder = join(import.meta.dirname, '../../../node_modules/.cache/keyhold')
const preparedFile = join(cacheFolder, `embedded-engine-${version}.tar`)
const preparedFolder = join(cacheFolder, `embedded-folder-${version}`)

const prepare = async (): Promise<void> => {
  const engine = await PGlite.create('memory://')
  const dump = await engine.dumpDataDir('none')
  await engine.close()
  mkdirSync(cacheFolder, { recursive: true })
  const unfinished = `${preparedFile}.${randomUUID()}`
  writeFileSync(unfinished, Buffer.from(await dump.arrayBuffer()))
  renameSync(unfinished, preparedFile)
}
