import { randomUUID } from 'node:crypto'
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Command } from 'commander'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addEventCommands } from '../../../auth-server/cli/commands/events.ts'
import { archiveEvents, verifyEventFile } from '../../../auth-server/cli/offline/events-archive.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { beginning, type Place } from '../../../deal-server/events/position.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { positionOfEvent } from '../../../deal-server/store/event-statements.ts'
import { textOf } from '../../../shared/platform/database/statement.ts'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'
import { describeOnDatabases, type TestDatabase } from '../support/auth-database.ts'
import { createTestClock } from '../support/test-clock.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))
const otherKeys = parseSecretsKeys(Buffer.alloc(32, 8).toString('base64url'))
const now = Date.UTC(2026, 5, 1)
const clock = createTestClock(now)
const { signal } = new AbortController()

interface Row {
  readonly position: number
  readonly id: string
  readonly deal: string
  readonly sequence: number
}

describeOnDatabases('the archive of events', (open) => {
  let opened: TestDatabase
  let directory = ''
  const [purged, alive, young] = [randomUUID(), randomUUID(), randomUUID()]

  /** Events of a deal, which enter the log at once. */
  const happened = async (dealId: string, { days, from, to }: { days: number; from: number; to: number }) => {
    await opened.database.write(
      `with counted as (
          update deals.event_counters c set count = c.count + 1 + $4::text::int - $3::text::int
          where c.bucket = deals.bucket_of($1::text::uuid) returning c.bucket, c.count
        )
        insert into deals.events (id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor, use_case,
          style, correlation_id, bucket, number)
        select gen_random_uuid(), $1::text::uuid, n, n, 'deal.held', '{}', 'EUR', $2::text::timestamptz, 'alice', 'HoldDeal',
          'resource', gen_random_uuid(), bucket, count - $4::text::int + n
        from counted, generate_series($3::text::int, $4::text::int) n`,
      [dealId, new Date(now - days * 86_400_000).toISOString(), from, to],
    )
    await createEventLog(opened.database).state()
  }
  const rows = async (): Promise<Row[]> => {
    const [row] = await opened.database.query<{ all: Row[] }>(
      `select coalesce(json_agg(json_build_object('position', position, 'id', id, 'deal', deal_id, 'sequence', sequence)
        order by position), '[]'::json) as all from (select e.*, ${textOf(positionOfEvent)} as position from deals.events e) e`,
    )
    return row?.all ?? []
  }
  const sequencesOf = async (deal: string) => (await rows()).flatMap((row) => (row.deal === deal ? [row.sequence] : []))

  beforeEach(async () => {
    opened = await open()
    await migrateBoth(opened.database)
    directory = await mkdtemp(join(tmpdir(), 'keyhold-events-'))
    await happened(purged, { days: 500, from: 1, to: 5 })
    await happened(alive, { days: 500, from: 1, to: 5 })
    await happened(purged, { days: 400, from: 6, to: 8 })
    await happened(young, { days: 40, from: 1, to: 3 })
    await opened.database.write(
      `insert into deals.deals (id, name, price, currency, owner_id, status, held, penalty_total, task_count, version,
          sequence, created_at, created_by, updated_at, updated_by, bucket)
        values ($1::text::uuid, 'x', 1, 'EUR', 'alice', 'open', false, 0, 0, 5, 5, now(), 'alice', now(), 'alice',
          deals.bucket_of($1::text::uuid))`,
      [alive],
    )
  })
  afterEach(async () => {
    await opened.dispose()
    await rm(directory, { recursive: true, force: true })
  })

  const run = async (...parameters: string[]) => {
    let report: Report | undefined
    const program = new Command('ops').exitOverride().configureOutput({ writeErr: () => undefined })
    addEventCommands(program, {
      openStoredData: (work) => work({ auth: undefined, deals: opened.database }),
      readKeys: async () => ({ secretsKeys, allSecretsKeys: secretsKeys }),
      clock,
      interrupted: () => signal,
      report:
        (work) =>
        async (...given) => {
          report = await work(...given)
        },
    })
    await program.parseAsync(['events', ...parameters], { from: 'user' })
    return report
  }
  const archive = (...parameters: string[]) => run('archive', '--directory', directory, ...parameters)
  const file = 'events-20260601T000000Z-0001.ndjson.gz'
  const linesOf = async (name: string): Promise<Record<string, unknown>[]> =>
    gunzipSync(await readFile(join(directory, name)))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))

  it('has old events of purged deals with their positions and every column, and leaves the database as it is', async () => {
    const before = await rows()
    const report = await archive()
    expect(report?.json).toMatchObject({ removed: 0, files: [{ events: 7, removed: 0 }] })
    const lines = await linesOf(file)
    expect(lines.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(new Set(lines.map(({ deal_id: id }) => id))).toEqual(new Set([purged]))
    const columns = await opened.database.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_schema = 'deals' and table_name = 'events'`,
    )
    expect(Object.keys(lines[0] ?? {}).toSorted()).toEqual(['position', ...columns.map(({ name }) => name)].toSorted())
    expect(await rows()).toEqual(before)
    const verified = await run('verify', join(directory, file))
    expect(verified).toMatchObject({ exitCode: 0, json: { ok: true, files: [{ events: 7, fault: null }] } })
  })

  it('can be put back, row by row', async () => {
    const before = await rows()
    await archive('--remove')
    for (const line of await linesOf(file)) {
      await opened.database.write(
        'insert into deals.events select * from json_populate_record(null::deals.events, $1::text::json)',
        [JSON.stringify(line)],
      )
    }
    expect(await rows()).toEqual(before)
  })

  it('removes them on demand: the last one stays, and so do all events of deals that exist, and young ones', async () => {
    expect(await archive('--remove')).toMatchObject({ json: { removed: 7 } })
    expect(await sequencesOf(purged)).toEqual([8])
    expect(await sequencesOf(alive)).toEqual([1, 2, 3, 4, 5])
    expect(await sequencesOf(young)).toEqual([1, 2, 3])
    expect((await archive('--remove'))?.text).toBe('There is nothing to archive.')
    expect(await archive('--older-than', '31', '--remove')).toMatchObject({ json: { removed: 2 } })
    expect(await sequencesOf(young)).toEqual([3])
  })

  it('leaves a log that is read to its end, from its beginning and from every position that is left', async () => {
    const log = createEventLog(opened.database)
    const positionsFrom = async (place: Place) => {
      const seen: number[] = []
      for (let after = place; ; ) {
        const page = await log.read(after, { limit: 2 })
        seen.push(...page.events.map(({ position }) => position))
        if (page.isLast) return seen
        after = { ...page.end }
      }
    }
    const gone = (await rows())[0]?.position
    await archive('--remove')
    const left = (await rows()).map(({ position }) => position)
    expect(await positionsFrom(beginning)).toEqual(left)
    for (const position of left) {
      const { place } = await log.takeSnapshot(position)
      expect(await positionsFrom(place ?? beginning)).toEqual(left.filter((other) => other > position))
    }
    // A stream from there is refused: 400.
    const { place, last } = await log.takeSnapshot(gone)
    expect({ place, last: last.position }).toEqual({ place: undefined, last: left.at(-1) })
  })

  it('leaves events that a webhook stands at, or waits for', async () => {
    const [first] = await rows()
    const [waiting, webhook] = [randomUUID(), randomUUID()]
    await happened(waiting, { days: 400, from: 1, to: 3 })
    await opened.database.write(
      `insert into deals.webhooks (id, url, types, deals, state, pause_reported, created_by, created_at, updated_at,
          responsible, responsible_user_id, sees_deleted, secret, revision, position, failures)
        values ($1::text::uuid, 'x', '[]', '[]', 'active', false, 'a', now(), now(), 'a', 'a', false, 's', 1,
          $2::text::bigint, 0)`,
      [webhook, String(first?.position)],
    )
    await opened.database.write(
      `insert into deals.webhook_blocked values ($1::text::uuid, $2::text::uuid, 2, 1, now(), now())`,
      [webhook, waiting],
    )
    expect(await archive('--remove')).toMatchObject({ json: { removed: 6 } })
    expect(await sequencesOf(purged)).toEqual([1, 8])
    expect(await sequencesOf(waiting)).toEqual([1, 2, 3])
  })

  it('is a copy of every event with --all, in files of some size each', async () => {
    expect(await archive('--all')).toMatchObject({ json: { files: [{ events: 13 }] } })
    await expect(archive('--all', '--remove')).rejects.toThrow(/are their history/)
    const request = { before: now, all: true, directory, prefix: 'part', remove: false }
    const files = await archiveEvents({ ...opened, secretsKeys, signal, fileSize: 6 }, request)
    expect(files.map(({ name, events }) => `${name} ${events}`)).toEqual(['part-0001 6', 'part-0002 6', 'part-0003 4'])
    const all = await Promise.all(files.map(({ name }) => linesOf(`${name}.ndjson.gz`)))
    expect(all.flat().map(({ id }) => id)).toEqual((await rows()).map(({ id }) => id))
  })

  it('is red, and says why, when a file was changed, cut, reordered or swapped', async () => {
    await archive()
    const path = join(directory, file)
    const content = await readFile(path)
    const lines = gunzipSync(content).toString().trimEnd().split('\n')
    const red = async (changed: readonly string[]) => {
      await writeFile(path, gzipSync(`${changed.join('\n')}\n`))
      return (await verifyEventFile(path, secretsKeys)).fault
    }
    const [first = '', second = '', ...others] = lines
    expect(await red([first.replace('alice', 'mallory'), second, ...others])).toBe(
      'its bytes are not those that were written.',
    )
    expect(await red(lines.slice(0, -1))).toBe('it has 6 events; it had 7.')
    expect(await red([first, ...others])).toBe('it has 6 events; it had 7.')
    expect(await red([second, first, ...others])).toMatch(/^behind the event at \d+ comes the one at \d+\.$/)
    expect(await red(['{}', second, ...others])).toBe('line 1 is no event.')
    await writeFile(path, content.subarray(0, -9))
    expect((await verifyEventFile(path, secretsKeys)).fault).toBe('it is cut off, or is no gzip file.')
    await writeFile(path, content)
    expect((await verifyEventFile(path, secretsKeys)).fault).toBeUndefined()
    expect((await verifyEventFile(path, otherKeys)).fault).toContain('neither in SECRETS_KEY')
    const manifest = join(directory, 'events-20260601T000000Z-0001.manifest.json')
    await copyFile(path, join(directory, 'events-2.ndjson.gz'))
    await copyFile(manifest, join(directory, 'events-2.manifest.json'))
    const verdict = await run('verify', path, join(directory, 'events-2.ndjson.gz'))
    expect(verdict?.exitCode).toBe(1)
    expect(verdict?.text).toMatch(
      /^In order: .*\nWrong: .*by its manifest it is events-20260601T000000Z-0001, not events-2\.$/,
    )
    await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"events": 7', '"events": 6'))
    expect((await verifyEventFile(path, secretsKeys)).fault).toBe('its manifest is not what was written.')
  })

  it('is refused without a directory, and for events that are younger than 31 days', async () => {
    await expect(run('archive')).rejects.toThrow(/--directory/)
    await expect(run('archive', '--directory', join(directory, 'none'))).rejects.toThrow(/--directory/)
    await expect(archive('--older-than', '30')).rejects.toThrow(/from 31/)
    expect(await readdir(directory)).toEqual([])
  })
})
