import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKeyRing } from '../../../auth-server/key-ring/create-key-ring.ts'
import {
  type KeyEntry,
  type KeyRingFile,
  keyUses,
  parseKeyRingFile,
} from '../../../auth-server/key-ring/keyring-file.ts'
import { nextSteps, promote, publicationMs, remove, retire, revoke } from '../../../auth-server/key-ring/life-cycle.ts'
import {
  generateKey,
  type KeyRingOperation,
  promoteKey,
  readKeyRing,
  retireKey,
  revokeKey,
  rotateKeys,
} from '../../../auth-server/key-ring/operate-key-ring.ts'
import { lockFolder } from '../../../shared/platform/process/folder-lock.ts'
import { campaign } from '../../support/campaign.ts'
import { createTestClock } from '../support/test-clock.ts'

const day = 86_400_000
const rules = { maxAgeMs: 30 * day, longestTokenLifeMs: { jwt: 1_800_000, 'key-signed': 60_000 } }
const toleranceMs = 120_000

describe('the life of a key', () => {
  let made = ''
  let operation: KeyRingOperation
  let clock = createTestClock()

  beforeEach(async () => {
    clock = createTestClock()
    // One ring is made and copied: generating keys takes long.
    if (made === '') {
      made = await mkdtemp(join(tmpdir(), 'keyhold-ring-'))
      await createKeyRing(made, { bits: 2048, clock })
    }
    const directory = await mkdtemp(join(tmpdir(), 'keyhold-keys-'))
    await cp(made, directory, { recursive: true })
    operation = { directory, bits: 2048, rules, clock }
  })
  afterEach(() => rm(operation.directory, { recursive: true, force: true }))

  const ring = () => readKeyRing(operation)
  const active = async (use: string) => (await ring()).keys.find((key) => key.use === use && key.state === 'active')
  const kidOf = (key: KeyEntry | undefined) => key?.kid ?? ''
  const stateOf = async (kid: string) => (await ring()).keys.find((key) => key.kid === kid)?.state

  it('needs nothing as long as no key is old', async () => {
    clock.advance(30 * day - 1)
    const { done, next } = await rotateKeys(operation)
    expect(done).toEqual([])
    expect(next.map((step) => [step.do, step.use, step.dueAt - clock.now()])).toEqual([
      ['generate', 'jwt', 1],
      ['generate', 'key-signed', 1],
    ])
  })

  it('goes from step to step when each is due, however often rotate runs', async () => {
    const first = kidOf(await active('jwt'))
    clock.advance(30 * day)
    expect((await rotateKeys(operation)).done.map((step) => `${step.do} ${step.use}`)).toEqual([
      'generate jwt',
      'generate key-signed',
    ])
    expect((await rotateKeys(operation)).done).toEqual([])
    expect(kidOf(await active('jwt'))).toBe(first)
    clock.advance(publicationMs - 1)
    expect((await rotateKeys(operation)).done).toEqual([])
    clock.advance(1)
    expect((await rotateKeys(operation)).done.map((step) => step.do)).toEqual(['promote', 'promote'])
    expect(await stateOf(first)).toBe('retired')
    clock.advance(rules.longestTokenLifeMs.jwt + toleranceMs - 1)
    const { done } = await rotateKeys(operation)
    expect(done.map((step) => `${step.do} ${step.use}`)).toEqual(['remove key-signed'])
    expect(await readdir(operation.directory)).toContain(`jwt-${first}.pem`)
    clock.advance(1)
    await rotateKeys(operation)
    expect(await stateOf(first)).toBe('removed')
    expect(await readdir(operation.directory)).not.toContain(`jwt-${first}.pem`)
    expect((await rotateKeys(operation)).done).toEqual([])
  })

  it('does not let a key sign that not everybody can know, unless told to', async () => {
    const { kid } = await generateKey(operation, 'jwt')
    await expect(promoteKey(operation, kid, { early: false })).rejects.toThrow(/--now/)
    expect(await stateOf(kid)).toBe('pending')
    await promoteKey(operation, kid, { early: true })
    expect(kidOf(await active('jwt'))).toBe(kid)
  })

  it('refuses steps that the state forbids, and changes nothing', async () => {
    const text = () => readFile(join(operation.directory, 'keyring.json'), 'utf8')
    const before = await text()
    const signing = kidOf(await active('jwt'))
    await expect(retireKey(operation, signing)).rejects.toThrow(/another key is promoted/)
    await expect(promoteKey(operation, signing, { early: true })).rejects.toThrow(/needs a key that is pending/)
    await expect(promoteKey(operation, 'none', { early: true })).rejects.toThrow(/there is no key none/)
    const holding = await ring()
    expect(() => remove(holding, signing, clock)).toThrow(/needs a key that is retired/)
    expect(await text()).toBe(before)
  })

  it('lets a pending key go without ever signing', async () => {
    const { kid } = await generateKey(operation, 'key-signed')
    await retireKey(operation, kid)
    expect(await stateOf(kid)).toBe('retired')
    expect(nextSteps(await ring(), rules).filter((step) => step.do === 'promote')).toEqual([])
  })

  it('revokes at once: the pending key takes over, or else a new one', async () => {
    const first = kidOf(await active('jwt'))
    const made = await revokeKey(operation, first, 'leaked')
    expect(made?.state).toBe('active')
    expect((await ring()).keys.find(({ kid }) => kid === first)).toMatchObject({
      state: 'removed',
      revokedReason: 'leaked',
    })
    expect(await readdir(operation.directory)).not.toContain(`jwt-${first}.pem`)
    const { kid: pending } = await generateKey(operation, 'jwt')
    const heir = await revokeKey(operation, kidOf(made), 'leaked too')
    expect(heir?.kid).toBe(pending)
    expect(await revokeKey(operation, (await generateKey(operation, 'jwt')).kid, 'not needed')).toBeUndefined()
    await expect(revokeKey(operation, first, 'again')).rejects.toThrow(/is removed/)
  })

  it('is changed by one operator at a time', async () => {
    const unlock = await lockFolder(operation.directory)
    await expect(generateKey(operation, 'jwt')).rejects.toThrow(/in use by process/)
    await unlock()
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => generateKey(operation, 'jwt')))
    const pending = (await ring()).keys.filter(({ state }) => state === 'pending')
    expect(pending).toHaveLength(outcomes.filter(({ status }) => status === 'fulfilled').length)
    expect(pending.length).toBeGreaterThan(0)
  })

  it('leaves a ring alone that it cannot read', async () => {
    const path = join(operation.directory, 'keyring.json')
    for (const text of ['', '{', '{"keyholdKeyRing":1,"keys":[]}', '[]']) {
      await writeFile(path, text)
      await expect(rotateKeys(operation)).rejects.toThrow(/keyring\.json/)
      expect(await readFile(path, 'utf8')).toBe(text)
    }
    await rm(operation.directory, { recursive: true })
    await expect(rotateKeys(operation)).rejects.toThrow(/cannot be read/)
  })

  it('keeps the ring whole whatever operators do in whatever order', async () => {
    const whole = await ring()
    const action = fc.record({
      do: fc.constantFrom('generate', 'promote', 'early', 'retire', 'remove', 'revoke', 'wait'),
      which: fc.nat({ max: 6 }),
      use: fc.constantFrom(...keyUses),
    })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        const time = createTestClock()
        let kids = 0
        const fresh = (use: KeyEntry['use']): KeyEntry => {
          kids += 1
          const kid = String(kids).padStart(43, 'k')
          const [like] = whole.keys.filter((key) => key.use === use)
          if (!like) throw new Error('a ring has keys of every use')
          const publishedAt = new Date(time.now()).toISOString()
          return { ...like, kid, state: 'pending', publishedAt, activatedAt: null, file: `${kid}.pem` }
        }
        const step = (
          now: KeyRingFile,
          { do: what, which, use }: { do: string; which: number; use: KeyEntry['use'] },
        ) => {
          const kid = now.keys[which % now.keys.length]?.kid ?? ''
          const context = { clock: time, rules }
          if (what === 'wait') time.advance(600_000 * (which + 1))
          if (what === 'generate') return { ...now, keys: [...now.keys, fresh(use)] }
          if (what === 'promote') return promote(now, kid, context)
          if (what === 'early') return promote(now, kid, { ...context, early: true })
          if (what === 'retire') return retire(now, kid, context)
          if (what === 'remove') return remove(now, kid, time)
          if (what !== 'revoke') return now
          const revoked = now.keys.find((key) => key.kid === kid)
          return revoke(now, kid, { clock: time, reason: 'r', successor: fresh(revoked?.use ?? use) })
        }
        let now = whole
        for (const one of actions) {
          const before = now
          try {
            now = step(now, one)
          } catch (error) {
            expect((error as Error).name).toBe('StepError')
          }
          // Parsing holds what must be true of every ring: one active key of each use, no kid twice.
          parseKeyRingFile(JSON.stringify(now), 'a ring')
          for (const key of before.keys) {
            const after = now.keys.find(({ kid }) => kid === key.kid)
            expect(after, 'no key is ever forgotten').toBeDefined()
            expect(after?.use).toBe(key.use)
            if (key.state === 'removed') expect(after?.state).toBe('removed')
            if (key.state === 'retired') expect(['retired', 'removed']).toContain(after?.state)
          }
        }
      }),
      { numRuns: campaign({ short: 100, long: 1000 }) },
    )
  })
})
