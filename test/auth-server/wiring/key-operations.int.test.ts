import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { openKeyRing } from '../../../auth-server/key-ring/key-ring.ts'
import {
  generateKey,
  type KeyRingOperation,
  promoteKey,
  readKeyRing,
  retireKey,
  revokeKey,
  rotateKeys,
} from '../../../auth-server/key-ring/operate-key-ring.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { createKeyOperationRecording } from '../../../auth-server/wiring/key-operations.ts'
import { createMetrics } from '../../../shared/platform/metrics/metrics.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { copyKeys } from '../../support/processes/own-keys.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createSettledLog } from '../support/settled-log.ts'
import { createTestClock } from '../support/test-clock.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))
const rules = { maxAgeMs: 86_400_000, longestTokenLifeMs: { jwt: 1_800_000, 'key-signed': 1_800_000 } }
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }
const kid = expect.stringMatching(/^[\w-]{43}$/)

describeDatabases('the recording of what is done to keys', (open) => {
  const clock = createTestClock(Date.now())
  const { database } = databaseOfSuite(open)
  let keys: Awaited<ReturnType<typeof copyKeys>>
  let stops: (() => Promise<unknown>)[] = []
  /** The number of the last entry before the test. */
  let before = 0

  beforeEach(async () => {
    keys = await copyKeys()
    // What every ring begins with stands in the log of the tests before.
    const { stop } = await startServer()
    await stop()
    before = (await readEntries(database, { limit: 10_000 })).items.length
  })
  afterEach(async () => {
    for (const stop of stops) await stop()
    stops = []
    await keys.remove()
  })

  /** One auth server, as far as it records. */
  const startServer = async (written = database) => {
    const keyRing = await openKeyRing(keys, quiet, { intervalMs: 20 })
    const metrics = createMetrics()
    const audit = createSettledLog({ database: written, clock, log: quiet, secretsKeys })
    const recording = createKeyOperationRecording({ ...fakeSystems({ clock, metrics }), keyRing, audit })
    recording.start()
    const stop = async () => {
      await keyRing.reload()
      await recording.stop()
      await keyRing.close()
    }
    stops.push(stop)
    return { stop, keyRing, audit, metrics }
  }
  const operation = (reason?: string, operator: string | undefined = 'erin'): KeyRingOperation => ({
    directory: keys.directory,
    bits: 2048,
    rules,
    clock,
    operator,
    reason,
  })
  const recorded = async () => {
    const { items } = await readEntries(database, { after: before, limit: 1000, filter: { action: 'key.*' } })
    return items.map(({ action, actor, scheme, reason, target }) => [action, actor, scheme, reason, target])
  }
  const countOf = async (metrics: { text(): Promise<string> }[], name: string): Promise<number> => {
    const texts = await Promise.all(metrics.map((one) => one.text()))
    const values = texts.flatMap((text) =>
      [...text.matchAll(/keyhold_key_operations_total\{.*operation="(\w+)".*\} (\d+)/g)].filter(
        ([, operationName]) => operationName === name,
      ),
    )
    return values.reduce((sum, [, , value]) => sum + Number(value), 0)
  }

  it('has each operation once, with operator and reason, however many servers look and however often they start', async () => {
    const servers = await Promise.all([startServer(), startServer(), startServer()])
    const made = await generateKey(operation('the yearly change'), 'jwt')
    await promoteKey(operation(), made.kid, { early: true })
    const other = await generateKey(operation(), 'key-signed')
    await retireKey(operation('made by mistake'), other.kid)
    const successor = await revokeKey(operation('found on a laptop'), made.kid, 'found on a laptop')
    await eventually(async () => expect(await recorded()).toHaveLength(8))
    await startServer()
    for (const { keyRing } of servers) await keyRing.reload()
    for (const stop of stops) await stop()
    const entries = await recorded()
    expect(entries.toSorted()).toEqual(
      [
        ['key.generated', 'erin', 'ops', 'the yearly change', made.kid],
        ['key.promoted', 'erin', 'ops', null, made.kid],
        ['key.retired', 'erin', 'ops', null, kid],
        ['key.generated', 'erin', 'ops', null, other.kid],
        ['key.retired', 'erin', 'ops', 'made by mistake', other.kid],
        ['key.generated', 'erin', 'ops', 'found on a laptop', successor?.kid],
        ['key.promoted', 'erin', 'ops', 'found on a laptop', successor?.kid],
        ['key.revoked', 'erin', 'ops', 'found on a laptop', made.kid],
      ].toSorted(),
    )
    const metrics = servers.map((server) => server.metrics)
    expect(await countOf(metrics, 'generate')).toBe(3)
    expect(await countOf(metrics, 'revoke')).toBe(1)
    expect((await verifyChain({ database, secretsKeys })).fault).toBeUndefined()
  })

  it('has what was done while no server ran, with the times of the operations, at the next start', async () => {
    clock.advance(200_000_000)
    const startedAt = clock.now()
    const { done } = await rotateKeys(operation('due by cron'))
    const steps = done.length
    expect(steps).toBeGreaterThan(0)
    clock.advance(3_600_000)
    await rotateKeys(operation())
    clock.advance(86_400_000)
    await rotateKeys(operation())
    await rotateKeys(operation())
    const ring = await readKeyRing(operation())
    expect(ring.keys.some(({ state }) => state === 'removed')).toBe(true)
    await startServer()
    await eventually(async () => expect((await recorded()).length).toBeGreaterThan(6))
    await Promise.all(stops.map((stop) => stop()))
    const { items } = await readEntries(database, { after: before, limit: 1000 })
    const actions = new Set(items.map(({ action }) => action))
    expect([...actions].sort()).toEqual(['key.generated', 'key.promoted', 'key.removed', 'key.retired'])
    const first = items.filter(({ reason }) => reason === 'due by cron')
    expect(first).toHaveLength(steps)
    for (const { at } of first) expect(Date.parse(at)).toBe(startedAt)
    expect(items.filter(({ action }) => action === 'key.removed').map(({ actor }) => actor)).toEqual(['erin', 'erin'])
  })

  it('goes on when the log could not be written, and loses nothing', async () => {
    let isAway = true
    const transaction: typeof database.transaction = (work) =>
      isAway ? Promise.reject(new Unavailable('database')) : database.transaction(work)
    const { keyRing } = await startServer(Object.assign(Object.create(database), { transaction }))
    const made = await generateKey(operation(), 'jwt')
    await keyRing.reload()
    expect(await recorded()).toEqual([])
    isAway = false
    await retireKey(operation(), made.kid)
    await eventually(async () =>
      expect((await recorded()).map(([action, , , , target]) => [action, target])).toEqual([
        ['key.generated', made.kid],
        ['key.retired', made.kid],
      ]),
    )
  })

  it('does without the notes of operators, and takes none that is no note', async () => {
    const made = await generateKey(operation('a good reason'), 'jwt')
    const notes = join(keys.directory, 'operations.ndjson')
    expect((await stat(notes)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(notes, 'utf8'))).toMatchObject({ operation: 'generate', kid: made.kid })
    const bad = { operation: 'generate', kid: made.kid, at: new Date(clock.now()).toISOString(), operator: 'x' }
    await writeFile(notes, `{"a":\n${JSON.stringify({ ...bad, reason: 'line\u0000two' })}\n`)
    await revokeKey(operation('the reason', ''), made.kid, 'the reason')
    await startServer()
    await eventually(async () =>
      expect(await recorded()).toEqual([
        ['key.generated', null, null, null, made.kid],
        ['key.revoked', null, 'ops', 'the reason', made.kid],
      ]),
    )
  })
})
