import { beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../shared/platform/clock.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createAuthCore, goodPassword } from '../support/auth-core.ts'

describeDatabases('logins that are revoked at once', (open) => {
  const { database } = databaseOfSuite(open)
  let servers: readonly ReturnType<typeof createAuthCore>[]

  beforeAll(() => {
    servers = [1, 2].map(() => createAuthCore({ database, clock: systemClock }))
  })

  const [logins, users] = [24, 5]

  it('end once each, and their users get the next versions, without a gap', async () => {
    const [server, other] = servers
    if (!server || !other) throw new Error('unreachable')
    const names = Array.from({ length: users }, (_, index) => `gathered-${index}`)
    for (const username of names) await server.users.create({ username, password: goodPassword, roles: ['viewer'] })
    const started = await Promise.all(
      Array.from({ length: logins }, async (_, index) => {
        const username = names[index % users] ?? ''
        const tokens = await server.logIn({ username, password: goodPassword })
        return { username, ...tokens, id: await server.verifyAccessToken(tokens.access_token) }
      }),
    )
    const ids = started.map(({ id }) => (id.ok ? (id.claims.sid ?? '') : ''))
    const before = Math.max(...(await versions(names)))
    // Others refresh meanwhile: both kinds of batches lock the same rows.
    const outcomes = await Promise.all(
      started.flatMap(({ username, refresh_token: refreshToken }, index) => [
        server.revokeLogin({ id: ids[index] ?? '', username, reason: 'logout' }),
        other.refresh(refreshToken).then(
          () => undefined,
          () => undefined,
        ),
        other.revokeLogin({ id: (ids[index] ?? '').toUpperCase(), username, reason: 'administrator' }),
      ]),
    )
    expect(outcomes.filter((outcome) => outcome === 'revoked')).toHaveLength(logins)
    expect(outcomes.filter((outcome) => outcome === 'revoked-before')).toHaveLength(logins)
    const after = Math.max(...(await versions(names)))
    const [row] = await database.query<{ value: string }>('select value from auth.principal_change_counter')
    expect(after).toBe(Number(row?.value))
    // One version for each user of a batch, not for each login, and at most as many as logins.
    expect(after - before).toBeGreaterThanOrEqual(users)
    expect(after - before).toBeLessThan(logins)
    for (const username of names) {
      const record = await server.record(username)
      const own = ids.filter((_, index) => names[index % users] === username)
      expect(record?.revokedIds.toSorted()).toEqual(own.toSorted())
    }
    expect(new Set(await versions(names)).size).toBe(users)
  })

  it('are refused one by one when the user is unknown', async () => {
    const [server] = servers
    if (!server) throw new Error('unreachable')
    await server.users.create({ username: 'known', password: goodPassword, roles: ['viewer'] })
    const id = '0197a0d4-0000-7000-8000-000000000001'
    const [known, unknown, nonsense] = await Promise.allSettled(
      ['known', 'unknown', 'no name'].map((username, index) =>
        server.revokeLogin({ id: index === 0 ? id : `${id.slice(0, -1)}${index + 1}`, username, reason: 'logout' }),
      ),
    )
    expect(known).toEqual({ status: 'fulfilled', value: undefined })
    for (const refused of [unknown, nonsense])
      expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'not-found' } })
  })

  const versions = async (names: readonly string[]): Promise<number[]> => {
    const rows = await database.query<{ version: string }>(
      'select change_number as version from auth.principals where username_folded = any($1::text::text[])',
      [`{${names.join(',')}}`],
    )
    return rows.map(({ version }) => Number(version))
  }
})
