import { afterAll, beforeAll } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import type { Backend, OpenBackend } from './backends.ts'
import { migrateBoth } from './migrate-both.ts'

/** A database with the tables of both servers, from before the first test of a suite until after its last. */
export function migratedDatabase(openBackend: OpenBackend): { database: Database; backend: () => Backend } {
  let backend: Backend
  let database: Database
  beforeAll(async () => {
    backend = await openBackend()
    database = backend.openDatabase()
    await migrateBoth(database)
  })
  afterAll(async () => {
    await database.close()
    await backend.close()
  })
  // It is opened later than it is given, and has private members: its methods want itself.
  const memberOf = (_: Database, name: string | symbol): unknown => {
    const member: unknown = Reflect.get(database, name)
    return typeof member === 'function' ? member.bind(database) : member
  }
  return { database: new Proxy({} as Database, { get: memberOf }), backend: () => backend }
}
