import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../../shared/platform/database/database.ts'
import { migrateDatabase } from '../../../shared/platform/database/migrate.ts'

const folderOf = (server: string): string => join(import.meta.dirname, '../../..', server, 'store/migrations')
const folders = { auth: folderOf('auth-server'), deals: folderOf('deal-server') } as const

/** Gives a database the tables of both servers. */
export async function migrateBoth(database: Database): Promise<void> {
  for (const schema of ['auth', 'deals'] as const)
    await migrateDatabase(database, { migrationsFolder: folders[schema], schema })
}

/** Another one for other migrations, in 16 hexadecimal digits. */
export function migrationsMark(): string {
  const hash = createHash('sha256')
  for (const folder of Object.values(folders))
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort())
      if (/\.sql$|_journal\.json$/.test(file)) hash.update(file).update(readFileSync(join(folder, file)))
  return hash.digest('hex').slice(0, 16)
}
