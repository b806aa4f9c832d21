/** Opens what is stored by both servers, as far as the tool has the settings. */
import type { Database } from '../../../shared/platform/database/database.ts'
import { type OpenDatabase, openDatabase } from './open-database.ts'

/** The databases; undefined where the tool has no setting of one. The embedded engine holds both. */
export interface StoredData {
  readonly auth: Database | undefined
  readonly deals: Database | undefined
}

/** Opens the databases, runs `work`, closes them. @throws WrongUsage, OperatorError, FolderLocked */
export type OpenStoredData = <Result>(work: (data: StoredData) => Promise<Result>) => Promise<Result>

/** The settings that say where the databases are. */
export interface StoredDataSettings {
  readonly databaseUrl: string | undefined
  readonly dealDatabaseUrl: string | undefined
  readonly dataDir: string
}

/** Creates the function that opens the databases. Without any URL it is the embedded engine in `dataDir`. */
export function createOpenStoredData({ databaseUrl, dealDatabaseUrl, dataDir }: StoredDataSettings): OpenStoredData {
  const open = (setting: string, url: string | undefined) => openDatabase({ setting, databaseUrl: url, dataDir })
  return async (work) => {
    if (databaseUrl === undefined && dealDatabaseUrl === undefined) {
      const both = await open('AUTH_DATABASE_URL or DEAL_DATABASE_URL', undefined)
      return work({ auth: both.database, deals: both.database }).finally(() => both.close())
    }
    const opened: OpenDatabase[] = []
    const openGiven = async (setting: string, url: string | undefined): Promise<Database | undefined> => {
      if (url === undefined) return undefined
      const one = await open(setting, url)
      opened.push(one)
      return one.database
    }
    try {
      const auth = await openGiven('AUTH_DATABASE_URL', databaseUrl)
      return await work({ auth, deals: await openGiven('DEAL_DATABASE_URL', dealDatabaseUrl) })
    } finally {
      for (const one of opened) await one.close()
    }
  }
}
