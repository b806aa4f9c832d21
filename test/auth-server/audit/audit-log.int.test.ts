import { createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, expect, it, vi } from 'vitest'
import type { AuditEvent } from '../../../auth-server/audit/audit.ts'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { parseAuditHead, verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { databaseOfSuite, describeDatabases } from '../../support/stores/own-database.ts'
import { createSettledLog } from '../support/settled-log.ts'
import { createTestClock } from '../support/test-clock.ts'

const keyText = (octet: number) => Buffer.alloc(32, octet).toString('base64url')
const secretsKeys = parseSecretsKeys(keyText(7))

const event = (target: string, changes: Partial<AuditEvent> = {}): AuditEvent => ({
  actor: 'admin',
  action: 'user.changed',
  target,
  outcome: 'succeeded',
  scheme: 'bearer',
  address: '203.0.113.7',
  requestId: '0191e7a0-0000-7000-8000-000000000000',
  ...changes,
})

interface Line {
  readonly level: string
  readonly content: object
  readonly text?: string
}

describeDatabases('the audit log', (open) => {
  const clock = createTestClock()
  const { database } = databaseOfSuite(open)
  let lines: Line[] = []

  const logger = {
    info: (content: object, text: string) => void lines.push({ level: 'info', content, text }),
    warn: (content: object | string) => void lines.push({ level: 'warn', content: Object(content) }),
    error: (content: object) => void lines.push({ level: 'error', content }),
  }
  const createLog = (keys = secretsKeys) =>
    createSettledLog({ database, clock, log: logger as never, secretsKeys: keys })
  const verify = (known?: Parameters<typeof verifyChain>[1], keys = secretsKeys) =>
    verifyChain({ database, secretsKeys: keys, pageSize: 3 }, known)
  const tamper = (sql: string) =>
    database.transaction(async (transaction) => {
      await transaction.execute('alter table auth.audit_entries disable trigger user')
      await transaction.execute(sql)
      await transaction.execute('alter table auth.audit_entries enable trigger user')
    })

  beforeEach(async () => {
    // Logs of the test before have planned to chain.
    await pause(100)
    lines = []
    await tamper('delete from auth.audit_entries')
    await tamper('delete from auth.audit_journal')
    await tamper("update auth.audit_head set count = 0, mac = ''")
  })

  const write = async (count: number): Promise<void> => {
    const log = createLog()
    for (let index = 1; index <= count; index += 1) await log.record(event(`user-${index}`))
  }

  it('keeps every entry of concurrent callers and of several servers, in one chain without gaps', async () => {
    const logs = [createLog(), createLog(), createLog()]
    const targets = Array.from({ length: 60 }, (_, index) => `user-${index}`)
    await Promise.all(targets.map((target, index) => logs[index % 3]?.record(event(target))))
    await logs[0]?.settle()
    const { items } = await readEntries(database, { after: 0, limit: 200 })
    expect(items.map(({ seq }) => seq)).toEqual(targets.map((_, index) => index + 1))
    expect(items.map(({ target }) => target).sort()).toEqual([...targets].sort())
    const { sound, fault } = await verify()
    expect(fault).toBeUndefined()
    expect(sound).toEqual(await logs[0]?.head())
  })

  it('goes on behind an entry of which it never learnt that it was stored', async () => {
    let isLost = false
    const write: typeof database.write = async (...statement) => {
      const rows = await database.write(...statement)
      if (isLost) throw new Unavailable('database')
      return rows as never
    }
    const [query, transaction] = [database.query.bind(database), database.transaction.bind(database)]
    const unreliable = { write, query, transaction } as unknown as typeof database
    const log = createSettledLog({ database: unreliable, clock, log: logger as never, secretsKeys })
    await log.record(event('first'))
    isLost = true
    await expect(log.record(event('lost'))).rejects.toThrow(Unavailable)
    isLost = false
    for (const target of ['third', 'fourth']) await log.record(event(target))
    const { items } = await readEntries(database, { after: 0, limit: 200 })
    expect(items.map(({ target }) => target)).toEqual(['first', 'lost', 'third', 'fourth'])
    expect(await verify()).toMatchObject({ fault: undefined, sound: { count: 4 } })
  })

  it('gives an entry back as it was written, page by page', async () => {
    await createLog().record(event('alice'))
    const entry = { seq: 1, at: rfc3339(clock.now()), count: 1, reason: null, client: null, ...event('alice') }
    expect(await readEntries(database, { after: 0, limit: 1 })).toEqual({ items: [entry], next: undefined })
    await write(2)
    expect(await readEntries(database, { after: 0, limit: 2 })).toMatchObject({ next: 2 })
    expect(await readEntries(database, { after: 2, limit: 2 })).toMatchObject({ next: undefined })
  })

  it('tells what a change gave and took, which the MAC covers, beside entries that tell nothing of it', async () => {
    const changes = [{ added: ['deal.hold', 'ü'], member: 'rights', removed: ['deal.read'] }]
    const log = createLog()
    await log.record(event('alice', { changes: [] }))
    await log.record(event('bob', { changes }))
    const { items } = await readEntries(database, { after: 0, limit: 9 })
    expect(items.map((entry) => entry.changes)).toEqual([undefined, changes])
    expect(await verify()).toMatchObject({ fault: undefined, sound: { count: 2 } })
    for (const json of ['null', `'[]'`, `'[{"added":["deal.hold"],"member":"rights","removed":["deal.read"]}]'`]) {
      await tamper(`update auth.audit_entries set changes = ${json} where seq = 2`)
      expect(await verify()).toMatchObject({ fault: { fault: 'broken', seq: 2 } })
    }
    await tamper(`update auth.audit_entries set changes = '${JSON.stringify(changes)}'`)
    expect(await verify()).toMatchObject({ fault: { fault: 'broken', seq: 1 } })
  })

  it('names the application of an entry, which the MAC covers, beside entries without one', async () => {
    const log = createLog()
    await log.record(event('alice'))
    await log.record(event('bob', { client: 'Clerk & Söhne' }))
    const { items } = await readEntries(database, { after: 0, limit: 9 })
    expect(items.map(({ client }) => client)).toEqual([null, 'Clerk & Söhne'])
    expect(await verify()).toMatchObject({ fault: undefined, sound: { count: 2 } })
    for (const client of ['null', "''", "'Other'"]) {
      await tamper(`update auth.audit_entries set client = ${client} where seq = 2`)
      expect(await verify()).toMatchObject({ fault: { fault: 'broken', seq: 2 } })
    }
    await tamper("update auth.audit_entries set client = 'Clerk & Söhne'")
    expect(await verify()).toMatchObject({ fault: { fault: 'broken', seq: 1 } })
  })

  it('keeps no actor and no target that has not the form of a name or an id', async () => {
    const log = createLog()
    const secret = 'my pass word!'
    await log.record(event(secret, { actor: secret }))
    await log.record(event('a\0b', { actor: 'x'.repeat(65) }))
    await log.record(event('0191e7a0-0000-7000-8000-000000000000', { actor: 'Alice@example.com' }))
    const { items } = await readEntries(database, { after: 0, limit: 9 })
    expect(items.map(({ actor, target }) => [actor, target])).toEqual([
      [null, null],
      [null, null],
      ['Alice@example.com', '0191e7a0-0000-7000-8000-000000000000'],
    ])
  })

  const told = async () => {
    const { items } = await readEntries(database, { after: 0, limit: 200 })
    return items.map(({ actor, outcome, count }) => [actor, outcome, count])
  }

  it('has one entry a minute of equal refusals, which says how many it stands for, and the rest when it stops', async () => {
    const log = createLog()
    const refused = (actor: string, outcome = 'missing-right') => log.recordRefusal(event('alice', { actor, outcome }))
    await Promise.all(Array.from({ length: 5 }, () => refused('alice')))
    await refused('bob')
    await refused('alice', 'invalid_grant')
    clock.advance(60_000)
    await refused('alice')
    await refused('alice')
    log.start()
    await log.stop()
    expect(await told()).toEqual([
      ['alice', 'missing-right', 1],
      ['bob', 'missing-right', 1],
      ['alice', 'invalid_grant', 1],
      ['alice', 'missing-right', 5],
      ['alice', 'missing-right', 1],
    ])
    expect(await verify()).toMatchObject({ fault: undefined, sound: { count: 5 } })
  })

  it('leaves out nothing of what took place, however often', async () => {
    const log = createLog()
    for (let times = 0; times < 3; times += 1) await log.record(event('alice'))
    expect(await told()).toEqual(Array.from({ length: 3 }, () => ['admin', 'succeeded', 1]))
  })

  it('chains an entry that stands for one event as it did before entries had a count and a client', async () => {
    await write(1)
    const [{ id: keyId, derive }] = secretsKeys
    const members = {
      action: 'user.changed',
      actor: 'admin',
      address: '203.0.113.7',
      at: rfc3339(clock.now()),
      keyId,
      macBefore: '',
      outcome: 'succeeded',
      requestId: '0191e7a0-0000-7000-8000-000000000000',
      scheme: 'bearer',
      seq: 1,
      target: 'user-1',
    }
    const mac = createHmac('sha256', derive('audit')).update(JSON.stringify(members)).digest('base64url')
    expect(await createLog().head()).toEqual({ count: 1, digest: mac })
  })

  it('keeps the next refusal, with the number of both, when one could not be stored', async () => {
    let isAway = true
    const unlessAway =
      (member: 'query' | 'write' | 'transaction') =>
      (...given: never[]) =>
        isAway ? Promise.reject(new Unavailable('database')) : Reflect.apply(database[member], database, given)
    const unreliable = {
      query: unlessAway('query'),
      write: unlessAway('write'),
      transaction: unlessAway('transaction'),
    } as unknown as typeof database
    const log = createSettledLog({ database: unreliable, clock, log: logger as never, secretsKeys })
    const refused = () => log.recordRefusal(event('alice', { outcome: 'too-many-attempts' }))
    await expect(refused()).rejects.toBeInstanceOf(Unavailable)
    isAway = false
    await refused()
    await refused()
    expect(await told()).toEqual([['admin', 'too-many-attempts', 2]])
  })

  it.each([
    ["update auth.audit_entries set outcome = 'succeeded ' where seq = 4", 'broken', 4],
    ['update auth.audit_entries set actor = null where seq = 1', 'broken', 1],
    ['update auth.audit_entries set count = 2 where seq = 3', 'broken', 3],
    ["update auth.audit_entries set at = at + interval '1 millisecond' where seq = 8", 'broken', 8],
    ['update auth.audit_entries set seq = 100 where seq = 4', 'missing', 4],
    ['delete from auth.audit_entries where seq = 5', 'missing', 5],
    ['delete from auth.audit_entries where seq <= 2', 'missing', 1],
    ['delete from auth.audit_entries where seq > 6', 'cut-off', 7],
    ["update auth.audit_entries set key_id = 'other' where seq = 2", 'unknown-key', 2],
    ["update auth.audit_head set mac = 'x'", 'broken', 8],
    [
      'update auth.audit_head set count = 5, mac = (select mac from auth.audit_entries where seq = 5)',
      'beyond-head',
      6,
    ],
  ])('shows what this did: %s', async (sql, fault, seq) => {
    await write(8)
    await tamper(sql)
    const verdict = await verify()
    expect(verdict.fault).toEqual({ fault, seq })
  })

  it('shows entries that changed places', async () => {
    await write(8)
    await tamper('update auth.audit_entries set seq = 100 where seq = 3')
    await tamper('update auth.audit_entries set seq = 3 where seq = 4')
    await tamper('update auth.audit_entries set seq = 4 where seq = 100')
    expect((await verify()).fault).toEqual({ fault: 'broken', seq: 3 })
  })

  it('shows by a head that was logged what its own chain cannot: an end that was cut off, a log that was rewritten', async () => {
    await write(4)
    const known = await createLog().head()
    await write(4)
    expect((await verify(known)).fault).toBeUndefined()
    const later = await createLog().head()
    await tamper('delete from auth.audit_entries where seq > 6')
    await tamper('update auth.audit_head set count = 6, mac = (select mac from auth.audit_entries where seq = 6)')
    expect((await verify()).fault).toBeUndefined()
    expect((await verify(known)).fault).toBeUndefined()
    expect((await verify(later)).fault).toEqual({ fault: 'cut-off', seq: 7 })
    await tamper('delete from auth.audit_entries')
    await tamper("update auth.audit_head set count = 0, mac = ''")
    clock.advance(1)
    await write(8)
    expect((await verify()).fault).toBeUndefined()
    expect((await verify(known)).fault).toEqual({ fault: 'other-log', seq: 4 })
  })

  it('goes on under a new SECRETS_KEY, and checks what the old one wrote as long as that one is there', async () => {
    const both = parseSecretsKeys(`${keyText(8)},${keyText(7)}`)
    await write(2)
    await createLog(both).record(event('alice'))
    expect(await verify(undefined, both)).toMatchObject({ sound: { count: 3 }, fault: undefined })
    const onlyNew = parseSecretsKeys(keyText(8))
    expect((await verify(undefined, onlyNew)).fault).toEqual({ fault: 'unknown-key', seq: 1 })
  })

  it('warns at the start of a server whose SECRETS_KEY is not what the last entry was written under', async () => {
    const started = async (keys: typeof secretsKeys) => {
      lines = []
      const log = createLog(keys)
      log.start()
      await log.stop()
      await pause(100)
      return lines.filter(({ level }) => level === 'warn').map(({ content }) => String(content))
    }
    const another = parseSecretsKeys(keyText(9))
    expect(await started(another)).toEqual([])
    await write(1)
    expect(await started(secretsKeys)).toEqual([])
    expect(await started(parseSecretsKeys(`${keyText(9)},${keyText(7)}`))).toEqual([])
    expect(await started(another)).toEqual([expect.stringMatching(/^SECRETS_KEY does not hold the key /)])
  })

  it('is sound when it is empty', async () => {
    expect(await verify()).toEqual({ sound: { count: 0, digest: '' }, fault: undefined })
    expect((await verify({ count: 0, digest: '' })).fault).toBeUndefined()
  })

  it('tells its head when it stops, and what it could not store', async () => {
    await write(1)
    const log = createLog()
    log.start()
    await log.stop()
    const head = await log.head()
    expect(lines).toMatchObject([{ level: 'info', content: { auditHead: head } }])
    expect(parseAuditHead(lines[0]?.text?.replace('Current audit head ', '') ?? '')).toEqual(head)
    const isAway = () => Promise.reject(new Unavailable('database'))
    const away = { query: isAway, write: isAway, transaction: isAway }
    const broken = createSettledLog({ database: away as never, clock, log: logger as never, secretsKeys })
    await expect(broken.record(event('alice'))).rejects.toBeInstanceOf(Unavailable)
    expect(lines.at(-1)).toMatchObject({ level: 'error', content: { auditEntry: { target: 'alice' } } })
  })

  it('says that it no longer has the head that it told a minute ago', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    try {
      await write(3)
      const log = createLog()
      log.start()
      vi.advanceTimersByTime(60_000)
      await expect.poll(() => lines).toHaveLength(1)
      const head = await log.head()
      await write(1)
      vi.advanceTimersByTime(60_000)
      await expect.poll(() => lines).toHaveLength(2)
      await tamper('delete from auth.audit_entries where seq > 2')
      await tamper('update auth.audit_head set count = 2, mac = (select mac from auth.audit_entries where seq = 2)')
      expect(await verify()).toMatchObject({ fault: undefined })
      await write(3)
      await log.stop()
      expect(lines.map(({ level }) => level)).toEqual(['info', 'info', 'info', 'error'])
      expect(lines[3]?.content).toMatchObject({ auditHead: { count: head.count + 1 } })
    } finally {
      vi.useRealTimers()
    }
  })

  it('reads a head as it is written on a command line', () => {
    const digest = 'A'.repeat(43)
    expect(parseAuditHead(`12:${digest}`)).toEqual({ count: 12, digest })
    expect(parseAuditHead('0:')).toEqual({ count: 0, digest: '' })
    for (const text of ['', '12', '12:', `0:${digest}`, `x:${digest}`, `12:${digest}A`])
      expect(parseAuditHead(text)).toBeUndefined()
  })
})
