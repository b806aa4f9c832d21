import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { createCatalogues } from '../../../auth-server/principals/catalogue.ts'
import { createPrincipalReader, type PrincipalReader } from '../../../auth-server/principals/principal-reader.ts'
import { createProfileReader } from '../../../auth-server/users/user-rows.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

describeDatabases('the reader of principals', (open) => {
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let reader: PrincipalReader
  let profile: ReturnType<typeof createProfileReader>
  let statements = 0

  beforeAll(async () => {
    const clock = createTestClock()
    core = createAuthCore({ database, clock })
    const counting: Pick<Database, 'query'> = {
      query: (text, parameters) => {
        statements += 1
        return database.query(text, parameters)
      },
    }
    reader = createPrincipalReader({ database: counting, clock, catalogues: createCatalogues(counting) })
    profile = createProfileReader(counting)
    await core.users.create({ username: 'root', password: goodPassword, roles: ['admin'] })
    for (const username of ['Ada', 'null', 'bea']) {
      await core.users.create({ username, password: goodPassword, roles: ['viewer'] })
    }
  })

  it('answers all requests of one turn by one statement, each with its own user', async () => {
    // The catalogue is read once for each of its versions.
    await reader.record('ada')
    statements = 0
    const names = ['ada', 'bea', 'ADA', 'null', 'nobody', 'no name']
    const records = await Promise.all(names.map((name) => reader.record(name)))
    expect(records.map((record) => record?.username)).toEqual(['Ada', 'bea', 'Ada', 'null', undefined, undefined])
    expect(statements).toBe(1)
    expect(records[0]).toEqual(await core.record('ada'))
  })

  it('answers what users are known by in one statement for all requests of one turn', async () => {
    const [ada, bea] = [await core.users.patch('Ada', { displayName: 'Ada L.' }), await core.users.read('bea')]
    statements = 0
    const found = await Promise.all([ada.id, bea.id, ada.id, randomUUID()].map((id) => profile(id)))
    expect(found.map((one) => one?.displayName)).toEqual(['Ada L.', null, 'Ada L.', undefined])
    expect(statements).toBe(1)
  })

  it('gives the roles, and none of a deleted user, whose record stays', async () => {
    await core.users.create({ username: 'gone', password: goodPassword, roles: ['agent'] })
    const records = await Promise.all(['Gone', 'ada', 'nobody'].map((name) => reader.record(name)))
    expect(records.map((record) => record?.roles)).toEqual([['agent'], ['viewer'], undefined])
    await core.users.delete('gone')
    expect(await reader.record('gone')).toMatchObject({ enabled: false, roles: [], rights: [] })
  })

  it('sees each change that was acknowledged before the request', async () => {
    for (const [roles, right] of [
      [['agent'], 'deal.hold'],
      [['viewer'], 'deal.read'],
    ] as const) {
      const before = reader.record('bea')
      await core.users.patch('bea', { roles })
      const after = await reader.record('bea')
      expect(after?.rights).toContain(right)
      expect(after?.rights.includes('deal.hold')).toBe(roles[0] === 'agent')
      await before
    }
  })
})

describe('the reader of principals without a database', () => {
  it('fails for every request of the batch, and reads again for the next one', async () => {
    let isAway = true
    const database: Pick<Database, 'query'> = {
      query: async () => {
        if (isAway) throw new Unavailable('database')
        return []
      },
    }
    const reader = createPrincipalReader({ database, clock: createTestClock(), catalogues: createCatalogues(database) })
    const failed = await Promise.allSettled([reader.record('ada'), reader.record('bea')])
    for (const outcome of failed) expect(outcome).toMatchObject({ reason: { dependency: 'database' } })
    isAway = false
    expect(await reader.record('ada')).toBeUndefined()
  })
})
