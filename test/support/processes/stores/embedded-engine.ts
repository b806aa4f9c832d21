import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { type EmbeddedEngine, engineSettings, shareEngine } from '../../../../shared/platform/embedded/embedded.ts'

/** An empty engine in memory. */
export const openTestEngine = async (): Promise<EmbeddedEngine> => shareEngine(await startTestEngine())

/**
 * An engine in memory with what `fill` puts into an empty one. Only the first test on a machine pays for that: the
 * others load a dump that has this name.
 */
export const startTestEngine = async (name = 'empty', fill = async (_engine: PGlite) => {}): Promise<PGlite> => {
  await prepareTestEngine(name, fill)
  const loadDataDir = new Blob([readFileSync(fileOf(name))])
  const engine = await PGlite.create('memory://', { ...engineSettings, loadDataDir })
  await engine.exec("set timezone = 'UTC'")
  return engine
}

const packageFile = join(dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite')), '../package.json')
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
const cacheFolder = join(import.meta.dirname, '../../../../node_modules/.cache/keyhold')

const fileOf = (name: string): string => join(cacheFolder, `embedded-engine-${version}-${name}.tar`)

/** Makes the dump of that name, where it is missing. */
export const prepareTestEngine = async (name: string, fill: (engine: PGlite) => Promise<void>): Promise<void> => {
  if (existsSync(fileOf(name))) return
  const engine = await PGlite.create('memory://', { extensions: engineSettings.extensions })
  await fill(engine)
  const dump = await engine.dumpDataDir('none')
  await engine.close()
  mkdirSync(cacheFolder, { recursive: true })
  const unfinished = `${fileOf(name)}.${randomUUID()}`
  writeFileSync(unfinished, Buffer.from(await dump.arrayBuffer()))
  renameSync(unfinished, fileOf(name))
}
