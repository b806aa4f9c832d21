import { expect, it } from 'vitest'
import { migrateDatabase } from '../../../../shared/platform/database/migrate.ts'
import { writeMigrations } from '../../../support/stores/migrations-folder.ts'
import { databaseOfSuite, describeEmptyDatabases } from '../../../support/stores/own-database.ts'

describeEmptyDatabases('migrations', (open) => {
  const { database, openAnother } = databaseOfSuite(open)
  const FIRST = 'CREATE SCHEMA "ledger";\n--> statement-breakpoint\nCREATE TABLE "ledger"."mark" (n int);'
  const SECOND = 'INSERT INTO "ledger"."mark" VALUES (2);'

  const marks = async (): Promise<unknown[]> =>
    (await database.query<{ n: number }>('select n from ledger.mark')).map(({ n }) => n)

  it('are each applied once when several instances start together, and never again', async () => {
    const options = { migrationsFolder: writeMigrations(FIRST, SECOND), schema: 'ledger' }
    const instances = Array.from({ length: 5 }, () => openAnother())
    await Promise.all(instances.map((instance) => migrateDatabase(instance, options)))
    await migrateDatabase(database, options)
    expect(await marks()).toEqual([2])
  })

  it('continue where an earlier version stopped', async () => {
    const third = 'INSERT INTO "ledger"."mark" VALUES (3);'
    await migrateDatabase(database, { migrationsFolder: writeMigrations(FIRST, SECOND, third), schema: 'ledger' })
    expect(await marks()).toEqual([2, 3])
  })

  it('change nothing when one of them is refused, and reject with its SQLSTATE', async () => {
    const folder = writeMigrations(FIRST, SECOND, 'SELECT 3', SECOND, 'SELECT no_such_column')
    await expect(migrateDatabase(database, { migrationsFolder: folder, schema: 'ledger' })).rejects.toMatchObject({
      name: 'DatabaseError',
      sqlState: '42703',
    })
    expect(await marks()).toEqual([2, 3])
  })

  it('keep a journal per schema', async () => {
    const folder = writeMigrations('CREATE TABLE "other"."thing" (n int);')
    await migrateDatabase(database, { migrationsFolder: folder, schema: 'other' })
    const journals = await database.query(
      `select table_schema::text from information_schema.tables where table_name = 'migrations' order by 1`,
    )
    expect(journals).toEqual([{ table_schema: 'ledger' }, { table_schema: 'other' }])
  })

  it('are refused, with what to do, by a database of a release before the first of them', async () => {
    const refused = {
      name: 'OperatorError',
      exitCode: 2,
      message:
        'The schema ledger is of a release before 0.3.0: upgrade to 0.3.0 first, and then to this one (CHANGELOG.md).',
    }
    const options = { migrationsFolder: writeMigrations(FIRST, SECOND), schema: 'ledger' }
    await database.query('update ledger.migrations set created_at = 0')
    await expect(migrateDatabase(database, options)).rejects.toMatchObject(refused)
    await database.query('alter table ledger.migrations rename to __drizzle_migrations')
    await expect(migrateDatabase(database, options)).rejects.toMatchObject(refused)
    expect(await marks()).toEqual([2, 3])
  })
})
