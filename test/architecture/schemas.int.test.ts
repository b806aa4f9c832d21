import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import { expect, it } from 'vitest'
import * as auditTables from '../../auth-server/store/audit-tables.ts'
import * as authTables from '../../auth-server/store/schema.ts'
import * as secondFactorTables from '../../auth-server/store/second-factor-tables.ts'
import * as dealTables from '../../deal-server/store/schema.ts'
import { databaseOfSuite, describeDatabases } from '../support/stores/own-database.ts'

const exported = [authTables, auditTables, secondFactorTables, dealTables].flatMap((file) => Object.values(file))
const tables = exported.filter((value) => is(value, PgTable))

describeDatabases('the schemas', (open) => {
  const { database } = databaseOfSuite(open)

  it('name tables and columns that the migrations have made', async () => {
    expect(tables.length).toBeGreaterThan(25)
    const missing: string[] = []
    for (const table of tables) {
      await database.drizzle
        .select()
        .from(table)
        .limit(0)
        .catch((error: Error) => missing.push(`${getTableConfig(table).name}: ${error.message}`))
    }
    expect(missing).toEqual([])
  })
})
