import { decodeJwt } from 'jose'
import { beforeAll, expect, it } from 'vitest'
import { createLoginExpiry } from '../../../auth-server/logins/refresh-token-families.ts'
import { createHousekeeping } from '../../../shared/platform/database/housekeeping.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { type AuthCore, createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

const log = createLog({ level: 'silent', format: 'json' })
const hour = 3_600_000

describeDatabases('housekeeping of logins', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let core: AuthCore
  let username: string

  beforeAll(async () => {
    core = createAuthCore({ database, clock })
    username = (await core.users.create({ username: 'expiring', password: goodPassword })).username
  })

  const logIn = async () => {
    const tokens = await core.logIn({ username, password: goodPassword })
    return { ...tokens, id: String(decodeJwt(tokens.access_token).sid) }
  }
  const isKnown = async (login: { id: string }) => (await core.refreshTokenFamilies.find(login.id)) !== undefined
  const housekeeping = () => {
    return createHousekeeping(
      { database, clock, log, name: 'auth', jobs: [createLoginExpiry(clock)] },
      { batchSize: 2 },
    )
  }
  const keepHouse = async () => expect(await housekeeping().runOnce()).toBe(true)

  it('forgets a login when its tokens have expired for the slowest clock too', async () => {
    const login = await logIn()
    clock.advance(24 * hour + 59_000)
    await keepHouse()
    expect(await isKnown(login)).toBe(true)
    clock.advance(1000)
    await keepHouse()
    expect(await isKnown(login)).toBe(false)
    await expect(core.refresh(login.refresh_token)).rejects.toMatchObject({ code: 'invalid_grant' })
    await core.logOut(login.access_token)
    await core.logOut(login.refresh_token)
  })

  it('remembers an ended login as long as an access token of it lives', async () => {
    const [ended, alive] = [await logIn(), await logIn()]
    await core.logOut(ended.access_token)
    clock.advance(hour / 2 + 59_000)
    await keepHouse()
    expect((await core.record(username))?.revokedIds).toEqual([ended.id])
    expect(await isKnown(ended)).toBe(true)
    clock.advance(1000)
    await keepHouse()
    expect((await core.record(username))?.revokedIds).toEqual([])
    expect([await isKnown(ended), await isKnown(alive)]).toEqual([false, true])
  })

  it('does it once when several instances are at it', async () => {
    await keepHouse()
    const logins = [await logIn(), await logIn(), await logIn(), await logIn(), await logIn()]
    clock.advance(25 * hour)
    const recent = await logIn()
    const instances = [housekeeping(), housekeeping(), housekeeping()]
    expect(await Promise.all(instances.map((each) => each.runOnce()))).toContain(true)
    const removed = instances.map((each) => each.removed().get('expired logins') ?? 0)
    expect(removed.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(5)
    for (const login of logins) expect(await isKnown(login)).toBe(false)
    expect(await isKnown(recent)).toBe(true)
  })
})
