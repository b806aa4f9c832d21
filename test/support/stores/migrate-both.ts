import { join } from 'node:path'
import type { Database } from '../../../shared/platform/database/database.ts'
import { migrateDatabase } from '../../../shared/platform/database/migrate.ts'

const root = join(import.meta.dirname, '../../..')

/** Gives a database the tables of both servers. */
export async function migrateBoth(database: Database): Promise<void> {
  for (const [server, schema] of [['auth-server', 'auth'] as const, ['deal-server', 'deals'] as const]) {
    await migrateDatabase(database, { migrationsFolder: join(root, server, 'store/migrations'), schema })
  }
}
