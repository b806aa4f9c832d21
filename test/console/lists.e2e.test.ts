/** Lists of deals, changes of many deals and exported files, over plain HTTP: pages show what the API answers. */
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { exportColumns } from '../../deal-server/files/columns.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'

let world: ConsoleWorld
let reader: PageReader
let token: string

interface Listed {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly held: boolean
  readonly holdReason: string | null
}
interface Page {
  readonly items: readonly Listed[]
  readonly nextCursor: string | null
}

const nasty = `<img src=x onerror="alert(1)"> & 'quoted' </script><script>alert(2)</script>`
const deals = 210

const api = async <Body = Page>(path: string): Promise<Body> => {
  const reply = await world.stack.deal.send(path, { token })
  expect(reply.status, reply.text).toBe(200)
  return reply.body as Body
}

beforeAll(async () => {
  world = await openConsole()
  reader = await world.readAs('alice')
  token = (await world.stack.logIn('alice')).access
  const lines = Array.from({ length: deals }, (_, index) => ({
    id: `seed.${index}`,
    action: 'CreateDeal',
    params: {
      name: index === 5 ? nasty : `Deal ${String(index).padStart(3, '0')}`,
      description: index === 6 ? '=1+1' : nasty,
      price: String(100 + ((index * 37) % 50)),
      currency: ['EUR', 'USD', 'JPY'][index % 3],
      ownerId: ['alice', 'carol', 'bob'][index % 3],
      ...(index % 4 > 0 && { completionDate: `203${index % 10}-05-1${index % 9}` }),
    },
  }))
  const reply = await world.stack.deal.send('/commands', { token, json: lines })
  expect(reply.text).not.toContain('"problem"')
  const { items } = await api('/rest/v1/deals?limit=9&sort=name')
  for (const { id } of items.slice(3)) {
    const held = await world.stack.deal.send(`/rest/v1/deals/${id}/hold`, { token, json: { reason: nasty } })
    expect(held.status).toBe(200)
  }
})
afterAll(() => world.close())

const shownIds = (text: string) =>
  [...text.matchAll(/<a href="\/console\/deals\/([0-9a-f-]{36})"/g)].map(([, id]) => id)
const idsOf = ({ items }: Page) => items.map(({ id }) => id)
const nextIn = (text: string) => /rel="next" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')

it.each([
  ['', ''],
  ['status=open&held=true&sort=name', 'status=open&held=true&sort=name'],
  ['held=false&ownerId=CAROL&sort=-name', 'held=false&ownerId=CAROL&sort=-name'],
  ['currency=EUR&priceMin=110&priceMax=140&sort=-price', 'currency=EUR&priceMin=110&priceMax=140&sort=-price'],
  ['completionFrom=2031-01-01&completionTo=2033-12-31&sort=completionDate', undefined],
  ['q=eal+00&sort=updatedAt&limit=50', undefined],
  ['createdFrom=2020-02-01&createdTo=2020-03-31', 'createdFrom=2020-02-01T00:00:00Z&createdTo=2020-04-01T00:00:00Z'],
  [
    'createdFrom=2020-02-01&updatedFrom=2020-02-01T10:00:00Z&sort=-ownerId',
    'createdFrom=2020-02-01T00:00:00Z&sort=-ownerId',
  ],
])('lists the deals of ?%s in the order of the API', async (query, ofApi) => {
  const parameters = new URLSearchParams(ofApi ?? query)
  if (!parameters.has('limit')) parameters.set('limit', '25')
  const reply = await reader.get(`/console/deals?${query}`)
  expectPage(reply, 200)
  expect(shownIds(reply.text)).toEqual(idsOf(await api(`/rest/v1/deals?${parameters}`)))
})

