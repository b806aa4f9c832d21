/** Opens a database for commands that work offline: PostgreSQL, or the embedded one under its lock. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../../shared/platform/database/database.ts'
import { withFilesOf } from '../../../shared/platform/operator-error.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { lockFolder } from '../../../shared/platform/process/folder-lock.ts'
import { WrongUsage } from '../../../shared/platform/terminal/report.ts'

/** Where a database is. */
export interface DatabasePlace {
  /** The name of the setting of `databaseUrl`. */
  readonly setting: string
  /** The embedded database of `dataDir` when left out. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
}

/** A database, until it is closed. */
export interface OpenDatabase {
  readonly database: Database
  close(): Promise<void>
}

/** Opens a database that exists. @throws WrongUsage, OperatorError, FolderLocked */
export async function openDatabase({ setting, databaseUrl, dataDir }: DatabasePlace): Promise<OpenDatabase> {
  if (databaseUrl !== undefined) {
    const database = openPostgres(databaseUrl)
    return { database, close: () => database.close() }
  }
  const folder = join(dataDir, 'postgres')
  if (!existsSync(folder)) {
    throw new WrongUsage(`Set ${setting}, or DATA_DIR: there is no embedded database in ${dataDir}.`)
  }
  const unlock = await withFilesOf('DATA_DIR', dataDir, () => lockFolder(dataDir))
  try {
    // Imported late: it is not installed where only built servers run.
    const { openEmbeddedEngine } = await import('../../../shared/platform/embedded/embedded.ts')
    const engine = await openEmbeddedEngine(folder)
    const close = async () => {
      await engine.close()
      await unlock()
    }
    return { database: engine.database(), close }
  } catch (error) {
    await unlock()
    throw error
  }
}
