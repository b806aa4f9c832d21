/** Services on Hono, Express and Fastify, and a real auth server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../support/clients/http-client.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import { hmacMessageClient, messageSignatureClient } from '../support/clients/scheme-clients/message-signature.ts'
import { forAudience } from '../support/clients/scheme-clients/scheme-client.ts'
import { openSender, type SendWith } from '../support/clients/scheme-clients/send-with.ts'
import { makeService, type ServiceCredential } from '../support/clients/service-client.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import {
  frameworks,
  startVerifyingServices,
  type VerifyingService,
  type VerifyingServices,
} from '../support/worlds/verifying-services.ts'

const audience = 'deals'

const clients = [
  ...schemeClients.map((client) => ({
    name: String(client.name),
    client: client.name === 'signed-request' ? forAudience(client, audience) : client,
  })),
  { name: 'fields signed by RSA', client: forAudience(messageSignatureClient, audience) },
  { name: 'fields signed by HMAC', client: forAudience(hmacMessageClient, audience) },
]

describeOnce('services that verify', (openBackend) => {
  let stack: Stack
  let service: ServiceCredential
  let world: VerifyingServices

  beforeAll(async () => {
    stack = await openStack(openBackend)
    service = await makeService(stack)
    world = await startVerifyingServices({ authServer: stack.auth.url, service, audience })
    await world.verifier.ready()
  })
  afterAll(async () => {
    await world?.close()
    await stack.close()
  })

  const of = (framework: string): VerifyingService => {
    const found = world.services.find((one) => one.framework === framework)
    if (!found) throw new TypeError(`there is no service on ${framework}`)
    return found
  }

  describe.each(frameworks)('on %s', (framework) => {
    it.each(clients)('know the caller by $name, read and write', async ({ client }) => {
      const send: SendWith = await openSender(client, stack, 'alice')
      for (let count = 0; count < 3; count += 1) {
        const { status, body, text } = await send(of(framework), { path: '/me', sent: {} })
        expect(status, text).toBe(200)
        expect(body).toEqual({ username: 'alice', scheme: client.name, rights: expect.arrayContaining(['deal.read']) })
        const sent = { method: 'POST', json: { count, text: 'x'.repeat(20_000) } }
        const written = await send(of(framework), { path: '/guarded', sent })
        expect(written.status, written.text).toBe(200)
        expect(written.body).toEqual(sent.json)
      }
    })

    it('refuse without a credential, with challenges that stand in lines of their own', async () => {
      const refused = await of(framework).send('/me')
      expectProblem(refused, 401, 'unauthenticated')
      expect(refused.headers.get('www-authenticate')).toContain('Bearer realm="keyhold"')
      expect(refused.body).toMatchObject({
        type: `${stack.auth.url}/problems/unauthenticated`,
        schemes: schemeClients.map(({ name }) => name),
      })
    })
  })
})
