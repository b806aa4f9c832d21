/** Services that verify, and an auth server that refuses them, or was never there. */
import { createServer, type Server } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { basicClient } from '../support/clients/scheme-clients/basic.ts'
import { bearerClient } from '../support/clients/scheme-clients/bearer.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import { openSender, type SendWith } from '../support/clients/scheme-clients/send-with.ts'
import { makeService, type ServiceCredential } from '../support/clients/service-client.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/processes/free-port.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { firstService, startVerifyingServices, type VerifyingServices } from '../support/worlds/verifying-services.ts'
import { withinASecond } from '../support/worlds/within-a-second.ts'

const audience = 'deals'
const request = { path: '/me', sent: {} }

/** Something in front of an auth server that can refuse every request to `/internal`. */
async function startGate(authUrl: string) {
  const gate = { isShut: false }
  const server: Server = createServer(async (incoming, outgoing) => {
    if (gate.isShut && incoming.url?.startsWith('/internal')) {
      outgoing.writeHead(401, { 'content-type': 'application/problem+json' }).end('{"code":"unauthenticated"}')
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const { host: _host, connection: _connection, ...headers } = incoming.headers
    const hasBody = chunks.length > 0
    const response = await fetch(authUrl + incoming.url, {
      method: incoming.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(hasBody && { body: Buffer.concat(chunks) }),
    }).catch(() => undefined)
    if (!response) {
      outgoing.destroy()
      return
    }
    const {
      'content-encoding': _coding,
      'transfer-encoding': _transfer,
      ...fields
    } = Object.fromEntries(response.headers)
    outgoing.writeHead(response.status, fields)
    outgoing.flushHeaders()
    const cut = setInterval(() => gate.isShut && outgoing.destroy(), 20)
    try {
      for await (const piece of response.body ?? []) outgoing.write(piece)
    } catch {
      outgoing.destroy()
    } finally {
      clearInterval(cut)
    }
    outgoing.end()
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${port}`,
    shut: (isShut: boolean) => {
      gate.isShut = isShut
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describeBackends('services that verify, which the auth server does not accept', (openBackend) => {
  let stack: Stack
  let worlds: VerifyingServices[] = []

  const start = async (authServer: string, service: ServiceCredential, of = audience) => {
    const world = await startVerifyingServices({ authServer, service, audience: of })
    worlds.push(world)
    return world
  }
  /** What each scheme answers for a right credential. */
  const askByAll = async (world: VerifyingServices): Promise<Reply[]> => {
    const replies: Reply[] = []
    for (const client of schemeClients.filter(({ name }) => name !== 'digest')) {
      const send: SendWith = await openSender(client, stack, 'alice')
      replies.push(await send(firstService(world), request))
    }
    return replies
  }

  beforeAll(async () => {
    stack = await openStack(openBackend, { hashing: 'costly' })
  })
  afterEach(async () => {
    for (const world of worlds) await world.close()
    worlds = []
  })
  afterAll(() => stack.close())

  it('answer 503 to everything with a wrong secret, and say so in the log', async () => {
    const { id } = await makeService(stack)
    const world = await start(stack.auth.url, { id, secret: 'x'.repeat(43) })
    await eventually(() => expect(world.messages.join()).toMatch(/refuses this service: its secret is wrong/))
    for (const reply of await askByAll(world)) expectProblem(reply, 503, 'unavailable')
    expect((await firstService(world).send('/me')).headers.get('retry-after')).toBe('1')
  })

  it('answer 503 to everything where nothing can be reached', async () => {
    const world = await start(`http://127.0.0.1:${await freePort()}`, await makeService(stack))
    await eventually(() => expect(world.messages.join()).toMatch(/does not answer/))
    for (const reply of await askByAll(world)) expectProblem(reply, 503, 'unavailable')
  })

  it('answer 503 with an audience that is not theirs, and say so', async () => {
    const world = await start(stack.auth.url, await makeService(stack), 'urn:example:other')
    await expect(world.verifier.ready()).rejects.toThrow(/resource server deals, whose audience is /)
    for (const reply of await askByAll(world)) expectProblem(reply, 503, 'unavailable')
  })

  it('answer 503 to everything within a second after their resource server got another audience', async () => {
    const { access: token } = await stack.logIn('admin')
    const send = (method: string, path: string, json: object) => stack.auth.send(path, { method, token, json })
    const server = { id: 'moving', audience: 'urn:example:moving', name: 'Moving', rights: [] }
    expect((await send('POST', '/resource-servers', server)).status).toBe(201)
    const world = await start(stack.auth.url, await makeService(stack, server.id), server.audience)
    await world.verifier.ready()
    const known = await openSender(basicClient, stack, 'alice')
    await eventually(async () => expect((await known(firstService(world), request)).status).toBe(200))
    await eventually(() => expect(world.messages.join()).toContain('The change feed comes from an auth server'))
    const moved = { audience: 'urn:example:moved' }
    expect((await send('PATCH', `/resource-servers/${server.id}`, moved)).status).toBe(200)
    await withinASecond(() => known(firstService(world), request), { from: 200, to: 503 })
  })

  describe('for a while', () => {
    it('forget everything, and know it again when they are accepted', async () => {
      const gate = await startGate(stack.auth.url)
      const world = await start(gate.url, await makeService(stack))
      await world.verifier.ready()
      const known = await openSender(bearerClient, stack, 'alice')
      await eventually(async () => expect((await known(firstService(world), request)).status).toBe(200))
      gate.shut(true)
      await eventually(async () => expectProblem(await known(firstService(world), request), 503, 'unavailable'))
      gate.shut(false)
      await eventually(async () => expect((await known(firstService(world), request)).status).toBe(200))
      gate.close()
    })
  })
})
