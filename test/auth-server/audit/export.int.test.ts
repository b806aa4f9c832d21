import { createHmac } from 'node:crypto'
import { chmod, lstat, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { Command } from 'commander'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { emptyResult, exportEntries } from '../../../auth-server/audit/export-entries.ts'
import { addAuditExport } from '../../../auth-server/cli/commands/audit-export.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import { describeOnDatabases, type TestDatabase } from '../support/auth-database.ts'
import { createSettledLog } from '../support/settled-log.ts'
import { createTestClock } from '../support/test-clock.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

describeOnDatabases('the export of the audit log', (open) => {
  const clock = createTestClock(Date.UTC(2026, 0, 1))
  let opened: TestDatabase
  let directory = ''

  beforeAll(async () => {
    opened = await open()
    directory = await mkdtemp(join(tmpdir(), 'keyhold-export-'))
    const log = createSettledLog({ database: opened.database, clock, log: quiet, secretsKeys })
    for (let number = 1; number <= 50; number += 1) {
      clock.advance(1000)
      const target = `user-${number}`
      const event = { actor: number % 5 === 0 ? 'Erin' : 'admin', action: 'user.changed', target, outcome: 'succeeded' }
      const reason = number === 10 ? '=1+1 "quoted", with a comma' : null
      await log.record({ ...event, scheme: null, address: null, requestId: null, reason })
    }
  })
  afterAll(async () => {
    await opened.dispose()
    await rm(directory, { recursive: true, force: true })
  })

  /** Runs the command, as a person does. */
  const run = async (...parameters: string[]) => {
    const output = new PassThrough()
    const warnings: string[] = []
    let report: Report | undefined
    const program = new Command('ops').exitOverride().configureOutput({ writeErr: (text) => void warnings.push(text) })
    addAuditExport(program.command('audit'), {
      openAuthData: (work) => work({ database: opened.database, secretsKeys, allSecretsKeys: secretsKeys }),
      report:
        (work) =>
        async (...given) => {
          report = await work(...given)
        },
      output,
      warn: (text) => void warnings.push(text),
      interrupted: () => new AbortController().signal,
    })
    const written = textOf(output)
    await program.parseAsync(['audit', 'export', ...parameters], { from: 'user' }).finally(() => output.end())
    return { text: await written, report, warnings }
  }
  const linesOf = (text: string): Record<string, unknown>[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const tamper = (sql: string) =>
    opened.database.transaction(async (transaction) => {
      await transaction.execute('alter table auth.audit_entries disable trigger user')
      await transaction.execute(sql)
      await transaction.execute('alter table auth.audit_entries enable trigger user')
    })

  it('reads every entry once over pages of any size, in the order of numbers, and no more than a page at once', async () => {
    for (const pageSize of [1, 7, 50, 1000]) {
      const [result, seen, progress] = [emptyResult(), [] as number[], [] as number[]]
      let read = 0
      const database = {
        query: opened.database.query.bind(opened.database),
        readWithin: async (...statement: Parameters<typeof opened.database.readWithin>) => {
          const rows = await opened.database.readWithin(...statement)
          read += rows.length
          return rows as never
        },
      }
      const onProgress = (done: number) => void progress.push(done)
      for await (const { seq } of exportEntries({ database, secretsKeys, pageSize, onProgress }, {}, result)) {
        seen.push(seq)
        expect(read - seen.length).toBeLessThan(pageSize)
      }
      expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
      expect(result).toEqual({ entries: 50, first: 1, last: 50, fault: undefined })
      expect(progress.at(-1)).toBe(50)
    }
  })

  it('gives each entry what is needed to compute its MAC, and nothing else is', async () => {
    const { text, report, warnings } = await run('--target', 'USER-10')
    expect(report).toMatchObject({ text: '', exitCode: 0 })
    expect(warnings).toEqual(['Exported: 1 entry, from 10 to 10. Each is what was written.'])
    const [{ mac, ...entry } = {}] = linesOf(text)
    const members = Object.entries(entry).filter(([name, value]) => name !== 'count' && (name !== 'reason' || value))
    const canonical = JSON.stringify(Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1))))
    const key = secretsKeys[0].derive('audit')
    expect(createHmac('sha256', key).update(canonical).digest('base64url')).toBe(mac)
  })

  it('takes the filters of the list, and refuses wrong ones', async () => {
    const span = ['--from', '2026-01-01T00:00:10Z', '--to', '2026-01-01T00:00:21Z']
    const found = linesOf((await run('--actor', 'erin', ...span, '--action', 'user.*')).text)
    expect(found.map(({ seq }) => seq)).toEqual([10, 15, 20])
    expect((await run('--action', 'key.*')).text).toBe('')
    await expect(run('--from', 'yesterday')).rejects.toThrow(/Expected a time/)
    await expect(run('--actor', 'a b')).rejects.toThrow(/Expected a user name/)
    await expect(run('--to', '2026-01-01T00:00:00Z', '--from', '2026-01-01T00:00:00Z')).rejects.toThrow(/after --from/)
  })

  it('writes a file that only its owner can read, in CSV too, and leaves none behind when it fails', async () => {
    const file = join(directory, 'log.csv')
    const { report } = await run('--format', 'csv', '--spreadsheet', '--out', file, '--to', '2026-01-01T00:00:11Z')
    expect(report).toMatchObject({ json: { ok: true, file, entries: 10, first: 1, last: 10 }, exitCode: 0 })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const csv = await readFile(file, 'utf8')
    expect(csv.startsWith('\ufeffseq,')).toBe(true)
    const rows: Record<string, string>[] = parse(csv, { columns: true, bom: true })
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 10 }, (_, index) => String(index + 1)))
    expect(rows[9]).toMatchObject({ actor: 'Erin', scheme: '', reason: `'=1+1 "quoted", with a comma` })
    await expect(run('--out', join(directory, 'none', 'log.ndjson'))).rejects.toThrow()
    expect(await readdir(directory)).toEqual(['log.csv'])
    await chmod(file, 0o640)
    await symlink('log.csv', join(directory, 'link'))
    await run('--out', file, '--to', '2026-01-01T00:00:03Z')
    expect([(await stat(file)).mode & 0o777, linesOf(await readFile(file, 'utf8')).length]).toEqual([0o640, 2])
    await run('--out', join(directory, 'link'), '--to', '2026-01-01T00:00:02Z')
    expect((await lstat(join(directory, 'link'))).isSymbolicLink()).toBe(true)
    expect(linesOf(await readFile(file, 'utf8'))).toHaveLength(1)
    await expect(run('--out', '/dev/full')).rejects.toThrow(/ENOSPC/)
  })

  it('exports an entry that was changed too, names it, and fails', async () => {
    await tamper("update auth.audit_entries set actor = 'nobody' where seq = 30")
    const { text, report, warnings } = await run()
    expect(linesOf(text)).toHaveLength(50)
    expect(report?.exitCode).toBe(1)
    expect(warnings.join()).toContain('Wrong: entry 30, or the one before it, is not what was written.')
    expect((await run('--from', '2026-01-01T00:00:31Z')).report?.exitCode).toBe(0)
  })
})
