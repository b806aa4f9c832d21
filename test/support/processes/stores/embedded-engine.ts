import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { type EmbeddedEngine, engineSettings, shareEngine } from '../../../../shared/platform/embedded/embedded.ts'

/** An empty engine in memory. */
export const openTestEngine = async (): Promise<EmbeddedEngine> => shareEngine(await startTestEngine())

/**
 * The same as its library has it. Only the first test on a machine pays for its initialisation, the others load a dump
 * of that.
 */
export const startTestEngine = async (): Promise<PGlite> => {
  if (!existsSync(preparedFile)) await prepare()
  const engine = await PGlite.create('memory://', {
    ...engineSettings,
    loadDataDir: new Blob([readFileSync(preparedFile)]),
  })
  await engine.exec("set timezone = 'UTC'")
  return engine
}

const packageFile = join(dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite')), '../package.json')
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
const cacheFolder = join(import.meta.dirname, '../../../../node_modules/.cache/keyhold')
const preparedFile = join(cacheFolder, `embedded-engine-${version}.tar`)

const prepare = async (): Promise<void> => {
  const engine = await PGlite.create('memory://')
  const dump = await engine.dumpDataDir('none')
  await engine.close()
  mkdirSync(cacheFolder, { recursive: true })
  const unfinished = `${preparedFile}.${randomUUID()}`
  writeFileSync(unfinished, Buffer.from(await dump.arrayBuffer()))
  renameSync(unfinished, preparedFile)
}
