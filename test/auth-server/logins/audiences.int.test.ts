import { decodeJwt } from 'jose'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { storeOwnAudience } from '../../../auth-server/access/resource-servers.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword, audience as ofPair } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

const invoices = 'urn:example:invoices'
const archive = 'urn:example:archive'

describeDatabases('logins for other audiences', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let username = ''
  let serial = 0

  /** Makes the resource server, so many milliseconds from now. */
  const make = (id: string, audience: string, inMs = 0) =>
    database.query(
      `insert into auth.resource_servers (id, audience, name, created_at, updated_at)
        values ($1, $2, $1, $3::text::timestamptz, $3::text::timestamptz)`,
      [id, audience, new Date(clock.now() + inMs).toISOString()],
    )
  const remove = (id: string) => database.query('delete from auth.resource_servers where id = $1', [id])
  const logIn = (audience: string | null = null) => core.logIn({ username, password: goodPassword, audience })
  const refused = { code: 'invalid_grant' }
  const audienceOf = ({ access_token }: { readonly access_token: string }) => decodeJwt(access_token).aud

  beforeAll(() => {
    core = createAuthCore({ database, clock, maxLoginsPerUser: 3 })
  })
  beforeEach(async () => {
    username = `audience-${++serial}`
    await core.users.create({ username, password: goodPassword })
    await make('invoices', invoices)
    await make('archive', archive)
  })
  afterEach(async () => {
    for (const id of ['invoices', 'archive']) await remove(id)
  })

  it('are refreshed in one turn, each for its own, and not for one that is gone', async () => {
    const logins = await Promise.all([logIn(), logIn(invoices), logIn(archive)])
    expect(logins.map(audienceOf)).toEqual([ofPair, invoices, archive])
    const refreshed = await Promise.all(logins.map((login) => core.refresh(login.refresh_token)))
    expect(refreshed.map(audienceOf)).toEqual([ofPair, invoices, archive])
    await remove('archive')
    const outcomes = await Promise.allSettled(refreshed.map((login) => core.refresh(login.refresh_token)))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(outcomes[2]).toMatchObject({ reason: refused })
  })

  it('get what their row says, whatever the token says', async () => {
    const [own, other] = [await logIn(), await logIn(invoices)]
    for (const [login, said, aud] of [
      [own, invoices, ofPair],
      [other, null, invoices],
    ] as const) {
      const content = core.refreshTokens.read(login.refresh_token)
      if (!content) throw new Error('no refresh token')
      const issuedAt = Math.floor(clock.now() / 1000)
      const changed = core.refreshTokens.issue({ ...content, audience: said, issuedAt })
      expect(audienceOf(await core.refresh(changed))).toBe(aud)
    }
  })

  it('are not ended by a repeat or by reuse because their resource server is gone', async () => {
    const first = await logIn(archive)
    const second = await core.refresh(first.refresh_token)
    const third = await core.refresh(second.refresh_token)
    await remove('archive')
    for (const { refresh_token } of [first, second, third]) {
      await expect(core.refresh(refresh_token)).rejects.toMatchObject(refused)
    }
    expect((await core.record(username))?.revokedIds).toEqual([])
  })

  it('outlast clocks of servers that differ, but not another resource server of the same audience', async () => {
    await remove('archive')
    await make('archive', archive, 59_000)
    const early = await logIn(archive)
    const refreshed = await core.refresh(early.refresh_token)
    expect(audienceOf(refreshed)).toBe(archive)
    await remove('archive')
    await make('archive', archive, 62_000)
    await expect(core.refresh(refreshed.refresh_token)).rejects.toMatchObject(refused)
  })

  it('are not revived by another resource server, or the pair, that gets their audience', async () => {
    const login = await logIn(archive)
    const outlives = await logIn(invoices)
    await core.resourceServers.patch('invoices', { name: 'Bills', rights: [] })
    expect(audienceOf(await core.refresh(outlives.refresh_token))).toBe(invoices)
    await core.resourceServers.delete('archive')
    clock.advance(120_000)
    await core.resourceServers.patch('invoices', { audience: archive })
    await expect(core.refresh(login.refresh_token)).rejects.toMatchObject(refused)
    expect(audienceOf(await core.refresh((await logIn(archive)).refresh_token))).toBe(archive)
    await core.resourceServers.delete('invoices')
    await storeOwnAudience(database, archive)
    await expect(core.refresh(login.refresh_token)).rejects.toMatchObject(refused)
    await storeOwnAudience(database, ofPair)
  })

  const endClientOf = (ids: readonly string[]) =>
    database.query('update auth.login_families set client_id = gen_random_uuid() where id = any($1::uuid[])', [
      `{${ids.join(',')}}`,
    ])

  it.each([
    ['resource server', () => remove('archive')],
    ['client', endClientOf],
  ])('neither stand in lists nor take the place of others when their %s is gone', async (_, end) => {
    const userId = (await core.record(username))?.userId ?? ''
    const listed = async () =>
      (await core.loginLists.list(userId, { limit: 10, after: undefined })).items.map(({ id }) => id)
    const loginOf = ({ access_token }: { readonly access_token: string }) => String(decodeJwt(access_token).sid)
    const gone = [await logIn(archive), await logIn(archive)]
    expect((await listed()).toSorted()).toEqual(gone.map(loginOf).toSorted())
    await end(gone.map(loginOf))
    expect(await listed()).toEqual([])
    const logins = [await logIn(), await logIn(invoices), await logIn()]
    expect((await listed()).toSorted()).toEqual(logins.map(loginOf).toSorted())
    for (const { refresh_token } of logins) await core.refresh(refresh_token)
    await logIn()
    expect(await listed()).toHaveLength(3)
  })
})
