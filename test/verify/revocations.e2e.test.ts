/** From the acknowledgement that something was taken away to the first refusal at services that verify: a second. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeService } from '../support/clients/service-client.ts'
import { describePostgresAndRedis } from '../support/stores/backends.ts'
import { RevocationWorld } from '../support/worlds/revocation-world.ts'
import { revocations } from '../support/worlds/revocations.ts'
import type { Stack } from '../support/worlds/stack.ts'
import { frameworks, startVerifyingServices } from '../support/worlds/verifying-services.ts'

async function startServices(stack: Stack) {
  const service = await makeService(stack)
  const {
    verifier,
    services: servers,
    close,
  } = await startVerifyingServices({
    authServer: stack.auth.url,
    service,
    audience: 'deals',
  })
  await verifier.ready()
  return { servers, close }
}

describePostgresAndRedis('what is taken away at services that verify', (openBackend) => {
  const world = new RevocationWorld()

  beforeAll(() => world.open(openBackend, startServices))
  afterAll(async () => {
    await world.close()
    process.stdout.write(world.report('at services that verify'))
  })

  const measure = async () => {
    for (const revocation of revocations) {
      const credentials = await world.openKnownEverywhere(revocation)
      const at = await world.carryOut(revocation, credentials)
      await world.measure(revocation, { credentials, at })
      await world.undo(revocation, credentials)
    }
  }
  const samples = revocations.reduce((sum, { schemes }) => sum + schemes.length, 0) * frameworks.length

  it('is refused within a second', { timeout: 180_000 }, async () => {
    await measure()
    expect(world.samples).toHaveLength(samples)
  })

  it('is refused within a second when another auth server carried it out', { timeout: 180_000 }, async () => {
    await world.startOther()
    await measure()
    await world.killOther()
    expect(world.samples).toHaveLength(2 * samples)
  })
})
