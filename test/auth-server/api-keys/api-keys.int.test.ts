import { beforeAll, expect, it, vi } from 'vitest'
import { type ApiKeys, createApiKeys } from '../../../auth-server/api-keys/api-keys.ts'
import { hasSecret } from '../../../auth-server/api-keys/key-material.ts'
import { createApiKeyExpiry } from '../../../auth-server/api-keys/key-use.ts'
import { createCatalogues } from '../../../auth-server/principals/catalogue.ts'
import { createPrincipalReader } from '../../../auth-server/principals/principal-reader.ts'
import { ensureAnonymous, insertUser } from '../../../auth-server/users/create-user.ts'
import { createHousekeeping } from '../../../shared/platform/database/housekeeping.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createMovableClock } from '../../support/worlds/movable-clock.ts'
import { createAuthSystems } from '../support/auth-core.ts'
import { entriesDuring } from '../support/stored-entries.ts'

let apiKeys: ApiKeys
const clock = createMovableClock()
const settled: number[] = []

describeDatabases('API keys in the database', (open) => {
  const { database } = databaseOfSuite(open)
  const record = () => createPrincipalReader({ database, clock, catalogues: createCatalogues(database) }).record('erin')

  beforeAll(async () => {
    const systems = createAuthSystems({ database, clock })
    await ensureAnonymous(systems)
    await insertUser(systems, { username: 'Erin', passwordHash: null, roles: [], rights: [], enabled: true })
    vi.spyOn(systems.publisher, 'waitUntilPublished').mockImplementation(async (number) => void settled.push(number))
    apiKeys = createApiKeys({ rsaPairsPerMinute: 10 }, systems)
  })

  const make = () => apiKeys.create({ kind: 'hmac', username: 'erin' })

  it('change their principal, and that is settled before anybody is answered', async () => {
    const before = (await record())?.version ?? 0
    const { key } = await make()
    const made = (await record())?.version ?? 0
    expect(made).toBeGreaterThan(before)
    expect(settled.at(-1)).toBe(made)
    expect((await apiKeys.material(key.id))?.version).toBe(made)
    await apiKeys.revoke(key.id, {})
    const revoked = (await record())?.version ?? 0
    expect(revoked).toBeGreaterThan(made)
    expect(settled.at(-1)).toBe(revoked)
  })

  it('are revoked once, by however many at the same time', async () => {
    const { key } = await make()
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => apiKeys.revoke(key.id, {})))
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true)
    await expect(apiKeys.revoke(key.id, {})).rejects.toMatchObject({ code: 'not-found' })
    expect(await apiKeys.material(key.id)).toBeUndefined()
  })

  it('never stand in the database as they were shown', async () => {
    const { key, secret = '' } = await make()
    const [row] = await database.query<{ text: string }>(
      'select k::text as text from auth.api_keys k where id = $1::text::uuid',
      [key.id],
    )
    expect(row?.text).not.toContain(secret)
    expect((await apiKeys.material(key.id))?.secret).toBe(secret)
  })

  it('authenticate OAuth clients by their secret, and no other way', async () => {
    const [one, other] = [await make(), await make()]
    const is = async (id = '', secret = '') => hasSecret(await apiKeys.material(id), secret)
    expect(await is(one.key.id, one.secret)).toBe(true)
    for (const [id, secret] of [
      [one.key.id, other.secret],
      [one.key.id, ''],
      [other.key.id, one.secret],
      ['00000000-0000-7000-8000-000000000000', one.secret],
      ['x', 'no API key has this secret'],
    ]) {
      expect(await is(id, secret)).toBe(false)
    }
    const rsa = await apiKeys.create({ kind: 'rsa', username: 'erin' })
    expect(await is(rsa.key.id, 'no API key has this secret')).toBe(false)
  })

  it('end the tokens that were made with them, as long as these live', async () => {
    const { key } = await make()
    expect(await apiKeys.keepForTokens(key.id, clock.now() + 1000_000)).toBe(true)
    expect(await apiKeys.keepForTokens(key.id, clock.now() + 10)).toBe(true)
    expect((await record())?.revokedIds).not.toContain(key.id)
    await apiKeys.revoke(key.id, {})
    expect((await record())?.revokedIds).toContain(key.id)
    expect(await apiKeys.keepForTokens(key.id, clock.now() + 1000)).toBe(false)
    clock.advanceSeconds(1100)
    expect((await record())?.revokedIds).not.toContain(key.id)
  })

  it('are read and kept for many callers at once, each for its own', async () => {
    const [one, other, revoked] = [await make(), await make(), await make()]
    await apiKeys.revoke(revoked.key.id, {})
    const unknown = '00000000-0000-7000-8000-000000000000'
    const asked = [one.key.id, revoked.key.id, other.key.id, unknown, one.key.id, 'no id']
    const found = await Promise.all(asked.map((id) => apiKeys.material(id)))
    const expected = [one.secret, undefined, other.secret, undefined, one.secret, undefined]
    expect(found.map((material) => material?.secret)).toEqual(expected)
    const soon = clock.now() + 20_000
    const times = [soon, soon, soon, soon, soon + 1000_000, soon]
    const kept = await Promise.all(asked.map((id, at) => apiKeys.keepForTokens(id, times[at] ?? 0)))
    expect(kept).toEqual([true, false, true, false, true, false])
    await Promise.all([one, other].map(({ key }) => apiKeys.revoke(key.id, {})))
    clock.advanceSeconds(600)
    expect((await record())?.revokedIds).toContain(one.key.id)
    expect((await record())?.revokedIds).not.toContain(other.key.id)
    clock.advanceSeconds(1000)
  })

  it('store an audit entry with each token, and none for a key that is revoked', async () => {
    const [live, revoked] = [await make(), await make()]
    await apiKeys.revoke(revoked.key.id, {})
    const until = clock.now() + 60_000
    const keep = (id: string) => apiKeys.keepForTokens(id, until, { action: 'token.issued', target: id })
    const entries = await entriesDuring({ database, clock }, async () => {
      await Promise.all([live, revoked, live].map(({ key }) => keep(key.id)))
      await keep(live.key.id)
      await apiKeys.keepForTokens(live.key.id, until)
    })
    expect(entries).toEqual(Array(3).fill(['token.issued', live.key.id, 'succeeded']))
  })

  it('write the time of their tokens in steps, and no token outlives what is written', async () => {
    const { key } = await make()
    const written = async () => {
      const sql =
        'select xmin::text as xmin, tokens_expire_at::text as until from auth.api_keys where id = $1::text::uuid'
      const [row] = await database.query<{ xmin: string; until: string }>(sql, [key.id])
      return row ?? { xmin: '', until: '' }
    }
    const start = Math.ceil(clock.now() / 10_000) * 10_000
    expect(await apiKeys.keepForTokens(key.id, start + 500_001)).toBe(true)
    const first = await written()
    expect(Date.parse(first.until)).toBe(start + 510_000)
    expect(await apiKeys.keepForTokens(key.id, start + 510_000)).toBe(true)
    expect(await written()).toEqual(first)
    expect(await apiKeys.keepForTokens(key.id, start + 510_001)).toBe(true)
    expect(Date.parse((await written()).until)).toBe(start + 520_000)
  })

  it('are removed when they have ended, but not while a token of theirs may live', async () => {
    const count = async () => (await database.query('select 1 from auth.api_keys')).length
    const jobs = [createApiKeyExpiry(clock)]
    const log = { info: () => undefined, warn: () => undefined }
    const clean = () => createHousekeeping({ database, clock, log, name: 'test', jobs }).runOnce()
    clock.advanceSeconds(100)
    await clean()
    const before = await count()
    const [revoked, withToken, expiring] = [
      await make(),
      await make(),
      await apiKeys.create({ kind: 'hmac', username: 'erin', expiresAt: clock.now() + 10_000 }),
    ]
    await apiKeys.keepForTokens(withToken.key.id, clock.now() + 1000_000)
    await Promise.all([revoked, withToken].map(({ key }) => apiKeys.revoke(key.id, {})))
    await clean()
    expect(await count()).toBe(before + 3)
    clock.advanceSeconds(100)
    await clean()
    expect(await count()).toBe(before + 1)
    await expect(apiKeys.read(expiring.key.id, {})).rejects.toMatchObject({ code: 'not-found' })
    clock.advanceSeconds(1000)
    await clean()
    expect(await count()).toBe(before)
  })
})
