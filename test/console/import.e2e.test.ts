/** Import of files, the dashboard, tasks and webhooks as pages, over plain HTTP. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { unescaped } from '../support/clients/pages/page-text.ts'
import { signIn } from '../support/clients/pages/sign-in.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'
import { passwordOf } from '../support/worlds/stack.ts'

let world: ConsoleWorld
let alice: PageReader
let token: string

beforeAll(async () => {
  world = await openConsole()
  alice = await world.readAs('alice')
  token = (await world.stack.logIn('alice')).access
})
afterAll(() => world.close())

interface Part {
  readonly value: string | Uint8Array<ArrayBuffer>
  readonly fileName?: string
}

/** Sends a form with files, as a browser does. */
async function upload(parts: Readonly<Record<string, Part | string>>, contentType?: string) {
  const form = new FormData()
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part === 'string') form.append(name, part)
    else form.append(name, new File([part.value], part.fileName ?? ''), part.fileName)
  }
  const whole = new Response(form)
  const { cookie } = await signIn(world.stack, 'alice')
  return world.stack.deal.send('/console/deals/import', {
    method: 'POST',
    body: new Uint8Array(await whole.arrayBuffer()),
    headers: {
      cookie,
      origin: world.stack.deal.url,
      accept: 'text/html',
      'content-type': contentType ?? whole.headers.get('content-type') ?? '',
    },
  })
}

const file = (value: Part['value'], fileName = 'deals.csv') => ({ file: { value, fileName } })
const hidden = (text: string, name: string) =>
  unescaped(new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '')
const named = async (part: string) => {
  const { body } = await world.stack.deal.send(`/rest/v1/deals?q=${encodeURIComponent(part)}&limit=200`, { token })
  return (body.items as { name: string; price: number }[]).map(({ name }) => name).sort()
}

const rows =
  'name,price,currency,status\r\nImported one,1.50,EUR,completed\r\n"Imported, <b>two</b>",2,EUR,open\r\nImported three,x,EUR,open\r\n'

it('checks a file without creating a deal, then creates its deals once, and gives the refused rows back', async () => {
  const checked = await upload(file(rows))
  expectPage(
    checked,
    200,
    '2 rows can be imported, 1 cannot.',
    'Left out: status.',
    'Create 2 deals',
    'price: Enter an amount such as 1234.50',
  )
  expect(await named('Imported')).toEqual([])
  const kept = { stage: 'run', format: 'csv', delimiter: ',', content: hidden(checked.text, 'content') }
  const done = await upload(kept)
  expectPage(done, 200, 'Rows carried out: 2. Rows refused: 1.')
  expect(done.text).not.toContain('<b>two')
  const again = await upload({ ...kept, content: kept.content.replaceAll('\n', '\r\n') })
  expectPage(again, 200, 'Rows carried out: 2. Rows refused: 1.')
  expect(await named('Imported')).toEqual(['Imported one', 'Imported, <b>two</b>'])
  const link = /href="data:application\/octet-stream,([^"]*)"/.exec(done.text)?.[1] ?? ''
  const refused = decodeURIComponent(link)
  expect(refused).toMatch(/^name,price,currency,line,status,code,reason\nImported three,x,EUR,4,422,invalid-value,/)
  expectPage(await upload(file(refused.replace(',x,', ',3,'))), 200, '1 row can be imported, 0 cannot.')
})

it('takes NDJSON with deals and commands', async () => {
  const id = '0198c0de-0000-4000-8000-00000000aaaa'
  const lines = [
    { id, name: 'From lines', price: 5, currency: 'EUR' },
    { action: 'HoldDeal', deal: id, params: { reason: 'test' } },
  ]
  const content = lines.map((line) => JSON.stringify(line)).join('\n')
  expectPage(await upload({ stage: 'run', content, format: 'ndjson' }), 200, 'Rows carried out: 2. Rows refused: 0.')
  expect(await named('From lines')).toEqual(['From lines'])
})

it('imports a file of nearly 1 MiB', async () => {
  const deals = Array.from({ length: 250 }, (_, index) => `Large ${index},1,${'x'.repeat(3_900)}\n`)
  const done = await upload({ ...file(`name,price,description\n${deals.join('')}`), stage: 'run' })
  expectPage(done, 200, 'Rows carried out: 250. Rows refused: 0.')
})

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))

