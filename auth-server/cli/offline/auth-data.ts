/**
 * Opens the data of the auth server for commands that work offline: its database (PostgreSQL, or the embedded one under
 * its lock) and the keys of SECRETS_KEY. It never creates a database, tables or a key.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../../../shared/platform/database/database.ts'
import { OperationError, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import { parseSecretsKeys, type SecretsKeys } from '../../store/secrets-keys.ts'
import { openDatabase } from './open-database.ts'

/** The data of an auth server. */
export interface AuthData {
  readonly database: Database
  /** SECRETS_KEY. */
  readonly secretsKeys: SecretsKeys
  /** SECRETS_KEY and its former keys. Only checks of old entries use the former keys. */
  readonly allSecretsKeys: SecretsKeys
}

/** Opens the data, runs `work`, closes the data. @throws WrongUsage, OperationError, OperatorError, FolderLocked */
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
    const keys = await readKeys(settings)
    const { database, close } = await openDatabase({ ...settings, setting: 'AUTH_DATABASE_URL' })
    try {
      await requireTables(database)
      return await work({ database, ...keys })
    } finally {
      await close()
    }
  }
}

/** Reads the keys alone, for checks of files. @throws WrongUsage, OperatorError */
export async function readKeys({
  secretsKeys,
  formerSecretsKeys,
  dataDir,
}: Omit<AuthDataSettings, 'databaseUrl'>): Promise<Omit<AuthData, 'database'>> {
  const texts = secretsKeys ?? [await generatedKey(dataDir)]
  return {
    secretsKeys: parseSecretsKeys(texts.join(',')),
    allSecretsKeys: parseSecretsKeys([...texts, ...formerSecretsKeys].join(',')),
  }
}

/** Reads the key that a server without SECRETS_KEY has generated. */
async function generatedKey(dataDir: string): Promise<string> {
  const text = await readFile(join(dataDir, 'secrets-key'), 'utf8').catch(() => undefined)
  if (text !== undefined) return text.trim()
  throw new WrongUsage(`Set SECRETS_KEY to that of the auth server: there is none in ${dataDir} either.`)
}

/** Requires what the newest migration made. A server must migrate older data first. */
async function requireTables(database: Database): Promise<void> {
  const [newest] = await database.query(
    "select from pg_attribute where attrelid = to_regclass('auth.principals') and attname = 'throttle_generation'",
  )
  if (newest) return
  throw new OperationError(
    'This database does not hold the tables of an auth server of this version. Start one on it first.',
  )
}