it('walks over all pages, each deal once, and tells the number of deals on the first one', async () => {
  const seen: (string | undefined)[] = []
  let path: string | undefined = '/console/deals?sort=name&limit=100'
  let pages = 0
  while (path !== undefined && pages < 9) {
    const { text } = await reader.get(path)
    expect(/class="count">([\d,]+)/.exec(text)?.[1]).toBe(pages === 0 ? String(deals) : undefined)
    seen.push(...shownIds(text))
    path = nextIn(text)
    pages += 1
  }
  expect(pages).toBe(3)
  expect(new Set(seen).size).toBe(deals)
  expect(seen.slice(0, 200)).toEqual(idsOf(await api('/rest/v1/deals?sort=name&limit=200')))
})

it('marks the sorted column, and turns the order round', async () => {
  const { text } = await reader.get('/console/deals?sort=name&held=true')
  expect(text).toMatch(/aria-sort="ascending"><a href="\/console\/deals\?sort=-name&amp;held=true">Deal</)
  expect((await reader.get('/console/deals')).text).toMatch(
    /aria-sort="descending"><a href="\/console\/deals\?sort=createdAt">/,
  )
})

it('leads a form with empty fields to the clean URL', async () => {
  const reply = await reader.get('/console/deals?q=&status=open&held=&sort=-createdAt&limit=25&priceMin=')
  expect([reply.status, reply.headers.get('location')]).toEqual([303, '/console/deals?status=open'])
  expect((await reader.get('/console/deals?q=&limit=25')).headers.get('location')).toBe('/console/deals')
})

it.each([
  ['currency=EUR&priceMin=5x', 'priceMin'],
  ['priceMax=5', 'currency'],
  ['completionFrom=2030-02-31', 'completionFrom'],
  ['createdTo=2030-02-31', 'createdTo'],
  ['id=1,2', 'id'],
  ['ownerId=%3Cb%3E', 'ownerId'],
])('shows what is wrong with ?%s at the field, with what was entered', async (query, field) => {
  const reply = await reader.get(`/console/deals?${query}`)
  expectPage(reply, 400, `id="${field}-error"`, `href="#${field}"`)
  // The field at fault is seen.
  expect(reply.text.includes('<details open')).toBe(field !== 'ownerId')
  const values = [...new URLSearchParams(query).values()].map((value) =>
    value.replace(/</g, '&lt;').replace(/>/g, '&gt;'),
  )
  for (const value of values) expect(reply.text).toContain(`value="${value}"`)
})

it('says how many filters are set, and how many of them are not seen', async () => {
  const { text } = await reader.get('/console/deals?status=open&held=true&currency=EUR&sort=name')
  expect(text).toContain('3 filters are set.')
  expect(text).toContain('More filters (1 set)')
})

it('refuses parameters that the list has not, as a page', async () => {
  expectPage(await reader.get('/console/deals?colour=red'), 400, 'There is a problem', 'colour')
})

