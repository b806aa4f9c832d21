import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

let stack: Stack

const create = (server: TestServer, token: string) =>
  server.send('/rest/v1/deals/', { token, json: { name: 'deal123', price: 1234 } })

const patch = async (username: string, json: unknown): Promise<void> => {
  const { access: token } = await stack.logIn('admin')
  const { status, text } = await stack.auth.send(`/users/${username}`, { method: 'PATCH', token, json })
  expect({ status, text }).toMatchObject({ status: 200 })
}

/** Both deal servers answer an attempt to create a deal so within a second of now. */
const bothAnswer = (token: string, statuses: { readonly from: number; readonly to: number }) =>
  Promise.all(stack.deals.map((deal) => withinASecond(() => create(deal, token), statuses)))

/** Both deal servers know the user well; then the change; then both must refuse. */
const refusedEverywhere = async (change: () => Promise<unknown>): Promise<void> => {
  const { access } = await stack.logIn('carol')
  for (const deal of [...stack.deals, ...stack.deals]) expect((await create(deal, access)).status).toBe(201)
  await change()
  for (const reply of await bothAnswer(access, { from: 201, to: 403 })) expectProblem(reply, 403, 'missing-right')
  for (let round = 0; round < 20; round += 1) {
    for (const deal of stack.deals) expectProblem(await create(deal, access), 403, 'missing-right')
  }
}

/** The same with Redis is `test/conformance/schemes.e2e.test.ts`, by every scheme. */
describePostgresAndRedis('with Redis stopped, what was taken away', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
    const { access } = await stack.logIn('carol')
    for (const deal of stack.deals) expect((await create(deal, access)).status).toBe(201)
    await stack.redis?.kill()
  })
  afterAll(() => stack.close())

  it('refuses a right that was taken away, at both deal servers, though the token is valid', async () => {
    await refusedEverywhere(() => patch('carol', { roles: ['viewer'] }))
    const { access } = await stack.logIn('carol')
    expect((await stack.deal.send('/rest/v1/deals', { token: access })).status).toBe(200)
    await patch('carol', { roles: ['agent'] })
  })

  it('grants a right that was given, at both, within a second too', async () => {
    const { access } = await stack.logIn('dave')
    for (const deal of stack.deals) expectProblem(await create(deal, access), 403, 'missing-right')
    await patch('dave', { rights: ['deal.create'] })
    await bothAnswer(access, { from: 403, to: 201 })
    await patch('dave', { rights: [] })
  })

  it('every request still answers', async () => {
    const { access, refresh } = await stack.logIn('admin')
    const token = access
    const refreshed = await stack.auth.send('/refresh', { method: 'POST', token: refresh })
    expect(refreshed.status).toBe(200)
    expect((await stack.auth.send('/me', { token })).status).toBe(200)
    const json = { username: 'without-redis', password: 'a good long password', roles: ['manager'] }
    expect((await stack.auth.send('/users', { token, json })).status).toBe(201)
    const newPassword = 'another good long password'
    const put = await stack.auth.send('/users/without-redis/password', { method: 'PUT', token, json: { newPassword } })
    expect(put.status).toBe(204)
    const login = await stack.logIn('without-redis', newPassword)
    for (const deal of stack.deals) {
      const created = await create(deal, login.access)
      expect(created.status).toBe(201)
      const path = String(created.headers.get('location'))
      const hold = { method: 'PUT', token: login.access, json: { reason: 'test' } }
      expect((await deal.send(`${path}/hold`, hold)).body).toMatchObject({ held: true, version: 2 })
      expect((await deal.send(path, { token: login.access })).body).toMatchObject({ held: true })
      expect((await deal.send(path, { method: 'DELETE', token: login.access })).status).toBe(204)
      expect((await deal.send('/rest/v1/deals', { token: login.access })).status).toBe(200)
    }
    expect((await stack.auth.send('/users/without-redis', { method: 'DELETE', token })).status).toBe(204)
    expect((await stack.auth.send('/logout', { method: 'POST', token })).status).toBe(204)
    expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
  })

  it('readiness names the cache, and is ready all the same', async () => {
    for (const server of [stack.auth, ...stack.deals]) {
      const { status, body } = await server.send('/readyz')
      expect({ status, says: body.status }).toEqual({ status: 200, says: 'ready' })
      expect(body.dependencies).toContainEqual({ name: 'cache', status: 'unavailable', required: false })
      expect(body.dependencies).toContainEqual({ name: 'database', status: 'ok', required: true })
    }
  })

  it('goes back to the feed when Redis is there again', async () => {
    await stack.redis?.start()
    for (const deal of stack.deals) {
      await expect
        .poll(async () => (await deal.send('/readyz')).body.dependencies)
        .toContainEqual({ name: 'principal-feed', status: 'ok', required: false })
    }
    await refusedEverywhere(() => patch('carol', { roles: ['viewer'] }))
  })
})
