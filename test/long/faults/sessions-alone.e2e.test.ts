import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { type HoldingProxy, startHoldingProxy } from '../../support/processes/proxies/holding-proxy.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let way: HoldingProxy

describeBackends('sessions while the auth server cannot be reached', (openBackend) => {
  beforeAll(async () => {
    const port = await freePort()
    way = await startHoldingProxy(port)
    const environment = { AUTH_PORT: String(port), AUTH_URL: `http://127.0.0.1:${way.port}` }
    stack = await openStack(openBackend, { environment })
  })
  afterAll(() => stack.close())

  const read = (cookie: string) => stack.deal.send('/rest/v1/deals', { headers: { cookie } })

  it('go on where they are known or cached, move there, and are refused or not decided otherwise', async () => {
    const [known, cached, ended] = [
      await signIn(stack, 'carol'),
      await signIn(stack, 'carol'),
      await signIn(stack, 'bob'),
    ]
    for (const { cookie } of [known, ended]) expect((await read(cookie)).status).toBe(200)
    await way.close()
    for (const { cookie } of [known, cached]) expect((await read(cookie)).status).toBe(200)
    for (let round = 0; round < 3; round += 1) {
      stack.clock.advanceSeconds(1200)
      expect((await read(known.cookie)).status).toBe(200)
    }
    expectProblem(await read(cached.cookie), 503, 'unavailable')
    expectProblem(await read(`keyhold_session=${'A'.repeat(43)}`), 503, 'unavailable')
    expect((await stack.auth.send(`/sessions/${ended.key}`, { method: 'DELETE' })).status).toBe(204)
    expect([401, 503]).toContain((await read(ended.cookie)).status)
  })
})
