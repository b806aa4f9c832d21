/** Services that verify, while the PostgreSQL or the Redis of their auth server is killed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Reply } from '../../support/clients/http-client.ts'
import { bearerClient } from '../../support/clients/scheme-clients/bearer.ts'
import { openSender, type SendWith } from '../../support/clients/scheme-clients/send-with.ts'
import { makeService } from '../../support/clients/service-client.ts'
import { eventually } from '../../support/eventually.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { startVerifyingServices, type VerifyingServices } from '../../support/worlds/verifying-services.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const binaries = findPostgresBinaries()
const guarded = { path: '/rest/v1/deals', sent: {} }

describe.skipIf(binaries === undefined || !redisServerInstalled)('services that verify', () => {
  let postgres: PostgresServer
  let stack: Stack
  let world: VerifyingServices
  let known: SendWith
  let revoked: SendWith

  beforeAll(async () => {
    postgres = await PostgresServer.create(binaries ?? '')
    stack = await openStack(() => openPostgresAndRedis(postgres.url))
    const service = await makeService(stack)
    world = await startVerifyingServices({ authServer: stack.auth.url, service, audience: 'deals' })
    await world.verifier.ready()
    // From now on the service hears of each change before it is acknowledged.
    await eventually(() => expect(world.messages.join()).toContain('The change feed comes from an auth server'))
    known = await openSender(bearerClient, stack, 'carol')
    revoked = await openSender(bearerClient, stack, 'bob')
  })
  afterAll(async () => {
    await world.close()
    await stack.close()
    await postgres.remove()
  })

  const askAll = (send: SendWith): Promise<Reply[]> =>
    Promise.all(world.services.map((service) => send(service, guarded)))
  const statusesOf = async (send: SendWith) => (await askAll(send)).map(({ status }) => status)
  const everywhere = (status: number) => world.services.map(() => status)
  const setRoles = async (username: string, roles: readonly string[]) => {
    const { access: token } = await stack.logIn('admin')
    const { status, text } = await stack.auth.send(`/users/${username}`, { method: 'PATCH', token, json: { roles } })
    expect(status, text).toBe(200)
  }

  const outages = {
    // The service has heard of the change, and cannot read it: so it refuses.
    PostgreSQL: { kill: () => postgres.kill(), start: () => postgres.start(), status: 503 },
    Redis: { kill: async () => stack.redis?.kill(), start: async () => stack.redis?.start(), status: 403 },
  }

  it.each(Object.entries(outages))(
    'let known callers go on while %s is dead, and nothing taken away comes back',
    async (_, outage) => {
      for (const send of [known, revoked])
        await eventually(async () => expect(await statusesOf(send)).toEqual(everywhere(200)))
      await setRoles('bob', [])
      await outage.kill()
      for (const service of world.services)
        await withinASecond(() => revoked(service, guarded), { from: 200, to: outage.status })
      for (let count = 0; count < 30; count += 1) {
        expect(await statusesOf(known)).toEqual(everywhere(200))
        expect(await statusesOf(revoked)).toEqual(everywhere(outage.status))
      }
      await outage.start()
      for (let count = 0; count < 30; count += 1) expect(await statusesOf(revoked)).not.toContain(200)
      await eventually(async () => expect(await statusesOf(revoked)).toEqual(everywhere(403)))
      await eventually(() => setRoles('carol', []))
      for (const service of world.services) await withinASecond(() => known(service, guarded), { from: 200, to: 403 })
      await setRoles('carol', ['agent'])
      await setRoles('bob', ['viewer'])
    },
  )
})