it('shows no markup of names, reasons or descriptions, and stays below 50 kB', async () => {
  for (const path of ['/console/deals?sort=name', '/console/deals?held=true', '/console', '/console?period=week']) {
    const { text, status } = await reader.get(path)
    expect(status).toBe(200)
    expect(text).not.toMatch(/<img|<script>|<\/script><script>alert/)
    expect(text).not.toMatch(/<style|<script(?![^>]*\ssrc="\/)/)
    expect(text.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\s(?:on\w+|style)=/)
    expect(Buffer.byteLength(text), path).toBeLessThan(50_000)
  }
  expect((await reader.get('/console/deals?q=%3Cimg&sort=name')).text).toContain('&lt;img src=x onerror=')
})

const someDeals = async (query: string) => (await api(`/rest/v1/deals?${query}`)).items
const selecting = (items: readonly Listed[]) =>
  Object.fromEntries(items.map(({ id, version }) => [`select.${id}`, String(version)]))

it('changes the selected deals, once, and shows why a deal was refused', async () => {
  const [first, second, third] = await someDeals('held=false&sort=-name&limit=3')
  if (!first || !second || !third) throw new Error('too few deals')
  const stale = { ...third, version: third.version + 1 }
  const form = {
    bulkId: crypto.randomUUID(),
    action: 'hold',
    reason: 'Audit <b>',
    ...selecting([first, second, stale]),
  }
  const reply = await reader.post('/console/deals/bulk?sort=-name&held=false', form)
  expectPage(reply, 200, '2 changed, 1 refused.', 'The deal has changed since you opened the list.', first.name)
  // Back leads to the list as it was.
  expect(reply.text).toContain('href="/console/deals?sort=-name&amp;held=false"')
  const repeated = await reader.post('/console/deals/bulk', form)
  expectPage(repeated, 200, '2 changed, 1 refused.')
  const after = await someDeals(`id=${[first, second, third].map(({ id }) => id).join(',')}&sort=-name`)
  expect(after.map(({ held, version }) => [held, version])).toEqual([
    [true, first.version + 1],
    [true, second.version + 1],
    [false, third.version],
  ])
  const ended = { bulkId: crypto.randomUUID(), action: 'unhold', ...selecting(after.slice(0, 2)) }
  expectPage(await reader.post('/console/deals/bulk', ended), 200, '2 changed, 0 refused.')
})

it('asks again when a reason, an owner or deals are missing, and keeps the selection', async () => {
  const [deal] = await someDeals('limit=1')
  if (!deal) throw new Error('no deal')
  const refused = await reader.post('/console/deals/bulk', { action: 'hold', reason: ' ', ...selecting([deal]) })
  expectPage(refused, 422, 'id="bulk-reason-error"', `name="select.${deal.id}"`)
  expectPage(await reader.post('/console/deals/bulk', { action: 'assign', employeeId: '', ...selecting([deal]) }), 422)
  expectPage(await reader.post('/console/deals/bulk', { action: 'unhold' }), 422, 'Select at least one deal.')
  const unknown = { bulkId: crypto.randomUUID(), action: 'assign', employeeId: 'nobody', ...selecting([deal]) }
  expectPage(await reader.post('/console/deals/bulk', unknown), 200, '0 changed, 1 refused.')
})

it('offers no change of many deals, no import and no creation to readers without the rights', async () => {
  const viewer = await world.readAs('bob')
  const { text } = await viewer.get('/console/deals')
  expect(text).not.toMatch(/type="checkbox"|\/console\/deals\/(?:bulk|import|new)"/)
  expectPage(await viewer.get('/console/deals/import'), 403, 'deal.create')
  const dave = await world.readAs('dave')
  expectPage(await dave.get('/console/deals'), 403, 'deal.read')
  expect((await dave.get('/console')).headers.get('location')).toBe('/console/tasks')
})

it('exports what the list has, over several pages, as NDJSON and as CSV', async () => {
  const lines = await reader.get('/console/deals/export?form=ndjson&sort=name')
  expect(lines.headers.get('content-disposition')).toBe('attachment; filename="deals.ndjson"')
  const exported = lines.text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Listed)
  const first = await api('/rest/v1/deals?sort=name&limit=200')
  const second = await api(`/rest/v1/deals?sort=name&limit=200&cursor=${first.nextCursor}`)
  expect(exported).toEqual([...first.items, ...second.items])
  const csv = await reader.get('/console/deals/export?form=csv&sort=name&held=true')
  const rows = parse(csv.text, { columns: true }) as Record<string, string>[]
  expect(Object.keys(rows[0] ?? {})).toEqual(exportColumns)
  expect(rows.map(({ id }) => id)).toEqual(idsOf(await api('/rest/v1/deals?sort=name&limit=200&held=true')))
})

it('exports formulas as text for spreadsheets, an empty list as a header, and a refusal as a page', async () => {
  const cellOf = async (form: string) => {
    const { text } = await reader.get(`/console/deals/export?form=${form}&sort=name&limit=25&q=%3D1%2B1`)
    return (parse(text, { columns: true }) as { description: string }[]).map(({ description }) => description)
  }
  expect([await cellOf('csv'), await cellOf('spreadsheet')]).toEqual([['=1+1'], ["'=1+1"]])
  expect((await reader.get('/console/deals/export?q=nothing+has+this')).text).toBe(`${exportColumns.join(',')}\n`)
  expectPage(await reader.get('/console/deals/export?priceMin=1'), 400, 'currency')
})
