/** The world in which single situations of freshness are tried: two auth servers, one deal server, alice and bob. */
import { principalKey } from '../../../../shared/protocol/principal/record.ts'
import { FreshnessWorld } from './freshness-world.ts'

export const recordMaxAgeMs = 20_000
export const mayHold = { rights: ['deal.hold'] }
export const mayNothing = { rights: [] }

export type Situation = Awaited<ReturnType<typeof openSituation>>

/**
 * Two auth servers, the first of which is asked, and a deal server; alice may hold deals, and her record is in the
 * cache.
 */
export async function openSituation() {
  const world = new FreshnessWorld({ authServers: 2, dealServers: 1, recordMaxAgeMs, seed: 2 })
  const [first, second] = world.auth
  const [deal] = world.deals
  if (!first || !second || !deal) throw new Error('unreachable')
  const { time } = world
  await time.pass(500)
  for (const name of ['alice', 'bob']) await time.until(world.change(second, name, () => mayHold))
  await time.pass(500)
  return {
    world,
    time,
    first,
    second,
    deal,
    /** The cache key of a user's record. */
    key: (username: string) => principalKey(world.principals.instanceId, username),
    /** What a user may do according to the deal server; undefined for an unknown one. @throws Unavailable */
    rights: async (username: string) => (await time.until(deal.records.get(username)))?.directRights,
    /** The same after a restart of the deal server, a little later. */
    rightsAfterRestart: async (username: string) => {
      world.restartDeal(0)
      await time.pass(500)
      return (await time.until(world.deals[0]?.records.get(username)))?.directRights
    },
    /** How often the auth server was asked for a record. */
    asked: () => deal.asked,
    killAuthServers: () => {
      for (const server of world.auth) server.kill()
    },
  }
}
