import { afterAll, beforeAll, expect, it } from 'vitest'
import { redisRights } from '../../../auth-server/cli/offline/redis-acl.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { eventually } from '../../support/eventually.ts'
import { type Backend, describePostgresAndRedis, type OpenBackend } from '../../support/stores/backends.ts'
import { openTestCache } from '../../support/stores/redis-cache.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

/** Whatever a URL might trip over. */
const [user, password] = ['servers@home', 'a/password:with@all?of#it%']
let stack: Stack

/**
 * The same, on a Redis that takes nobody but one user with its password, who may do what is written down and no more.
 */
const guarded =
  (open: OpenBackend): OpenBackend =>
  async (): Promise<Backend> => {
    const backend = await open()
    const { redis } = backend
    if (!redis) throw new Error('unreachable')
    await redis.command('ACL', 'SETUSER', user, 'on', `>${password}`, ...redisRights.split(' '))
    await redis.command('ACL', 'SETUSER', 'default', 'off')
    const REDIS_URL = `redis://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${redis.port}`
    return {
      ...backend,
      environment: { ...backend.environment, REDIS_URL },
      openCache: (secrets) => openTestCache(REDIS_URL, { ...(secrets && { secrets }), commandTimeoutMs: 1000 }),
    }
  }

describePostgresAndRedis('a Redis that wants a user and a password', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(guarded(openBackend), { dealServers: 2 })
  })
  afterAll(() => stack.close())

  it('serves everything with the rights that are written down', async () => {
    const isReady = async () => {
      for (const server of [stack.auth, ...stack.deals]) {
        const { status, body } = await server.send('/readyz')
        expect({ status, missing: missingAt(body) }).toEqual({ status: 200, missing: [] })
      }
    }
    await eventually(isReady)
    const { access: token } = await stack.logIn('carol')
    const { cookie } = await signIn(stack, 'carol')
    await stack.auth.send('/login', { json: { username: 'carol', password: 'wrong' } })
    for (const deal of stack.deals) {
      expect((await deal.send('/rest/v1/deals', { headers: { cookie } })).status).toBe(200)
      expect((await deal.send('/rest/v1/deals', { token, json: { name: 'guarded', price: 1 } })).status).toBe(201)
    }
    await isReady()
  })

  it('is really asked for by somebody who may do no more than that', async () => {
    const cache = openTestCache(String(stack.environment.REDIS_URL))
    const denied = () => cache.getVersioned('foreign').catch(({ cause }) => String(cause?.message))
    await eventually(async () => expect(await denied()).toMatch(/NOPERM|No permissions/))
    await cache.close()
  })
})

function missingAt(body: Record<string, unknown>): unknown[] {
  const dependencies = body.dependencies as { status: string; name: string }[]
  return dependencies.filter(({ status }) => status !== 'ok').map(({ name }) => name)
}