it('reads UTF-16, and refuses bytes in a field that are no text', async () => {
  const wide = new Uint8Array(Buffer.from('\ufeffsep=;\r\nname;price;\r\nMüller;1;\r\n;;\r\n', 'utf16le'))
  const checked = await upload(file(wide))
  expectPage(checked, 200, '1 row can be imported, 0 cannot.')
  const kept = { stage: 'run', format: 'csv', content: hidden(checked.text, 'content') }
  expectPage(await upload(kept), 200, 'Rows carried out: 1.')
  expect(await named('Müller')).toEqual(['Müller'])
  const head = '--x\r\ncontent-disposition: form-data; name="content"\r\n\r\n'
  const { cookie } = await signIn(world.stack, 'alice')
  const headers = { cookie, origin: world.stack.deal.url, 'content-type': 'multipart/form-data; boundary=x' }
  const body = latin1(`${head}name,price\nMüller,1\r\n--x--\r\n`)
  const sent = { method: 'POST', headers, body }
  expectPage(await world.stack.deal.send('/console/deals/import', sent), 400, 'not valid UTF-8')
})

it.each([
  ['without a file', {}, 'Choose a file.'],
  ['with an unknown ending', file('x', 'deals.xlsx'), 'Choose one.'],
  ['with a wrong header', file('name,prize\nx,1\n'), 'which no deal has'],
  ['without rows', file('name,price\n'), 'The file has no rows.'],
  ['with too many rows', file(`name,price\n${'x,1\n'.repeat(1001)}`), 'more than 1000 rows'],
  ['with a quote that is not closed', file('name,price\n"x,1\n'), 'There is a problem'],
  ['in windows-1252', file(latin1('name,price\nMüller,1\n')), 'Line 2 is no text in UTF-8: octet 2 of it is 0xFC.'],
  ['of lines in windows-1252', file(latin1('{"name":"Müller","price":1}'), 'a.jsonl'), 'Line 1 is no text in UTF-8'],
  ['that is too large', file(`name,price\n${'x'.repeat(1024 * 1024)},1\n`), 'larger than 1 MiB'],
])('refuses a form %s at the field', async (_, parts: Readonly<Record<string, Part>>, text) => {
  expectPage(await upload(parts), 422, text, 'Check the file')
})

it('refuses what is no form with files, and more than the limit, as pages', async () => {
  expectPage(await upload({ a: 'b' }, 'multipart/form-data; boundary=other'), 400)
  expectPage(await upload({ a: 'b' }, 'multipart/form-data'), 400)
  const twice = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'
  const { cookie } = await signIn(world.stack, 'alice')
  const headers = { cookie, origin: world.stack.deal.url, 'content-type': 'multipart/form-data; boundary=x' }
  const sent = { method: 'POST', headers, body: `${twice}${twice}--x--\r\n` }
  expectPage(await world.stack.deal.send('/console/deals/import', sent), 400, 'twice')
  const anonymous = await world.stack.deal.send('/console/deals/import', {
    ...sent,
    headers: { ...headers, cookie: '' },
  })
  expect(anonymous.status).toBe(303)
})

it('shows on the dashboard the numbers of the summary', async () => {
  const { body } = await world.stack.deal.send('/rest/v1/deals/summary', { token })
  const groups = body.items as { status: string; held: boolean; count: number; currency: string; valueText: string }[]
  const sum = (isOf: (group: (typeof groups)[number]) => boolean) =>
    groups.filter(isOf).reduce((total, { count }) => total + count, 0)
  const { text } = await alice.get('/console')
  const numberOf = (query: string) =>
    Number(new RegExp(`/console/deals\\?${query}"[^]*?class="number"[^>]*>(\\d+)<`).exec(text)?.[1])
  expect(numberOf('status=open')).toBe(sum(({ status }) => status === 'open'))
  expect(numberOf('held=true')).toBe(sum(({ held }) => held))
  expect(numberOf('held=true')).toBeGreaterThan(0)
  expect(numberOf('status=completed')).toBe(sum(({ status }) => status === 'completed'))
  const [first] = (await world.stack.deal.send('/rest/v1/deals/summary?by=currency', { token })).body.items as {
    currency: string
    valueText: string
  }[]
  const money = new Intl.NumberFormat('en-GB', { style: 'currency', currency: first?.currency ?? 'EUR' })
  expect(text).toContain(money.format(Number(first?.valueText)))
  expect(text).toMatch(/<svg class="chart" role="img"[^>]*aria-labelledby="states-title states-text"/)
})

