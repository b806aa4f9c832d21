/** Somebody else can write to Redis: that gives no rights, no session, and no 500. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sessionKeyHash } from '../../../shared/protocol/authentication/session/session-times.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { eventually } from '../../support/eventually.ts'
import type { RedisServer } from '../../support/processes/stores/redis-server.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'

let stack: Stack
let redis: RedisServer

describePostgresAndRedis('a stranger who writes to Redis', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    if (!stack.redis) throw new Error('unreachable')
    redis = stack.redis
    // The record of a user comes to Redis when it changes, or when a deal server asks for it.
    const { access: token } = await stack.logIn('admin')
    expect((await stack.deal.send('/rest/v1/deals', { token })).status).toBe(200)
  })
  afterAll(() => stack.close())

  const keyOf = async (name: string): Promise<string> => {
    const keys = async () => (await redis.command('KEYS', `*:${name}`)) as string[]
    // Records come there after the answer.
    await expect.poll(keys).toHaveLength(1)
    return String((await keys())[0])
  }
  const read = async (key: string) => String(await redis.command('GET', key))
  /** As it stands there, with a version that beats all. */
  const newest = (text: string): string =>
    text.replace(/^(\S+) \d+ /, '$1 999999 ').replace(/"version":\d+/, '"version":999999')

  const makeDeal = async (deal: TestServer, token: string) =>
    deal.send('/rest/v1/deals', { token, json: { name: 'forged', price: 1 } })

  it('gives nobody the rights of another: the record is asked for again', async () => {
    const { access: admin } = await stack.logIn('admin')
    await stack.auth.send('/users', {
      token: admin,
      json: { username: 'reader', password: 'a long password of the reader' },
    })
    const { access: token } = await stack.logIn('reader', 'a long password of the reader')
    await stack.auth.send('/users/reader', { method: 'PATCH', token: admin, json: { roles: ['viewer'] } })
    const [reader, all] = [await keyOf('principal2:reader'), await read(await keyOf('principal2:admin'))]
    const own = await read(reader)
    const roles = /"roles":\[[^\]]*\]/
    expect(roles.exec(all)?.[0]).toContain('admin')
    const forgeries = [
      newest(own.replace(roles, roles.exec(all)?.[0] ?? '')),
      newest(all),
      newest(all).replaceAll('admin', 'reader'),
      'no record at all',
    ]
    for (const forged of forgeries) {
      await redis.command('SET', reader, forged)
      // Knows nothing but what is in Redis.
      const deal = await stack.addDealServer()
      expectProblem(await makeDeal(deal, token), 403, 'missing-right')
      expect((await deal.send('/rest/v1/deals', { token })).status).toBe(200)
    }
  })

  it('gives no role another right: the catalogue is asked for again', async () => {
    const { access: admin } = await stack.logIn('admin')
    const role = { name: 'historian', description: 'Reads what was', rights: ['deal.read', 'deal.history.read'] }
    expect((await stack.auth.send('/roles', { token: admin, json: role })).status).toBe(201)
    const json = { username: 'hugo', password: 'a long password of hugo', roles: [role.name] }
    await stack.auth.send('/users', { token: admin, json })
    const { access: token } = await stack.logIn('hugo', json.password)
    const catalogue = await keyOf('principal2::catalogue')
    const own = await read(catalogue)
    const forged = newest(own.replaceAll('"deal.history.read"', '"deal.history.read","deal.create"'))
    expect(forged).not.toBe(newest(own))
    for (const text of [forged, newest(await read(await keyOf('principal2:admin'))), 'no catalogue at all']) {
      await redis.command('SET', catalogue, text)
      const deal = await stack.addDealServer()
      expectProblem(await makeDeal(deal, token), 403, 'missing-right')
      expect((await deal.send('/rest/v1/deals', { token })).status).toBe(200)
    }
  })

  it('makes no session', async () => {
    const { cookie, key } = await signIn(stack, 'carol')
    const place = await keyOf(`session:${sessionKeyHash(key)}`)
    const stolen = 'A'.repeat(43)
    await redis.command('SET', place.replace(sessionKeyHash(key), sessionKeyHash(stolen)), newest(await read(place)))
    const deal = await stack.addDealServer()
    expect((await deal.send('/rest/v1/deals', { headers: { cookie: `keyhold_session=${stolen}` } })).status).toBe(401)
    expect((await deal.send('/rest/v1/deals', { headers: { cookie } })).status).toBe(200)
  })

  it('does not stop the feed, nor make one of his own pass for it', async () => {
    const { access: token } = await stack.logIn('admin', passwordOf('admin'))
    const marker = await keyOf('principal-feed:upTo')
    await redis.command('SET', marker, newest(await read(marker)))
    const channel = marker.replace(':upTo', '')
    const [after, upTo] = [999_999, 999_999]
    const message = { after, upTo, ageMs: 0, keys: '', changes: [{ username: 'admin', version: upTo }] }
    await redis.command('PUBLISH', channel, JSON.stringify(message))
    for (const deal of stack.deals) {
      await eventually(async () => {
        const { body } = await deal.send('/readyz')
        expect(body.dependencies).toContainEqual({ name: 'principal-feed', status: 'ok', required: false })
      })
      expect((await makeDeal(deal, token)).status).toBe(201)
    }
  })
})
