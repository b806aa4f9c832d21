/**
 * From the acknowledgement that something was taken away to the first refusal, on each of three deal servers: a second
 * at most.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { RevocationWorld } from '../../support/worlds/revocation-world.ts'
import { revocations } from '../../support/worlds/revocations.ts'

const rounds = campaign({ short: 1, long: 10 })

/** What is broken, and when. `index` counts the revocations. */
interface Trouble {
  beforeRound?(): Promise<unknown>
  beforeEach?(index: number): Promise<unknown>
  /** Right after the acknowledgement. */
  afterEach?(index: number): Promise<unknown>
  /** When all have refused. */
  inTheEnd?(): Promise<unknown>
}

function describeRevocations(title: string, troubleIn: (world: RevocationWorld) => Trouble): void {
  describePostgresAndRedis(title, (openBackend) => {
    const world = new RevocationWorld()

    beforeAll(() => world.open(openBackend))
    afterAll(async () => {
      await world.close()
      process.stdout.write(world.report(title))
    })

    it('is refused by three deal servers within a second', async () => {
      const trouble = troubleIn(world)
      for (let round = 0; round < rounds; round += 1) {
        await trouble.beforeRound?.()
        for (const [place, revocation] of revocations.entries()) {
          const index = round * revocations.length + place
          const credentials = await world.openKnownEverywhere(revocation)
          await trouble.beforeEach?.(index)
          const at = await world.carryOut(revocation, credentials)
          await trouble.afterEach?.(index)
          await world.measure(revocation, { credentials, at })
          await trouble.inTheEnd?.()
          await world.undo(revocation, credentials)
        }
      }
      const schemes = revocations.reduce((sum, revocation) => sum + revocation.schemes.length, 0)
      expect(world.samples).toHaveLength(rounds * schemes * 3)
    })
  })
}

describeRevocations('what is taken away', () => ({}))

describeRevocations('what is taken away while Redis restarts', ({ stack: { redis } }) => ({
  // In turn: gone before, empty again just before, gone right after.
  beforeEach: async (index) => {
    if (index % 3 !== 2) await redis?.kill()
    if (index % 3 === 1) await redis?.start()
  },
  afterEach: async (index) => {
    if (index % 3 === 2) await redis?.kill()
  },
  inTheEnd: async () => {
    const answer = await redis?.command('PING').catch(() => undefined)
    if (answer !== 'PONG') await redis?.start()
  },
}))

describeRevocations('what is taken away by an auth server that is killed', (world) => ({
  beforeRound: async () => {
    await world.killOther()
    await world.startOther()
  },
  // In each round after another revocation; until its end the other one is on its own.
  afterEach: async (index) => {
    if (index % (revocations.length + 1) === 0) await world.killOther()
  },
}))
