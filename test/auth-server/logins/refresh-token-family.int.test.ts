import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { campaign } from '../../support/campaign.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createAuthCore, goodPassword } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'
import { anyCommands, wellBehavedCommands } from './refresh-token-family.commands.ts'
import { type Model, newModel, type Real } from './refresh-token-family.model.ts'

describeDatabases('refresh families under random interleavings', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let serial = 0

  async function newRun(): Promise<{ model: Model; real: Real }> {
    const cache = createMemoryCache(systemClock)
    const restart = () => createAuthCore({ database, cache, clock })
    const core = restart()
    await core.publisher.publish()
    const username = `family-${++serial}`
    await core.users.create({ username, password: goodPassword })
    return { model: newModel(goodPassword, clock.now()), real: { core, clock, database, username, restart } }
  }

  async function endedReasons(username: string): Promise<unknown[]> {
    const sql = 'select ended_reason from auth.login_families where username_folded = $1 and ended_at is not null'
    const rows = await database.query<{ ended_reason: string }>(sql, [username])
    return rows.map((row) => row.ended_reason)
  }

  it('does what the model does', { timeout: 240_000 }, async () => {
    const property = fc.asyncProperty(anyCommands, async (commands) => {
      const run = await newRun()
      await fc.asyncModelRun(() => run, commands)
      const broken = run.model.logins.filter((login) => login.brokeRule).length
      const reuse = (await endedReasons(run.real.username)).filter((reason) => reason === 'reuse')
      expect(reuse.length).toBeLessThanOrEqual(broken)
    })
    await fc.assert(property, { numRuns: campaign({ short: 3, long: 50 }) })
  })

  it('never logs out a client that repeats within the window and presents no token after its successor', {
    timeout: 240_000,
  }, async () => {
    const property = fc.asyncProperty(wellBehavedCommands, async (commands) => {
      const run = await newRun()
      await fc.asyncModelRun(() => run, commands)
      expect(run.model.logins.every((login) => !login.brokeRule && !login.ended)).toBe(true)
      expect(await endedReasons(run.real.username)).toEqual([])
    })
    await fc.assert(property, { numRuns: campaign({ short: 2, long: 30 }) })
  })
})
