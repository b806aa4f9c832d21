/** Instances with databases of their own on one Redis: side by side, and one after the other. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAuthClient } from '../../../verify/src/auth-client/auth-client.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { type Backend, describeOnce } from '../../support/stores/backends.ts'
import { lent, withCacheOf } from '../../support/stores/shared-cache.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const isCurrent = async (server: TestServer): Promise<boolean> => {
  const { body } = await server.send('/readyz')
  const dependencies = body.dependencies as { name: string; status: string }[]
  return dependencies.some(({ name, status }) => name === 'principal-feed' && status === 'ok')
}

const expectCurrent = async (stack: Stack): Promise<void> => {
  for (const server of [stack.auth, ...stack.deals]) await expect.poll(() => isCurrent(server)).toBe(true)
}

/** Changes a user, which is acknowledged before the cache would be given up. */
const patch = async (stack: Stack, username: string, json: object): Promise<void> => {
  const { access: token } = await stack.logIn('admin')
  const allowed = allowHoldUps()
  const began = performance.now()
  const { status, text } = await stack.auth.send(`/users/${username}`, { method: 'PATCH', token, json })
  expect({ status, text }).toMatchObject({ status: 200 })
  expect(performance.now() - began).toBeLessThan(allowed(900))
}

const create = (server: TestServer, token: string) =>
  server.send('/rest/v1/deals/', { token, json: { name: 'deal123', price: 1234 } })

/** From within a second of now on, every deal server of the stack answers so. */
const takesEffect = async (stack: Stack, token: string, expected: 201 | 'missing-right'): Promise<void> => {
  const statuses = expected === 201 ? { from: 403, to: 201 } : { from: 201, to: 403 }
  await Promise.all(stack.deals.map((deal) => withinASecond(() => create(deal, token), statuses)))
  await expectEverywhere(stack, token, expected)
}

/** Every deal server of the stack must answer so, again and again, over more than a heartbeat. */
const expectEverywhere = async (stack: Stack, token: string, expected: 201 | 'missing-right'): Promise<void> => {
  for (let round = 0; round < 8; round += 1) {
    for (const deal of stack.deals) {
      const reply = await create(deal, token)
      if (expected === 201) expect(reply.status).toBe(201)
      else expectProblem(reply, 403, expected)
    }
    await sleep(50)
  }
}

describeOnce('two instances that share one Redis', (open) => {
  let backend: Backend
  let first: Stack
  let second: Stack

  beforeAll(async () => {
    backend = await open()
    first = await openStack(lent(backend), { dealServers: 2 })
    second = await openStack(() => withCacheOf(backend, open), { dealServers: 2 })
  })
  afterAll(async () => {
    await second.close()
    await first.close()
    await backend.close()
  })

  it('both have a current feed', async () => {
    for (const stack of [first, second]) await expectCurrent(stack)
  })

  it.each(['first', 'second'])(
    'a right taken away in the %s is neither taken nor given in the other',
    async (which) => {
      const [here, there] = which === 'first' ? [first, second] : [second, first]
      const [tokenHere, tokenThere] = [(await here.logIn('carol')).access, (await there.logIn('carol')).access]
      await Promise.all([expectEverywhere(here, tokenHere, 201), expectEverywhere(there, tokenThere, 201)])
      // The numbers of the one must not run ahead of the other's for nothing.
      for (let count = 0; count < 10; count += 1)
        await patch(there, 'bob', { rights: count % 2 ? [] : ['deal.create'] })
      await patch(here, 'carol', { roles: ['viewer'] })
      await Promise.all([takesEffect(here, tokenHere, 'missing-right'), expectEverywhere(there, tokenThere, 201)])
      await patch(there, 'carol', { roles: ['viewer'] })
      await patch(here, 'carol', { roles: ['agent'] })
      await Promise.all([takesEffect(here, tokenHere, 201), takesEffect(there, tokenThere, 'missing-right')])
      await patch(there, 'carol', { roles: ['agent'] })
      await Promise.all([expectCurrent(first), expectCurrent(second)])
    },
  )

  it('the auth server says of each answer whose it is, also of one about nobody', async () => {
    const ids: string[] = []
    for (const { auth, clock, environment } of [first, second]) {
      const serviceSecret = environment.SERVICE_SECRET ?? ''
      const client = createAuthClient(fakeSystems({ clock, fetch, serviceSecret }), { authUrl: auth.url })
      const instanceId = await client.instanceId()
      expect(await client.principal('carol')).toMatchObject({ instanceId, record: { username: 'carol' } })
      for (const name of ['nobody', '\0', 'no name']) {
        expect(await client.principal(name)).toEqual({ instanceId, record: undefined })
      }
      ids.push(instanceId)
    }
    expect(new Set(ids).size).toBe(2)
  })

  it('a user who exists in one does not in the other', async () => {
    const { access: token } = await first.logIn('admin')
    const json = { username: 'only-here', password: 'a good long password', roles: ['agent'] }
    expect((await first.auth.send('/users', { token, json })).status).toBe(201)
    const { access } = await first.logIn('only-here', json.password)
    await expectEverywhere(first, access, 201)
    await expect(second.logIn('only-here', json.password)).rejects.toThrow('401')
  })
})

describeOnce('a new database under a Redis that another database used', (open) => {
  it('has a current feed soon, and its changes are acknowledged before the cache would be given up', async () => {
    const backend = await open()
    const former = await openStack(lent(backend))
    for (let count = 0; count < 20; count += 1)
      await patch(former, 'dave', { rights: count % 2 ? [] : ['deal.create'] })
    await former.close()

    const next = await openStack(() => withCacheOf(backend, open))
    try {
      await expectCurrent(next)
      const { access } = await next.logIn('dave')
      await expectEverywhere(next, access, 'missing-right')
      await patch(next, 'dave', { rights: ['deal.create'] })
      await takesEffect(next, access, 201)
    } finally {
      await next.close()
      await backend.close()
    }
  })
})
