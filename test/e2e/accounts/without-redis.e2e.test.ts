/** Servers of a kind side by side that have no Redis on purpose: `REDIS_URL=none`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAuthConfig } from '../../../auth-server/config.ts'
import { readDealConfig } from '../../../deal-server/config.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { openWithoutRedis } from '../../support/stores/backends.ts'
import { digestSecretOf, openStack, type Stack } from '../../support/worlds/stack.ts'

describe('servers without Redis on purpose', () => {
  let stack: Stack
  beforeAll(async () => {
    stack = await openStack(openWithoutRedis, { dealServers: 2 })
  })
  afterAll(() => stack.close())

  it('may be so in production, where leaving the setting out is refused', () => {
    for (const read of [readAuthConfig, readDealConfig]) {
      const problemsOf = (REDIS_URL: string) =>
        read('alone', { NODE_ENV: 'production', REDIS_URL }).problems.filter(({ variable }) => variable === 'REDIS_URL')
      expect(problemsOf('none')).toEqual([])
      expect(problemsOf('')).toHaveLength(1)
      expect(problemsOf('None').length).toBeGreaterThan(0)
    }
  })

  it('are ready with nothing amiss, and warn of nothing', async () => {
    for (const server of [stack.auth, ...stack.deals]) {
      const { status, body } = await server.send('/readyz')
      expect(status).toBe(200)
      expect(JSON.stringify(body)).not.toContain('unavailable')
    }
    const { text } = await stack.deal.send('/metrics')
    expect(text).not.toMatch(/keyhold_dependency_up\{.*\} 0/)
    expect(text).not.toMatch(/ [+-]?Inf$/m)
    expect(stack.logLines.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
  })

  it('refuse within a second what was taken away, whichever was asked before', async () => {
    const { access: admin } = await stack.logIn('admin')
    for (let round = 0; round < 5; round += 1) {
      const { access: token } = await stack.logIn('carol')
      const statuses = () =>
        Promise.all(stack.deals.map(async (deal) => (await deal.send('/rest/v1/deals', { token })).status))
      // What a server was told of a user is good for half a second.
      await eventually(async () => expect(await statuses()).toEqual([200, 200]))
      const allowed = allowHoldUps()
      const disabling = { method: 'PATCH', token: admin, json: { enabled: false } }
      expect((await stack.auth.send('/users/carol', disabling)).status).toBe(200)
      const answeredAt = performance.now()
      await eventually(async () => expect(await statuses()).toEqual([401, 401]))
      expect(performance.now() - answeredAt).toBeLessThan(allowed(1_000))
      await stack.auth.send('/users/carol', { ...disabling, json: { enabled: true } })
    }
  })

  it('do not wait for a Redis before they acknowledge a change', async () => {
    const { access: admin } = await stack.logIn('admin')
    const allowed = allowHoldUps()
    const startedAt = performance.now()
    const json = { roles: ['viewer'] }
    expect((await stack.auth.send('/users/bob', { method: 'PATCH', token: admin, json })).status).toBe(200)
    expect(performance.now() - startedAt).toBeLessThan(allowed(900))
  })

  it('count Digest requests together, in the database', async () => {
    const uri = '/rest/v1/deals'
    const send = (server: number, nonce: string, count: number) => {
      const input = { username: 'alice', secret: digestSecretOf('alice'), nonce, method: 'GET', uri, count }
      const authorization = digestCredential(input)
      return stack.deals[server]?.send(uri, { headers: { authorization } }) ?? expect.fail('no such server')
    }
    const nonce = await askForNonce(stack.deal.url)
    for (const count of [1, 2, 3, 4]) expect((await send(count % 2, nonce, count)).status).toBe(200)
    for (const count of [1, 2, 3, 4]) {
      expectProblem(await send((count + 1) % 2, nonce, count), 401, 'invalid-credentials')
    }
  })
})
