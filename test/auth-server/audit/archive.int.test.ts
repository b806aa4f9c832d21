import { copyFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Command } from 'commander'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { archiveMonths } from '../../../auth-server/audit/archive-months.ts'
import type { ChainedLog } from '../../../auth-server/audit/chained-log.ts'
import { emptyResult, exportEntries } from '../../../auth-server/audit/export-entries.ts'
import { verifyMonth } from '../../../auth-server/audit/month-file.ts'
import { readEntries } from '../../../auth-server/audit/read-entries.ts'
import { removeArchived } from '../../../auth-server/audit/remove-archived.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { addAuditCommands } from '../../../auth-server/cli/commands/audit.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import { campaign } from '../../support/campaign.ts'
import { describeOnDatabases, type TestDatabase } from '../support/auth-database.ts'
import { createSettledLog } from '../support/settled-log.ts'
import { createTestClock } from '../support/test-clock.ts'

const keyText = (byte: number) => Buffer.alloc(32, byte).toString('base64url')
const [oldKey, newKey] = [parseSecretsKeys(keyText(7)), parseSecretsKeys(keyText(8))]
const bothKeys = parseSecretsKeys(`${keyText(8)},${keyText(7)}`)
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }
const { signal } = new AbortController()
const event = { actor: 'erin', action: 'user.changed', target: 'x', outcome: 'succeeded' }
const rest = { scheme: null, address: null, requestId: null }

