import { decodeJwt } from 'jose'
import { beforeAll, expect, it } from 'vitest'
import { createRefresh } from '../../../auth-server/logins/refresh.ts'
import { createRefreshTokenFamilies } from '../../../auth-server/logins/refresh-token-families.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

describeDatabases('refreshes of one turn', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  /** The texts of the statements on families since the last `watch`. */
  let statements: string[] = []
  let refresh: ReturnType<typeof createRefresh>

  beforeAll(async () => {
    core = createAuthCore({ database, clock })
    const watch =
      (way: 'query' | 'write') =>
      <Row extends object>(...[text, parameters]: Parameters<Database['query']>) => {
        statements.push(text)
        return database[way]<Row>(text, parameters)
      }
    const own = { query: watch('query'), write: watch('write') }
    const watched: Database = Object.assign(Object.create(database), own)
    refresh = createRefresh({ ...core, refreshTokenFamilies: createRefreshTokenFamilies(watched) })
    for (const username of ['ann', 'ben']) await core.users.create({ username, password: goodPassword })
  })

  const logIn = (username = 'ann') => core.logIn({ username, password: goodPassword })
  const counterOf = (token: string) => decodeJwt(token).ctr
  const refused = { code: 'invalid_grant' }

  it('share one statement, and each gets a pair of its own login', async () => {
    const logins = await Promise.all([logIn(), logIn('ben'), logIn()])
    statements = []
    const answers = await Promise.all(logins.map((login) => refresh(login.refresh_token)))
    expect(statements).toHaveLength(1)
    for (const [index, { access_token, refresh_token }] of answers.entries()) {
      const [before, access] = [decodeJwt(logins[index]?.access_token ?? ''), decodeJwt(access_token)]
      expect([access.sub, access.sid, counterOf(refresh_token)]).toEqual([before.sub, before.sid, 1])
    }
  })

  it('rotate once when they carry the same token: the others get the same refresh token again', async () => {
    const { refresh_token } = await logIn()
    const answers = await Promise.all(Array.from({ length: 6 }, () => refresh(refresh_token)))
    expect(new Set(answers.map((answer) => answer.refresh_token)).size).toBe(1)
    expect(new Set(answers.map((answer) => answer.access_token)).size).toBe(6)
    const [{ refresh_token: successor } = { refresh_token: '' }] = answers
    expect(counterOf(successor)).toBe(1)
    expect(counterOf((await refresh(successor)).refresh_token)).toBe(2)
  })

  it('revoke the login of a token that is too old, and no other login of the turn', async () => {
    const [stolen, other] = await Promise.all([logIn(), logIn('ben')])
    const second = await refresh(stolen.refresh_token)
    const third = await refresh((await refresh(second.refresh_token)).refresh_token)
    const outcomes = await Promise.allSettled([
      refresh(stolen.refresh_token),
      refresh(other.refresh_token),
      refresh('no token'),
    ])
    expect(outcomes).toMatchObject([{ reason: refused }, { value: { token_type: 'Bearer' } }, { reason: refused }])
    await expect(refresh(third.refresh_token)).rejects.toMatchObject(refused)
  })

  it('are refused for a revoked login, a disabled user and a raised generation beside one that is valid', async () => {
    const [ended, disabled, raised, valid] = await Promise.all([logIn(), logIn('ben'), logIn(), logIn()])
    await core.logOut(ended.refresh_token)
    await core.users.create({ username: 'root', password: goodPassword, roles: ['admin'] })
    await core.users.patch('ben', { enabled: false })
    const before = await Promise.allSettled([ended, disabled, valid].map((login) => refresh(login.refresh_token)))
    expect(before.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    await core.users.logOutEverywhere('ann')
    await core.users.patch('ben', { enabled: true })
    const after = await Promise.allSettled([raised, disabled].map((login) => refresh(login.refresh_token)))
    expect(after.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })

  it('cut the tokens of a login that ends soon, and leave those of another one whole', async () => {
    const short = createAuthCore({ database, clock, lifetimes: { loginMaxTtlSeconds: 100 } })
    const [ending, lasting] = await Promise.all([short.logIn({ username: 'ann', password: goodPassword }), logIn()])
    clock.advance(40_000)
    const [cut, whole] = await Promise.all([refresh(ending.refresh_token), refresh(lasting.refresh_token)])
    expect([cut.expires_in, cut.refresh_expires_in]).toEqual([60, 60])
    expect([whole.expires_in, whole.refresh_expires_in]).toEqual([1800, 86_400])
    clock.advance(60_000)
    await expect(refresh(cut.refresh_token)).rejects.toMatchObject(refused)
  })
})
