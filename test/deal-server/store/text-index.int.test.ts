import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'

const migration = readFileSync(
  join(import.meta.dirname, '../../../deal-server/store/migrations/0001_text_index.sql'),
  'utf8',
)
const isValidSql = "select indisvalid as valid from pg_index where indexrelid = to_regclass('deals.deals_by_text')"

describeDatabases('the index for searches', (open) => {
  const { database } = databaseOfSuite(open)

  it('is made by a migration', async () => {
    expect(await database.query(isValidSql)).toEqual([{ valid: true }])
  })

  it('is made again where a server of release 0.3.0 left it unfinished', async () => {
    await database.write("update pg_index set indisvalid = false where indexrelid = to_regclass('deals.deals_by_text')")
    expect(await database.query(isValidSql)).toEqual([{ valid: false }])
    await database.write(migration)
    expect(await database.query(isValidSql)).toEqual([{ valid: true }])
  })
})
