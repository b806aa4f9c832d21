/** Files of deals in and out, over servers that lose answers and imports that break off. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DealServer } from '../../../cli/transfer/deal-server.ts'
import { type ExportOptions, exportDeals } from '../../../cli/transfer/export-deals.ts'
import { type ImportOptions, importDeals } from '../../../cli/transfer/import-deals.ts'
import { campaign } from '../../support/campaign.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let alice: string
let folder: string
let server: DealServer

const silent = { update: () => undefined, stop: () => undefined }

function importing(file: string, options: Partial<ImportOptions> = {}) {
  const format = file.endsWith('csv') ? 'csv' : 'ndjson'
  const notes: string[] = []
  const done = importDeals(options.input ? server : (lossless ?? server), {
    file,
    input: Readable.from([]),
    format,
    delimiter: ',',
    key: undefined,
    refusedFile: `${file}.refused.${format}`,
    batchRows: 20,
    batches: 4,
    fromBegin: false,
    patienceMs: 10_000,
    firstPauseMs: 2,
    startProgress: () => silent,
    onResume: (rows) => notes.push(`after ${rows}`),
    onIgnored: (names) => notes.push(`without ${names.join(' ')}`),
    ...options,
  })
  return done.then((result) => ({ ...result, notes }))
}
/** Stands in for the server in one test. */
let lossless: DealServer | undefined

async function exporting(options: Partial<ExportOptions> = {}): Promise<{ rows: number; text: string }> {
  const output = new PassThrough()
  const reading = textOf(output)
  const rows = await exportDeals(server, {
    file: undefined,
    output,
    format: 'csv',
    delimiter: ',',
    escapesFormulas: false,
    query: {},
    patienceMs: 1000,
    startProgress: () => silent,
    ...options,
  })
  output.end()
  return { rows, text: await reading }
}

async function fileOf(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, `${randomUUID().slice(0, 8)}-${name}`)
  await writeFile(path, content)
  return path
}

const counts = async (prefix: string) => {
  const [row] = await stack.database.query<{ deals: number; events: number }>(
    `select count(*)::int as deals, (select count(*)::int from deals.events e join deals.deals d on d.id = e.deal_id
       where d.name like $1 and e.type = 'deal.created') as events from deals.deals where name like $1`,
    [`${prefix}%`],
  )
  return row
}
const refusedIn = async (file: string) => parse(await readFile(file), { columns: true }) as Record<string, string>[]

