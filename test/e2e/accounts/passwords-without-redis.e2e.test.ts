import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { digestSecretOf, openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

describePostgresAndRedis('passwords and Digest while Redis is away', (openBackend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2, environment: { LOGIN_FAILURES_PER_ACCOUNT: '4/600' } })
  })
  afterAll(() => stack.close())

  const uri = '/rest/v1/deals'
  const send = (server: number, authorization: string) =>
    stack.deals[server]?.send(uri, { headers: { authorization } }) ?? expect.fail('no such server')
  const digestOf = (nonce: string, count: number) =>
    digestCredential({ username: 'alice', secret: digestSecretOf('alice'), nonce, method: 'GET', uri, count })
  const basicOf = (username: string, password: string) =>
    `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const logIn = (username: string, password: string) => stack.auth.send('/login', { json: { username, password } })

  it('go on, take nothing twice, and are limited as before', async () => {
    const nonce = await askForNonce(stack.deal.url)
    expect((await send(0, digestOf(nonce, 1))).status).toBe(200)
    for (let guess = 0; guess < 3; guess += 1) expect((await logIn('bob', `wrong password ${guess}`)).status).toBe(401)
    await stack.redis?.kill()
    expectProblem(await send(0, digestOf(nonce, 1)), 401, 'stale-nonce')
    expectProblem(await send(1, digestOf(nonce, 2)), 401, 'stale-nonce')
    const other = await askForNonce(stack.deal.url)
    expect((await send(0, digestOf(other, 1))).status).toBe(200)
    expect((await send(1, digestOf(other, 2))).status).toBe(200)
    expectProblem(await send(1, digestOf(other, 1)), 401, 'invalid-credentials')
    expect((await send(0, basicOf('carol', passwordOf('carol')))).status).toBe(200)
    expectProblem(await send(1, basicOf('carol', 'not the password')), 401, 'invalid-credentials')
    expect((await logIn('bob', 'wrong password 3')).status).toBe(401)
    expectProblem(await logIn('bob', passwordOf('bob')), 429, 'too-many-attempts')
    await stack.redis?.start()
    for (const server of [stack.auth, ...stack.deals]) {
      await expect
        .poll(async () => (await server.send('/readyz')).body.dependencies)
        .toContainEqual({ name: 'cache', status: 'ok', required: false })
    }
    for (const count of [1, 2]) expectProblem(await send(0, digestOf(other, count)), 401, 'invalid-credentials')
    expect((await send(0, digestOf(other, 3))).status).toBe(200)
    expectProblem(await send(0, digestOf(nonce, 1)), 401, 'stale-nonce')
    expectProblem(await logIn('bob', passwordOf('bob')), 429, 'too-many-attempts')
    expect((await send(1, digestOf(await askForNonce(stack.deal.url), 1))).status).toBe(200)
  })
})