it('says which tasks are overdue, and shows those of others to readers who may see them', async () => {
  const deal = await world.stack.deal.send('/rest/v1/deals', { token, json: { name: 'With tasks', price: 1 } })
  const tasks = `/rest/v1/deals/${deal.body.id}/tasks`
  for (const [title, dueDate] of [
    ['Late <i>', '2001-01-01'],
    ['Later', '2099-01-01'],
  ])
    await world.stack.deal.send(tasks, { token, json: { title, dueDate, assigneeId: 'carol' } })
  const carol = await world.readAs('carol')
  const own = await carol.get('/console/tasks')
  expectPage(own, 200, 'Late &lt;i&gt;', 'Later')
  expect(own.text.match(/>overdue</g)).toHaveLength(1)
  expect(own.text).not.toContain('name="username"')
  expectPage(await alice.get('/console/tasks?username=carol'), 200, 'Tasks of carol', 'Later')
  expect((await alice.get('/console/tasks?username=')).headers.get('location')).toBe('/console/tasks')
  expectPage(await carol.get('/console/tasks?username=alice'), 403, 'task.read-any')
})

it('manages webhooks: the secret is shown once, and deleting asks first', async () => {
  const admin = await world.readAs('admin')
  expectPage(await alice.get('/console/webhooks'), 403, 'webhook.manage')
  expectPage(await admin.post('/console/webhooks/new', { url: 'ftp://x', 'type.deal.held': 'true' }), 422, 'url-error')
  const fields = { url: 'https://8.8.8.8/hook', description: '<b>billing', 'type.deal.held': 'true' }
  const created = await admin.post('/console/webhooks/new', fields)
  expectPage(created, 200, 'whsec_')
  const path = /href="(\/console\/webhooks\/[0-9a-f-]+)"/.exec(created.text)?.[1] ?? ''
  const shown = await admin.get(path)
  expectPage(shown, 200, 'https://8.8.8.8/hook', '&lt;b&gt;billing', 'deal.held')
  expect(shown.text).not.toMatch(/whsec_|<b>billing/)
  const done = async (form: string, sent: Readonly<Record<string, string>>) =>
    (await admin.post(`${path}/${form}`, sent)).headers.get('location')
  expect(await done('state', { state: 'paused' })).toBe(`${path}?done=paused`)
  expectPage(await admin.get(`${path}?done=paused`), 200, 'The webhook is paused.', 'a user paused it', 'Resume')
  expect(await done('state', { state: 'active' })).toBe(`${path}?done=resumed`)
  expect(await done('change', { ...fields, url: 'https://8.8.4.4/' })).toBe(`${path}?done=changed`)
  expectPage(await admin.post(`${path}/change`, { url: 'nothing' }), 422, 'url-error', 'value="nothing"')
  expectPage(await admin.post(`${path}/state`, { state: 'else' }), 422, 'There is a problem')
  expect(await done('redeliver', { after: '0' })).toBe(`${path}?done=redelivered`)
  expect((await admin.post(`${path}/redeliver`, { after: 'x' })).text).toContain('There is a problem')
  expectPage(await admin.post(`${path}/rotate`, {}), 200, 'whsec_', 'shown once')
  expectPage(await admin.get('/console/webhooks'), 200, 'https://8.8.4.4/', 'active')
  expectPage(await admin.get(`${path}/delete`), 200, 'Delete the webhook?')
  expectPage(await admin.get(path), 200)
  expect(await done('delete', {})).toBe('/console/webhooks?done=deleted')
  expectPage(await admin.get(path), 404)
  expectPage(await admin.get('/console/webhooks?done=<b>x'), 200, 'There is no webhook yet.')
})

it('asks for the password in the forms of webhooks when the reader signed in a while ago, and says why one is paused', async () => {
  const { database } = world.stack
  const reader = await world.readAs('admin')
  await database.query(
    `update auth.sessions set created_at = created_at - interval '301 s'
     where user_id = (select id from auth.users where username = 'admin') returning 1`,
    [],
  )
  const url = 'https://receiver.example/proved'
  const refused = await reader.post('/console/webhooks/new', { url })
  expectPage(
    refused,
    403,
    'or log in again and repeat this within five minutes',
    'name="password"',
    'id="password-error"',
  )
  const password = passwordOf('admin')
  expectPage(await reader.post('/console/webhooks/new', { url, password }), 200, 'The secret of the webhook')
  const [webhook] = await database.query<{ id: string }>(
    `update deals.webhooks set state = 'paused', paused_reason = 'responsible-logged-out', paused_at = now(),
       revision = revision + 1 where url = $1 returning to_json(id) as id`,
    [url],
  )
  const page = `/console/webhooks/${webhook?.id}`
  expectPage(await reader.get(page), 200, 'the responsible user was logged out of everything')
  expectPage(await reader.post(`${page}/state`, { state: 'active' }), 403, 'href="#state-password"')
  expect((await reader.post(`${page}/state`, { state: 'active', password })).status).toBe(303)
  expectPage(await reader.get(page), 200, 'active')
})
