import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { basicClient } from '../../support/clients/scheme-clients/basic.ts'
import { bearerClient } from '../../support/clients/scheme-clients/bearer.ts'
import { openSender } from '../../support/clients/scheme-clients/send-with.ts'
import { makeService, type ServiceCredential } from '../../support/clients/service-client.ts'
import { eventually } from '../../support/eventually.ts'
import { type AuthProcess, startAuthProcess } from '../../support/processes/auth-process.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import {
  firstService,
  startVerifyingServices,
  type VerifyingServices,
} from '../../support/worlds/verifying-services.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const audience = 'deals'
const request = { path: '/me', sent: {} }

describePostgresAndRedis('services that verify, when the auth server is killed', (openBackend) => {
  let stack: Stack
  let service: ServiceCredential
  let auth: AuthProcess
  let worlds: VerifyingServices[] = []

  const start = async (options: { recordMaxAgeSeconds?: number } = {}) => {
    const world = await startVerifyingServices({ authServer: auth.server.url, service, audience, ...options })
    worlds.push(world)
    await world.verifier.ready()
    return world
  }
  const administer = async (json: object) => {
    const { access: token } = await stack.logIn('admin')
    const { status, text } = await stack.auth.send('/users/carol', { method: 'PATCH', token, json })
    expect(status, text).toBe(200)
  }

  beforeAll(async () => {
    stack = await openStack(openBackend, {
      hashing: 'costly',
      environment: { LOGIN_FAILURES_PER_ADDRESS: '100000/60' },
    })
    service = await makeService(stack)
    auth = await startAuthProcess(stack)
  })
  afterEach(async () => {
    for (const world of worlds) await world.close()
    worlds = []
  })
  afterAll(async () => {
    await auth.child.end('SIGKILL')
    await stack.close()
  })

  it('let known callers go on, refuse what cannot be known, and know it all after the restart', async () => {
    const world = await start()
    const known = await openSender(bearerClient, stack, 'carol')
    const unknown = await openSender(bearerClient, stack, 'bob')
    const byPassword = await openSender(basicClient, stack, 'dave')
    expect((await known(firstService(world), request)).status).toBe(200)

    await auth.child.end('SIGKILL')
    for (let count = 0; count < 20; count += 1) expect((await known(firstService(world), request)).status).toBe(200)
    expectProblem(await unknown(firstService(world), request), 503, 'unavailable')
    expectProblem(await byPassword(firstService(world), request), 503, 'unavailable')
    // Another auth server carries this out: the service hears of it after the restart.
    await administer({ roles: [] })

    auth = await startAuthProcess(stack, auth.server.port)
    const guarded = { path: '/rest/v1/deals', sent: {} }
    await eventually(async () => expect((await known(firstService(world), guarded)).status).toBe(403))
    await eventually(async () => expect((await unknown(firstService(world), request)).status).toBe(200))
    expect((await byPassword(firstService(world), request)).status).toBe(200)
    await administer({ roles: ['agent'] })
    await eventually(async () => expect((await known(firstService(world), guarded)).status).toBe(200))
    await administer({ roles: [] })
    await withinASecond(() => known(firstService(world), guarded), { from: 200, to: 403 })
    await administer({ roles: ['agent'] })
  })

  it('refuse known callers too when their records are older than recordMaxAgeSeconds', async () => {
    const world = await start({ recordMaxAgeSeconds: 2 })
    const known = await openSender(bearerClient, stack, 'carol')
    expect((await known(firstService(world), request)).status).toBe(200)
    await auth.child.end('SIGKILL')
    expect((await known(firstService(world), request)).status).toBe(200)
    await eventually(async () => expectProblem(await known(firstService(world), request), 503, 'unavailable'))
    auth = await startAuthProcess(stack, auth.server.port)
    await eventually(async () => expect((await known(firstService(world), request)).status).toBe(200))
  })
})
