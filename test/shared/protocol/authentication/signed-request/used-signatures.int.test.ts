import { expect, it } from 'vitest'
import { usedSignatures } from '../../../../../auth-server/store/schema.ts'
import { createHousekeeping } from '../../../../../shared/platform/database/housekeeping.ts'
import { createUsedSignatureExpiry } from '../../../../../shared/protocol/authentication/credential-expiry.ts'
import { createUsedSignatures } from '../../../../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { databaseOfSuite, describeDatabases } from '../../../../support/stores/own-database.ts'
import { createMovableClock } from '../../../../support/worlds/movable-clock.ts'

const clock = createMovableClock()

describeDatabases('used signatures', (open) => {
  const { database, openAnother } = databaseOfSuite(open)

  const usesOf = (schema: 'auth' | 'deals') =>
    [database, openAnother()].map((each) => createUsedSignatures({ database: each, clock }, schema))

  it('are used for the first time once, however many ask at the same time of all instances', async () => {
    const uses = usesOf('deals')
    const use = { keyId: 'k', digest: 'parallel', expiresAt: clock.now() + 1000 }
    const results = await Promise.all(Array.from({ length: 20 }, (_, index) => uses[index % 2]?.(use)))
    expect(results.filter((usedAt) => usedAt === undefined)).toHaveLength(1)
  })

  it('say when they were used', async () => {
    const [use] = usesOf('deals')
    const before = clock.now()
    const signature = { keyId: 'k', digest: 'when', expiresAt: before + 1000 }
    expect(await use?.(signature)).toBeUndefined()
    clock.advanceSeconds(100)
    const usedAt = Number(await use?.(signature))
    expect(usedAt).toBeGreaterThanOrEqual(before)
    expect(usedAt).toBeLessThan(before + 50_000)
  })

  it('are told apart by key and by server', async () => {
    const [inAuth] = usesOf('auth')
    const [inDeals] = usesOf('deals')
    const use = { keyId: 'k1', digest: 'same', expiresAt: clock.now() + 1000 }
    expect(await inDeals?.(use)).toBeUndefined()
    expect(await inDeals?.({ ...use, keyId: 'k2' })).toBeUndefined()
    expect(await inAuth?.(use)).toBeUndefined()
    expect(await inAuth?.(use)).toEqual(expect.any(Number))
  })

  it('are forgotten when they have expired', async () => {
    const [use] = usesOf('auth')
    await use?.({ keyId: 'k', digest: 'short', expiresAt: clock.now() + 1000 })
    await use?.({ keyId: 'k', digest: 'long', expiresAt: clock.now() + 1_000_000 })
    clock.advanceSeconds(5)
    const log = { info: () => undefined, warn: () => undefined }
    const jobs = [createUsedSignatureExpiry(usedSignatures)]
    await createHousekeeping({ database, clock, log, name: 'test', jobs }).runOnce()
    const left = await database.query("select signature from auth.used_signatures where key_id = 'k'")
    expect(left).toEqual([{ signature: 'long' }])
  })
})