describeBackends('import and export', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { logLevel: 'silent' })
    alice = (await stack.logIn('alice')).access
    folder = await mkdtemp(join(tmpdir(), 'keyhold-import-'))
    server = {
      fetch: async (path, init) => {
        const headers = { ...(init?.headers as Record<string, string>), authorization: `Bearer ${alice}` }
        const response = await fetch(stack.deal.url + path, { ...init, headers })
        if (response.ok) return response
        const { detail, code } = (await response.json()) as { detail: string; code: string }
        throw Object.assign(new Error(`${detail} (${code})`), { status: response.status })
      },
    }
  })
  afterAll(async () => {
    await stack.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('read CSV with a byte order mark, quotes, line breaks in cells and CRLF', async () => {
    const tag = randomUUID().slice(0, 8)
    const file = await fileOf(
      'a.csv',
      `\ufeffname,price,description\r\n"${tag} ""q"", x",1.50,"two\r\nlines"\r\n\r\n${tag} b,2,\r\n`,
    )
    expect(await importing(file)).toMatchObject({ rows: 2, done: 2, refused: 0, notes: [] })
    const { text } = await exporting({ query: { q: tag, sort: 'price', currency: 'EUR' } })
    const rows = parse(text, { columns: true }) as Record<string, string>[]
    expect(rows).toMatchObject([
      { name: `${tag} "q", x`, price: '1.50', description: 'two\r\nlines', status: 'open', held: 'false' },
      { name: `${tag} b`, price: '2.00', description: '' },
    ])
    expect(await importing(file)).toMatchObject({ done: 2, replayed: 2 })
    expect(await counts(tag)).toEqual({ deals: 2, events: 2 })
  })

  it('give back what was exported, in both formats, and say what is left out', async () => {
    const tag = randomUUID().slice(0, 8)
    const rows = Array.from({ length: 250 }, (_, index) => ({
      id: randomUUID(),
      name: `${tag} ${index}`,
      price: index,
    }))
    const file = await fileOf('a.ndjson', rows.map((row) => JSON.stringify(row)).join('\n'))
    expect(await importing(file, { batchRows: 100 })).toMatchObject({ done: 250 })
    const cents = await exporting({ query: { q: tag } })
    const lines = await exporting({ query: { q: tag }, format: 'ndjson' })
    expect([cents.rows, lines.rows]).toEqual([250, 250])
    const ids = (names: readonly string[]) => [...names].sort()
    expect(ids((parse(cents.text, { columns: true }) as { id: string }[]).map(({ id }) => id))).toEqual(
      ids(rows.map(({ id }) => id)),
    )
    const others = `${tag}-copy`
    const copy = (text: string) =>
      text.replaceAll(tag, others).replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, () => randomUUID())
    const again = await importing(await fileOf('b.csv', copy(cents.text)), { batchRows: 100 })
    expect(again).toMatchObject({ done: 250, notes: [expect.stringContaining('without status held')] })
    expect(await importing(await fileOf('b.ndjson', copy(lines.text)), { batchRows: 100 })).toMatchObject({ done: 250 })
  })

  it('take whole commands from NDJSON, those of one deal in their order across batches', async () => {
    const id = randomUUID()
    const lines = [
      { action: 'CreateDeal', params: { id, name: 'deal', price: 1 } },
      ...Array.from({ length: 30 }, (_, index) => ({
        deal: id,
        action: 'RenameDeal',
        params: { newName: `n${index}` },
      })),
      { id: `own-${id}`, deal: id, action: 'HoldDeal', params: { reason: 'test' } },
    ]
    const file = await fileOf('a.ndjson', lines.map((line) => JSON.stringify(line)).join('\n'))
    expect(await importing(file, { batchRows: 5 })).toMatchObject({ done: 32, refused: 0 })
    const { body } = await stack.deal.send(`/rest/v1/deals/${id}`, { token: alice })
    expect(body).toMatchObject({ name: 'n29', held: true, version: 32 })
    expect((await stack.deal.send(`/commands/own-${id}`, { token: alice })).status).toBe(200)
  })

  it('write refused rows with their reasons into a file that can be corrected and imported', async () => {
    const tag = randomUUID().slice(0, 8)
    const file = await fileOf('a.csv', `name,price\n${tag} a,1\n${tag} b,dear\n${tag} c\n"${tag} d",4\n`)
    expect(await importing(file)).toMatchObject({ rows: 4, done: 2, refused: 2 })
    const refusedFile = `${file}.refused.csv`
    expect(await refusedIn(refusedFile)).toMatchObject(
      [
        {
          name: `${tag} b`,
          price: 'dear',
          line: '3',
          status: '422',
          code: 'invalid-value',
          reason: /^price: Expected/,
        },
        { name: `${tag} c`, line: '4', code: 'invalid-row', reason: 'The row has 1 cells, the header 2.' },
      ].map((row) => ({ ...row, ...(row.reason instanceof RegExp && { reason: expect.stringMatching(row.reason) }) })),
    )
    const corrected = await fileOf(
      'b.csv',
      (await readFile(refusedFile, 'utf8')).replace('dear', '2').replace(',,4', ',3,4'),
    )
    expect(await importing(corrected)).toMatchObject({ done: 2, refused: 0 })
    expect(await counts(tag)).toEqual({ deals: 4, events: 4 })
    const wrapped = await fileOf('c.ndjson', `{"line":1,"code":"x","row":{"name":"${tag} e","price":5}}\n[1]\n{"name":`)
    expect(await importing(wrapped)).toMatchObject({ done: 1, refused: 2 })
  })

  describe('refuse', () => {
    it.each([
      ['a wrong header', 'id;title;price\n', /lacks name and price.*"id;title;price".*Is the delimiter ";"/],
      ['a column twice', 'name,price,name\n', /name twice/],
      ['an empty file', '', /The columns are id, name, price, currency/],
      ['a quote that is not closed', 'name,price\n"open,1\n', /Quote Not Closed/],
      ['an endless row', `name,price\n"${'x'.repeat(2_000_000)}`, /Max Record Size/],
    ])('%s', async (_what, content, message) => {
      await expect(importing(await fileOf('bad.csv', content))).rejects.toThrow(message)
    })

    it.each(['csv', 'ndjson'] as const)('%s that is no text, before a row of it is sent', async (format) => {
      const tag = randomUUID().slice(0, 8)
      const row = (name: string) => (format === 'csv' ? `${name},1\n` : `{"name":"${name}","price":1}\n`)
      const begin = format === 'csv' ? 'name,price\n' : '\n'
      const text = begin + Array.from({ length: 50 }, (_, index) => row(`${tag} ${index}`)).join('') + row('Müller')
      const key = { key: `k-${tag}` }
      for (const options of [{}, key]) {
        const refused = importing(await fileOf(`a.${format}`, Buffer.from(text, 'latin1')), options)
        await expect(refused).rejects.toThrow(/^Line 52 is no text in UTF-8: octet \d+ of it is 0xFC/)
      }
      expect(await counts(tag)).toEqual({ deals: 0, events: 0 })
      const wide = await fileOf(`b.${format}`, Buffer.from(`\ufeff${text}`, 'utf16le'))
      expect(await importing(wide, key)).toMatchObject({ done: 51, refused: 0 })
    })

    it('a file that is not there, and keep none of an export that fails', async () => {
      await expect(importing(join(folder, 'none.csv'))).rejects.toThrow(/ENOENT/)
      const file = join(folder, 'failed.csv')
      await expect(exporting({ file, query: { sort: 'nonsense' } })).rejects.toThrow(/invalid-parameter/)
      await expect(exporting({ file: join(folder, 'none/x.csv') })).rejects.toThrow(/ENOENT/)
      expect([existsSync(file), existsSync(`${file}.part`)]).toEqual([false, false])
    })
  })

  it('read a pipe by its name, once, and write neither beside it nor in its place', async () => {
    const tag = randomUUID().slice(0, 8)
    const fifo = join(folder, `${tag}.csv`)
    execFileSync('mkfifo', [fifo])
    const refusedFile = join(folder, `${tag}.refused`)
    const write = (text: string) => Promise.all([importing(fifo, { refusedFile }), writeFile(fifo, text)])
    expect((await write(`name,price\n${tag},1\n${tag} b,x\n`))[0]).toMatchObject({ done: 1, refused: 1 })
    expect([existsSync(`${fifo}.progress`), lstatSync(fifo).isFIFO()]).toEqual([false, true])
    const [{ rows }, text] = await Promise.all([exporting({ file: fifo, query: { q: tag } }), readFile(fifo, 'utf8')])
    expect([rows, text.split('\n').length, lstatSync(fifo).isFIFO()]).toEqual([1, 3, true])
    await expect(exporting({ file: '/dev/full', query: { q: tag } })).rejects.toThrow(/ENOSPC/)
    await expect(exporting({ file: '/dev/full', query: { q: tag }, format: 'ndjson' })).rejects.toThrow(/ENOSPC/)
    await expect(
      importing(fifo, { refusedFile: '/dev/full', input: Readable.from([Buffer.from('name\n')]), file: undefined }),
    ).rejects.toThrow(/lacks price/)
    const full = Readable.from([Buffer.from(`name,price\n${tag},x\n`)])
    await expect(importing(fifo, { refusedFile: '/dev/full', input: full, file: undefined })).rejects.toThrow(/ENOSPC/)
  })

  it('leave what is there what it is: links and modes of exported files and of refused rows', async () => {
    const tag = randomUUID().slice(0, 8)
    const [source, real, link] = [
      await fileOf('a.csv', `name,price\n${tag},1\n${tag},x\n`),
      join(folder, tag),
      join(folder, `${tag}.link`),
    ]
    await writeFile(real, 'old and longer than what comes now\n'.repeat(50), { mode: 0o600 })
    await symlink(real, link)
    const found = async () => [
      lstatSync(link).isSymbolicLink(),
      lstatSync(real).mode & 0o777,
      (await readFile(real, 'utf8')).split('\n').length,
    ]
    expect(await importing(source, { refusedFile: link })).toMatchObject({ done: 1, refused: 1 })
    expect(await found()).toEqual([true, 0o600, 3])
    expect((await exporting({ file: link, query: { q: tag } })).rows).toBe(1)
    expect(await found()).toEqual([true, 0o600, 3])
    // Without a refused row there is no such file, unless it is a link.
    expect(await importing(await fileOf('b.csv', `name,price\n${tag},1\n`), { refusedFile: link })).toMatchObject({
      done: 1,
    })
    expect(await found()).toEqual([true, 0o600, 1])
    expect(await importing(source, { refusedFile: real })).toMatchObject({ refused: 1 })
    expect(lstatSync(real).mode & 0o777).toBe(0o600)
  })

  it('escape formulas for spreadsheets only when they are asked to', async () => {
    const tag = randomUUID().slice(0, 8)
    await importing(await fileOf('a.csv', `name,price,description\n${tag},1,=1+1\n`))
    const cell = async (escapesFormulas: boolean) => {
      const file = join(folder, `${tag}.csv`)
      await exporting({ file, query: { q: tag }, escapesFormulas })
      const text = await readFile(file, 'utf8')
      // Excel takes a file without the mark for one of an older encoding.
      expect(text.startsWith('\ufeffid,')).toBe(escapesFormulas)
      return (parse(text, { columns: true, bom: true }) as { description: string }[])[0]?.description
    }
    expect([await cell(false), await cell(true)]).toEqual(['=1+1', "'=1+1"])
  })

  it('make each deal once, though answers are lost and the import is killed, also before it said how far it was', async () => {
    const tag = randomUUID().slice(0, 8)
    const count = campaign({ short: 600, long: 20_000 })
    // Half of the rows have no id of a deal.
    const rows = Array.from({ length: count }, (_, index) => `${index % 2 ? randomUUID() : ''},${tag} ${index},1`)
    const file = await fileOf('a.csv', `id,name,price\n${rows.join('\n')}\n`)
    let requests = 0
    const dying = Math.ceil(count / 20 / 3)
    lossless = {
      fetch: async (path, init) => {
        requests += 1
        if (requests === dying) throw new Error('killed')
        if (requests % 5 === 0) throw new TypeError('connection refused')
        const response = await server.fetch(path, init)
        if (requests % 3 === 0) throw new TypeError('the answer was lost')
        // Some lines say that they were not carried out now, though they were.
        if (requests % 4 !== 0) return response
        const text = await response.text()
        return new Response(text.replace(/"status":201/, '"status":503'))
      },
    }
    try {
      await expect(importing(file)).rejects.toThrow('killed')
      const progress = `${file}.progress`
      const { rows: ended } = JSON.parse(await readFile(progress, 'utf8'))
      expect(ended).toBeLessThan(count)
      // As a kill leaves it: older than what was done.
      const older = { ...JSON.parse(await readFile(progress, 'utf8')), rows: Math.max(0, ended - 45) }
      await writeFile(progress, JSON.stringify({ ...older, done: older.rows }))
      const result = await importing(file)
      expect(result).toMatchObject({ rows: count, done: count, refused: 0 })
      if (older.rows > 0) expect(result.notes).toEqual([`after ${older.rows}`])
      expect(existsSync(progress)).toBe(false)
    } finally {
      lossless = undefined
    }
    expect(await counts(tag)).toEqual({ deals: count, events: count })
  })
})
