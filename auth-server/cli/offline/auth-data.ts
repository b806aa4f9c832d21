/**
 * Opens the data of the auth server for commands that work offline: its database (PostgreSQL, or the embedded one under
 * its lock) and the keys of SECRETS_KEY. It never creates a database, tables or a key.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../../../shared/platform/database/database.ts'
import { lockDataFolder } from '../../../shared/platform/embedded/data-lock.ts'
import { withFilesOf } from '../../../shared/platform/operator-error.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { OperationError, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import { parseSecretsKeys, type SecretsKeys } from '../../store/secrets-keys.ts'

/** The data of an auth server. */
export interface AuthData {
  readonly database: Database
  /** SECRETS_KEY. */
  readonly secretsKeys: SecretsKeys
  /** SECRETS_KEY and its former keys. Only checks of old entries use the former keys. */
  readonly allSecretsKeys: SecretsKeys
}

/** Opens the data, runs `work`, closes the data. @throws WrongUsage, OperationError, OperatorError, DataFolderLocked */
export type OpenAuthData = <Result>(work: (data: AuthData) => Promise<Result>) => Promise<Result>

/** The settings that say where the data is. */
export interface AuthDataSettings {
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly secretsKeys: readonly string[] | undefined
  readonly formerSecretsKeys: readonly string[]
}

/** Creates the function that opens the data. */
export function createOpenAuthData(settings: AuthDataSettings): OpenAuthData {
  return async (work) => {
    const texts = settings.secretsKeys ?? [await generatedKey(settings.dataDir)]
    const keys = {
      secretsKeys: parseSecretsKeys(texts.join(',')),
      allSecretsKeys: parseSecretsKeys([...texts, ...settings.formerSecretsKeys].join(',')),
    }
    const { database, close } = await openDatabase(settings)
    try {
      await requireTables(database)
      return await work({ database, ...keys })
    } finally {
      await close()
    }
  }
}

/** Reads the key that a server without SECRETS_KEY has generated. */
async function generatedKey(dataDir: string): Promise<string> {
  const text = await readFile(join(dataDir, 'secrets-key'), 'utf8').catch(() => undefined)
  if (text !== undefined) return text.trim()
  throw new WrongUsage(`Set SECRETS_KEY to that of the auth server: there is none in ${dataDir} either.`)
}

interface OpenDatabase {
  readonly database: Database
  close(): Promise<void>
}

async function openDatabase({ databaseUrl, dataDir }: AuthDataSettings): Promise<OpenDatabase> {
  if (databaseUrl !== undefined) {
    const database = openPostgres(databaseUrl)
    return { database, close: () => database.close() }
  }
  const folder = join(dataDir, 'postgres')
  if (!existsSync(folder)) {
    throw new WrongUsage(`Set AUTH_DATABASE_URL, or DATA_DIR: there is no embedded database in ${dataDir}.`)
  }
  const unlock = await withFilesOf('DATA_DIR', dataDir, () => lockDataFolder(dataDir))
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

/** Requires the newest table. A server must migrate older data first. */
async function requireTables(database: Database): Promise<void> {
  const [row] = await database.query<{ there: string | null }>(
    "select to_regclass('auth.password_resets')::text as there",
  )
  if (row?.there) return
  throw new OperationError(
    'This database does not hold the tables of an auth server of this version. Start one on it first.',
  )
}