describeOnDatabases('the archive of the audit log', (open) => {
  let opened: TestDatabase
  let directory = ''
  let clock: ReturnType<typeof createTestClock>
  let log: ChainedLog

  // Entries 1 to 10 are of November, 11 to 20 of December, 21 to 30 of January; 31 of February.
  beforeEach(async () => {
    opened = await open()
    directory = await mkdtemp(join(tmpdir(), 'keyhold-archive-'))
    clock = createTestClock(Date.UTC(2025, 10, 20))
    log = createSettledLog({ database: opened.database, clock, log: quiet, secretsKeys: oldKey })
    for (let seq = 1; seq <= 31; seq += 1) {
      if (seq % 10 === 1 && seq > 1) clock.advance(30 * 86_400_000)
      await log.record({ ...event, ...rest, target: `user-${seq}`, reason: seq % 7 === 0 ? 'Größe "quoted"' : null })
    }
  })
  afterEach(async () => {
    await opened.dispose()
    await rm(directory, { recursive: true, force: true })
  })

  const ports = (secretsKeys = oldKey) => ({ ...opened, secretsKeys, allSecretsKeys: bothKeys, signal })
  const archive = (before: string) => archiveMonths(ports(), { before, directory })
  const remove = async (before: string) => removeArchived(ports(), await archive(before))
  const verdict = (head?: { count: number; digest: string }) =>
    verifyChain({ database: opened.database, secretsKeys: bothKeys, pageSize: 7 }, head)
  const faultOf = async (name: string) => (await verifyMonth(join(directory, name), bothKeys)).fault
  const november = 'audit-2025-11.ndjson.gz'
  const december = 'audit-2025-12.ndjson.gz'

  /** Runs a command of the group, as a person does. */
  const run = async (...parameters: string[]) => {
    let report: Report | undefined
    const program = new Command('ops').exitOverride().configureOutput({ writeErr: () => undefined })
    const keys = { secretsKeys: oldKey, allSecretsKeys: bothKeys }
    addAuditCommands(program, {
      openAuthData: (work) => work({ database: opened.database, ...keys }),
      readKeys: async () => keys,
      clock,
      operator: 'erin',
      report:
        (work) =>
        async (...given) => {
          report = await work(...given)
        },
      interrupted: () => signal,
      output: new PassThrough(),
      warn: () => undefined,
      print: () => undefined,
      withAdmin: () => Promise.reject(new Error('not over HTTP')),
    })
    await program.parseAsync(['audit', ...parameters], { from: 'user' })
    return report
  }
  const withoutTriggers = (sql: string) =>
    opened.database.transaction(async (transaction) => {
      await transaction.execute('alter table auth.audit_entries disable trigger user')
      await transaction.execute(sql)
      await transaction.execute('alter table auth.audit_entries enable trigger user')
    })

  it('writes a file for each month that is over, reads it back, and leaves the log as it is', async () => {
    const report = await run('archive', '--before', '2026-01', '--directory', directory)
    expect(report?.json).toMatchObject({
      removed: 0,
      months: [
        { month: '2025-11', first: 1, last: 10, entries: 10, macBefore: '' },
        { month: '2025-12', first: 11, last: 20, entries: 10 },
      ],
    })
    const manifests = ['audit-2025-11.manifest.json', 'audit-2025-12.manifest.json']
    expect((await readdir(directory)).toSorted()).toEqual([manifests[0], november, manifests[1], december])
    const lines = gunzipSync(await readFile(join(directory, december)))
      .toString()
      .trimEnd()
      .split('\n')
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
    const { sound, archived, fault } = await verdict()
    expect({ count: sound.count, archived, fault }).toEqual({
      count: 31,
      archived: undefined,
      fault: undefined,
    })
  })

  it('verifies a month alone, without the database, and months that follow each other', async () => {
    await archive('2026-02')
    const files = ['2025-12', '2026-01', '2025-11'].map((month) => join(directory, `audit-${month}.ndjson.gz`))
    const alone = await run('verify', '--file', files[0] ?? '')
    expect(alone).toMatchObject({ exitCode: 0, json: { ok: true, files: [{ month: '2025-12', first: 11, last: 20 }] } })
    expect(alone?.text).toMatch(/^In order: .*audit-2025-12\.ndjson\.gz, 2025-12, 10 entries from 11 to 20\. Its head/)
    expect(await run('verify', '--file', ...files)).toMatchObject({ exitCode: 0 })
    const gap = await run('verify', '--file', files[1] ?? '', files[2] ?? '')
    expect(gap?.exitCode).toBe(1)
    expect(gap?.text).toContain('Wrong: between the months 2025-11 and 2026-01 entries 11 to 20 are missing.')
    const [, head = ''] = /Its head is (\S+)/.exec(alone?.text ?? '') ?? []
    expect(await run('verify', '--file', ...files, '--head', head)).toMatchObject({ exitCode: 0 })
    const other = head.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))
    expect((await run('verify', '--file', ...files, '--head', other))?.text).toContain('not of the log whose head')
    expect((await run('verify', '--file', files[2] ?? '', '--head', head))?.text).toContain('none of the files has')
  })

  it('knows a month of a former key, and not one of a key that it was not given', async () => {
    await archive('2025-12')
    const path = join(directory, november)
    expect((await verifyMonth(path, bothKeys)).fault).toBeUndefined()
    expect((await verifyMonth(path, newKey)).fault).toContain('neither in SECRETS_KEY nor in FORMER_SECRETS_KEYS')
  })

  it('removes months that are in files: the log goes on, and is green with and without the files', async () => {
    const { sound: before } = await verdict()
    const report = await run('archive', '--before', '2026-01', '--directory', directory, '--remove')
    expect(report?.json).toMatchObject({ removed: 20 })
    await rm(directory, { recursive: true })
    const { sound, archived, fault } = await verdict(before)
    expect({ count: sound.count, archived: archived?.count, fault }).toEqual({
      count: 33,
      archived: 20,
      fault: undefined,
    })
    const text = (await run('verify'))?.text ?? ''
    expect(text).toMatch(/^In order: 13 entries\. The head is 33:\S+\nArchived before them, up to 20:\S+$/)
    const { items } = await readEntries(opened.database, { limit: 3 })
    expect(items.map(({ seq }) => seq)).toEqual([21, 22, 23])
    const about = await readEntries(opened.database, { limit: 9, filter: { target: 'user-25' } })
    expect(about.items.map(({ seq }) => seq)).toEqual([25])
    const from = await readEntries(opened.database, { limit: 1, order: 'desc', filter: { to: '2026-02-01T00:00:00Z' } })
    expect(from).toMatchObject({ items: [{ seq: 30 }], next: 30 })
    expect((await readEntries(opened.database, { limit: 9, filter: { target: 'user-5' } })).items).toEqual([])
    const own = await readEntries(opened.database, { limit: 9, filter: { action: 'audit.*' } })
    expect(own.items).toMatchObject(
      ['2025-11', '2025-12'].map((target) => ({ action: 'audit.archived', actor: 'erin', target })),
    )
    const result = emptyResult()
    for await (const entry of exportEntries({ database: opened.database, secretsKeys: oldKey }, {}, result)) {
      expect(entry.macBefore).not.toBe('')
    }
    expect(result).toMatchObject({ entries: 13, first: 21, fault: undefined })
  })

  it('goes on with the next month, whose file joins the last one', async () => {
    await remove('2026-01')
    await log.record({ ...event, ...rest })
    expect(await remove('2026-02')).toBe(10)
    const files = ['2025-11', '2025-12', '2026-01'].map((month) => join(directory, `audit-${month}.ndjson.gz`))
    expect(await run('verify', '--file', ...files)).toMatchObject({ exitCode: 0 })
    expect(await verdict()).toMatchObject({ sound: { count: 32 }, archived: { count: 30 }, fault: undefined })
    expect(await archive('2026-02')).toEqual([])
  })

  it('takes entries that came late into a later month, also when a file is there already', async () => {
    await archive('2026-02')
    const [february, late] = [clock.now(), createTestClock(Date.UTC(2026, 0, 31))]
    await createSettledLog({ ...opened, clock: late, log: quiet, secretsKeys: oldKey }).record({
      ...event,
      ...rest,
      target: 'late',
    })
    expect((await archive('2026-02')).map(({ last }) => last)).toEqual([10, 20, 30])
    await remove('2026-02')
    const { items } = await readEntries(opened.database, { limit: 9 })
    expect(items.map(({ seq, target }) => `${seq} ${target}`)).toEqual(['31 user-31', '32 late'])
    expect(new Date(february).toISOString()).toBe('2026-02-18T00:00:00.000Z')
    expect(await remove('2026-03')).toBe(2)
    expect(await verdict()).toMatchObject({ sound: { count: 32 }, fault: undefined })
    await log.record({ ...event, ...rest })
    expect(await verdict()).toMatchObject({ sound: { count: 33 }, fault: undefined })
  })

  it('is green at any time while entries are removed and others are written, and after an interruption', async () => {
    const months = await archive('2026-02')
    const abort = new AbortController()
    const onProgress = (done: number) => void (done >= 6 && abort.abort(new Error('Interrupted.')))
    const interrupted = removeArchived({ ...ports(), signal: abort.signal, batchSize: 3, onProgress }, months)
    await expect(interrupted).rejects.toThrow('Interrupted.')
    expect(await verdict()).toMatchObject({ archived: { count: 6 }, fault: undefined })
    const others = [oldKey, bothKeys].map((secretsKeys) =>
      createSettledLog({ ...opened, clock, log: quiet, secretsKeys }),
    )
    const writing = Promise.all(
      Array.from({ length: 20 }, (_, index) => others[index % 2]?.record({ ...event, ...rest })),
    )
    let isRemoving = true
    const removing = removeArchived({ ...ports(), batchSize: 2 }, months).finally(() => (isRemoving = false))
    while (isRemoving) {
      expect((await verdict()).fault).toBeUndefined()
      // The embedded engine answers without leaving time to timers.
      await pause(1)
    }
    expect(await removing).toBe(24)
    await writing
    expect(await verdict()).toMatchObject({ sound: { count: 51 }, archived: { count: 30 }, fault: undefined })
  })

  it('refuses to delete or to change an entry that is not archived', async () => {
    const refused = async (sql: string) => {
      await expect(opened.database.write(sql)).rejects.toMatchObject({ sqlState: '23001' })
    }
    await refused('delete from auth.audit_entries where seq = 1')
    await remove('2025-12')
    await refused('delete from auth.audit_entries')
    await refused('delete from auth.audit_entries where seq = 11')
    await refused(`update auth.audit_entries set actor = 'nobody' where seq = 11`)
    await refused('truncate auth.audit_entries')
    expect((await readEntries(opened.database, { limit: 1 })).items).toMatchObject([{ seq: 11, actor: 'erin' }])
  })

  it('is red when the beginning of the log is forged', async () => {
    const rowAt = async () =>
      (await opened.database.query<{ row: string }>('select to_json(a)::text as row from auth.audit_archive a'))[0]
        ?.row ?? ''
    const put = (row: string) =>
      opened.database.write(
        `update auth.audit_archive a set (count, mac, month, key_id, seal) = (select count, mac, month, key_id, seal
          from json_populate_record(null::auth.audit_archive, $1::text::json))`,
        [row],
      )
    const empty = await rowAt()
    await remove('2025-12')
    const one = await rowAt()
    await remove('2026-01')
    const two = await rowAt()
    const [{ mac = '' } = {}] = await opened.database.query<{ mac: string }>(
      'select mac from auth.audit_entries where seq = 25',
    )
    // Hides entries behind a head that the forger has no key for.
    await put(JSON.stringify({ ...JSON.parse(two), count: 25, mac }))
    await opened.database.write('delete from auth.audit_entries where seq <= 22')
    expect((await verdict()).fault).toEqual({ fault: 'broken-archive', seq: 25 })
    await put(JSON.stringify({ ...JSON.parse(two), key_id: 'unknown' }))
    expect((await verdict()).fault).toEqual({ fault: 'unknown-archive-key', seq: 20 })
    await put(two)
    expect((await verdict()).fault).toEqual({ fault: 'missing', seq: 21 })
    await put(one)
    expect((await verdict()).fault).toEqual({ fault: 'missing', seq: 11 })
    await put(empty)
    expect((await verdict()).fault).toEqual({ fault: 'missing', seq: 1 })
  })

  it('is red when an entry stands before the beginning, and says when a head is too old for the database', async () => {
    const { sound: old } = await verifyChain({ database: opened.database, secretsKeys: bothKeys })
    await remove('2026-01')
    await withoutTriggers(`insert into auth.audit_entries (seq, at, action, outcome, key_id, mac)
      values (20, now(), 'user.changed', 'succeeded', 'x', 'y')`)
    expect((await verdict()).fault).toEqual({ fault: 'before-archive', seq: 20 })
    await opened.database.write('delete from auth.audit_entries where seq = 20')
    expect((await verdict(old)).fault).toBeUndefined()
    expect((await verdict({ count: 5, digest: 'x' })).fault).toEqual({ fault: 'head-archived', seq: 5 })
    const { archived } = await verdict()
    expect((await verdict(archived)).fault).toBeUndefined()
    expect((await verdict({ count: 20, digest: 'x' })).fault).toEqual({ fault: 'other-log', seq: 20 })
  })

  it('is red, and says why, for a month that was tampered with, cut, reordered or swapped', async () => {
    await archive('2026-01')
    const path = join(directory, november)
    const [file, manifest] = [
      await readFile(path),
      await readFile(join(directory, 'audit-2025-11.manifest.json'), 'utf8'),
    ]
    const lines = gunzipSync(file).toString().trimEnd().split('\n')
    const red = async (changed: readonly string[]) => {
      await writeFile(path, gzipSync(`${changed.join('\n')}\n`))
      return faultOf(november)
    }
    const [first = '', second = '', ...others] = lines
    expect(await red([first.replace('erin', 'eric'), second, ...others])).toBe(
      'entry 1, or the one before it, is not what was written.',
    )
    expect(await red(lines.slice(0, -1))).toBe('it ends before entry 10, which was there once.')
    expect(await red([second, first, ...others])).toBe('behind entry 0 comes entry 2.')
    expect(await red([first, ...others])).toBe('behind entry 1 comes entry 3.')
    expect(await red([...lines, lines[9] ?? ''])).toBe('behind entry 10 comes entry 10.')
    expect(await red([first.replace('{', '{"more":1,'), second, ...others])).toBe(
      'the line behind entry 0 is no entry.',
    )
    expect(await red([first.replace('{', '{ '), second, ...others])).toBe('its bytes are not those that were written.')
    expect(await red([first, 'x', ...others])).toBe('line 2 is no JSON.')
    await writeFile(path, file.subarray(0, -20))
    expect(await faultOf(november)).toBe('it is cut off, or is no gzip file.')
    await copyFile(join(directory, december), path)
    expect(await faultOf(november)).toBe('it has entry 11, which is not of this month.')
    await copyFile(join(directory, 'audit-2025-12.manifest.json'), join(directory, 'audit-2025-11.manifest.json'))
    expect(await faultOf(november)).toBe('by its manifest it is the month 2025-12, not audit-2025-11.')
    await writeFile(path, file)
    const forged = manifest.replace('"first": 1', '"first": 2')
    await writeFile(join(directory, 'audit-2025-11.manifest.json'), forged)
    expect(await faultOf(november)).toBe('its manifest is not what was written.')
    await writeFile(join(directory, 'audit-2025-11.manifest.json'), '{}')
    expect(await faultOf(november)).toBe('its manifest does not have the form of one.')
    await rm(join(directory, 'audit-2025-11.manifest.json'))
    expect(await faultOf(november)).toBe('its manifest is missing.')
    await writeFile(join(directory, 'audit-2025-11.manifest.json'), manifest)
    expect(await faultOf(november)).toBeUndefined()
    await rename(path, join(directory, 'x'))
    expect(await faultOf('x')).toBe('its name does not end in .ndjson.gz.')
    await expect(run('verify', '--file', path)).rejects.toThrow(/^--file: .* cannot be used/)
  })

  it('is red when any one byte of a file, or of its manifest, is another one', async () => {
    await archive('2025-12')
    const names = [november, 'audit-2025-11.manifest.json']
    const contents = await Promise.all(names.map((name) => readFile(join(directory, name))))
    await fc.assert(
      fc.asyncProperty(fc.nat(1), fc.nat(), fc.integer({ min: 1, max: 255 }), async (which, at, change) => {
        const [path, content] = [join(directory, names[which] ?? ''), contents[which] ?? Buffer.alloc(1)]
        const changed = Buffer.from(content)
        changed[at % content.length] = (changed[at % content.length] ?? 0) ^ change
        await writeFile(path, changed)
        const isBlank = (text: Buffer) => /^\s*$/.test(text.toString('latin1'))
        const index = at % content.length
        // White space between the members of a manifest says nothing.
        const says =
          which === 0 || !(isBlank(content.subarray(index, index + 1)) && isBlank(changed.subarray(index, index + 1)))
        if (says) expect(await faultOf(november)).toEqual(expect.any(String))
        await writeFile(path, content)
      }),
      { numRuns: campaign({ short: 100, long: 5000 }) },
    )
    expect(await faultOf(november)).toBeUndefined()
  })

  it('archives nothing of a log that is not sound, and does not take a file of another log', async () => {
    await archive('2025-12')
    await withoutTriggers(`update auth.audit_entries set actor = 'nobody' where seq = 13`)
    await expect(archive('2026-01')).rejects.toThrow('entry 13, or the one before it, is not what was written.')
    expect((await readdir(directory)).filter((name) => name.includes('2025-12'))).toEqual([])
    await withoutTriggers(`update auth.audit_entries set actor = 'nobody' where seq = 3`)
    await expect(remove('2025-12')).rejects.toThrow('entry 3, or the one before it, is not what was written.')
    await withoutTriggers('delete from auth.audit_entries')
    await opened.database.write(`update auth.audit_head set count = 0, mac = ''`)
    const anew = createTestClock(Date.UTC(2025, 10, 1))
    await createSettledLog({ ...opened, clock: anew, log: quiet, secretsKeys: oldKey }).record({ ...event, ...rest })
    await expect(archive('2025-12')).rejects.toThrow('it is not of this log as it is now.')
  })

  it('still knows what is logged only once', async () => {
    const made = { ...event, ...rest, action: 'key.generated', target: 'Kid-1', at: '2025-11-20T00:00:00.000Z' }
    expect(await log.recordOnce([made])).toHaveLength(1)
    clock.advance(60 * 86_400_000)
    await log.record({ ...event, ...rest })
    expect(await remove('2026-03')).toBe(32)
    expect(await log.recordOnce([made])).toEqual([])
    expect(await log.recordOnce([{ ...made, target: 'Kid-2' }])).toHaveLength(1)
  })

  it('is refused for a month that is not over, a directory that is not there, and a key of others', async () => {
    await expect(run('archive', '--before', '2026-03', '--directory', directory)).rejects.toThrow(/are not over/)
    await expect(run('archive', '--before', '2026', '--directory', directory)).rejects.toThrow(/such as 2026-01/)
    await expect(run('archive', '--before', '2026-01', '--directory', join(directory, 'none'))).rejects.toThrow(
      /--directory/,
    )
    await expect(run('archive', '--before', '2026-01')).rejects.toThrow(/--directory/)
    const foreign = { ...opened, secretsKeys: newKey, allSecretsKeys: newKey, signal }
    await expect(archiveMonths(foreign, { before: '2026-01', directory })).rejects.toThrow(/entry 1 was written under/)
    expect(await readdir(directory)).toEqual([])
  })
})
