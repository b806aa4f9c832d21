import { expect, it } from 'vitest'
import { databaseOfSuite, describeDatabases } from '../../../support/stores/own-database.ts'

const number = ['select $1::int as n', ['3']] as const

describeDatabases('statements that leave together', (open) => {
  const { database } = databaseOfSuite(open)

  it('give the rows of each, in order, and none where there is no statement', async () => {
    const rows = await database.queryAll<[{ n: number }, { n: number }, { name: string }]>([
      ['select $1::int as n union all select 2', [1]],
      undefined,
      ['select $1::text as name', ['it’s']],
    ])
    expect(rows).toEqual([[{ n: 1 }, { n: 2 }], [], [{ name: 'it’s' }]])
    expect(await database.queryAll([])).toEqual([])
  })

  it('are refused as one alone, without a parameter in the error, and disturb no other caller', async () => {
    const refused = database.queryAll([number, ['select $1::int as n', ['a secret']], number])
    const good = database.queryAll([number, number])
    const error: unknown = await refused.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'DatabaseError', sqlState: '22P02' })
    expect(String(error)).not.toContain('a secret')
    expect(await good).toEqual([[{ n: 3 }], [{ n: 3 }]])
    const invalid = database.queryAll([number, ['select $1::text as n', [undefined as unknown as null]]])
    await expect(invalid).rejects.toBeInstanceOf(TypeError)
  })
})
