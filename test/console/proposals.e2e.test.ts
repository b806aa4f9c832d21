/** The pages of proposals: what applications have proposed, what would change, and the decisions. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signIn } from '../support/clients/pages/sign-in.ts'
import { registerClient } from '../support/clients/sign-in/applications.ts'
import { asApplication } from '../support/clients/tool-calls.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'
import { makeDeal, runCommand } from '../support/worlds/deals-of-the-table.ts'
import { freeTask } from '../support/worlds/transition-table.ts'
import { withinASecond } from '../support/worlds/within-a-second.ts'

let world: ConsoleWorld
let admin: PageReader
let carol: PageReader
let alice: string
/** The token of an application that may only propose, for carol. */
let clerk: string
/** The same for alice. */
let ofAlice: string

beforeAll(async () => {
  world = await openConsole()
  const { stack } = world
  const client = await registerClient(stack, { name: 'Clerk & <Co>', mode: 'propose', rights: ['deal.read'] })
  alice = (await stack.logIn('alice')).access
  const claims = { client_id: client.id, client_name: 'Clerk & <Co>' }
  clerk = await asApplication((await stack.logIn('carol')).access, claims)
  ofAlice = await asApplication(alice, claims)
  admin = await world.readAs('admin')
  carol = await world.readAs('carol')
  const make = () => stack.deal.send('/command/CreateDeal', { token: clerk, json: { name: 'first', price: 1 } })
  await withinASecond(make, { from: 200, to: 202 })
})
afterAll(() => world.close())

/** Proposes a command; the result is the page of the proposal. */
async function propose(useCase: string, json: object, token = clerk): Promise<string> {
  const reply = await world.stack.deal.send(`/command/${useCase}`, { token, json })
  expect(reply.status, reply.text).toBe(202)
  return `/console${reply.headers.get('location')}`
}

const newDeal = () => makeDeal(world.stack, alice, 'OPEN')
const read = async (id: string) => (await world.stack.deal.send(`/rest/v1/deals/${id}`, { token: alice })).body
const rowsIn = (text: string) =>
  [...text.matchAll(/<tr role="row">(.*?)<\/tr>/gs)]
    .slice(1)
    .map(([, row = '']) => [...row.matchAll(/<t[hd] [^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell]) => cell))
const hasForm = (text: string, action: string) => text.includes(`name="action" value="${action}"`)

it('are listed with their deals by state, the newest first, and counted on the dashboard', async () => {
  const id = await newDeal()
  const paths = [
    await propose('HoldDeal', { id, reason: 'r' }),
    await propose('CreateDeal', { name: 'N & <M>', price: 1 }),
  ]
  const list = await admin.get('/console/proposals')
  expectPage(
    list,
    200,
    'Clerk &amp; &lt;Co&gt;',
    '>Hold the deal</a>',
    `href="/console/deals/${id}"`,
    'N &amp; &lt;M&gt;',
  )
  const linked = [...list.text.matchAll(/href="(\/console\/proposals\/[^"]+)"/g)].map(([, path]) => path)
  expect(linked.slice(0, 2)).toEqual(paths.toReversed())
  const first = await admin.get('/console/proposals?limit=1')
  const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? []
  expect((await admin.get(next.replaceAll('&amp;', '&'))).text).toContain(paths[0])
  expect((await admin.post(paths[0] ?? '', { action: 'reject', reason: 'no' })).status).toBe(303)
  expect((await admin.get('/console/proposals')).text).not.toContain(paths[0])
  expectPage(
    await admin.get('/console/proposals?state=rejected'),
    200,
    `href="${paths[0]}"`,
    'aria-current="page">Rejected',
  )
  expectPage(await admin.get('/console/proposals?state=lost'), 400, 'state')
  expect((await admin.get('/console')).text).toMatch(/href="\/console\/proposals">[^<]*<\/a>[^<]*<strong>\d+<\/strong>/)
  const ofCarol = (await carol.get('/console')).text
  expect(ofCarol).not.toContain('/console/proposals')
})

it('show in words what is proposed and what would change, and run when they are approved', async () => {
  const id = await newDeal()
  const path = await propose('ChangePrice', { id, newPrice: 1100.5, reason: 'a <smaller> one' })
  const page = await admin.get(path)
  expectPage(page, 200, '<h1>Change the price</h1>', '<dt>New price</dt>', '€1,100.50', 'a &lt;smaller&gt; one')
  expectPage(page, 200, 'carol, by Clerk &amp; &lt;Co&gt;', `href="/console/deals/${id}"`)
  expect(rowsIn(page.text)).toEqual([
    ['Price', '€1,234.50', '<strong>€1,100.50</strong>'],
    ['Reason of the last change of the price', '–', '<strong>a &lt;smaller&gt; one</strong>'],
  ])
  expect(await read(id)).toMatchObject({ price: 1234.5, version: 3 })
  const approved = await admin.postShown(path, { action: 'approve' })
  expect(approved.headers.get('location')).toBe('/console/proposals?done=approved')
  expectPage(await admin.get('/console/proposals?done=approved'), 200, 'the command has run')
  expect(await read(id)).toMatchObject({ price: 1100.5, updatedBy: 'admin' })
  const after = await admin.get(path)
  expectPage(after, 200, '<dt>Decided by</dt><dd>admin</dd>')
  expect(['approve', 'reject'].map((action) => hasForm(after.text, action))).toEqual([false, false])
  const history = await admin.get(`/console/deals/${id}`)
  expectPage(history, 200, 'Change the price</p>', 'proposed a command', 'approved a proposal', 'Proposed by: carol')
})

it.each([
  [
    'AssignTask',
    { taskId: freeTask, employeeId: 'bob' },
    ['write', 'bob'],
    [['Task', 'write, open, nobody', 'write, open, bob']],
  ],
  ['ChangeCompletionDate', { newDate: null, penaltyAmount: 5, whyChanged: 'w' }, ['–', '€5.00'], undefined],
  ['CompleteDeal', { openTasks: 'drop', completedOn: '2024-02-29' }, ['Drop them', '29 Feb 2024'], undefined],
  ['DeleteDeal', {}, ['Delete'], []],
])('show the parameters of %s as its form does', async (useCase, params, words, changes) => {
  const id = await newDeal()
  const page = await admin.get(await propose(useCase, { id, ...params }, ofAlice))
  expectPage(page, 200, ...words)
  const rows = rowsIn(page.text).map((cells) => cells.map((cell) => cell?.replace(/<\/?strong>/g, '')))
  if (changes) expect(rows).toEqual(changes)
  else expect(rows.length).toBeGreaterThan(1)
  expect(hasForm(page.text, 'approve')).toBe(true)
})

it('show an update of attributes by those that people know', async () => {
  const id = await newDeal()
  const json = { name: 'other', held: true, holdReason: 'why', version: 3 }
  const reply = await world.stack.deal.send(`/rest/v1/deals/${id}`, {
    method: 'PATCH',
    token: clerk,
    json,
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  expect(reply.status, reply.text).toBe(202)
  const page = await admin.get(`/console${reply.headers.get('location')}`)
  expectPage(page, 200, '<h1>Change the deal</h1>', '<dt>Name</dt>', '<dt>On hold</dt>')
  expect(rowsIn(page.text).map(([label]) => label)).toEqual(['State', 'Name', 'Reason of the hold'])
})

it('say that the deal has changed, and are asked about again when it changes between look and press', async () => {
  const id = await newDeal()
  const path = await propose('ChangePrice', { id, newPrice: 7, reason: 'r' })
  const notice = 'The deal has changed since this was proposed.'
  const before = await admin.get(path)
  expect(before.text).not.toContain(notice)
  const [, etag = ''] = /name="etag" value="([^"]+)"/.exec(before.text) ?? []
  await runCommand(world.stack, alice, 'ChangePrice', { id, newPrice: 55.5, reason: 'quicker' })
  const old = etag.replaceAll('&quot;', '"')
  for (const form of [{ action: 'approve', etag: old }, { action: 'approve' }]) {
    const refused = await admin.post(path, form)
    expectPage(refused, 412, 'Somebody changed the deal after you opened this form.', notice, '€55.50')
  }
  expect(await read(id)).toMatchObject({ price: 55.5 })
  expect((await admin.postShown(path, { action: 'approve' })).status).toBe(303)
  expect(await read(id)).toMatchObject({ price: 7 })
})

it('say why they are not possible now, and can be rejected then, with a reason', async () => {
  const id = await newDeal()
  const path = await propose('ChangePrice', { id, newPrice: 7, reason: 'r' })
  await runCommand(world.stack, alice, 'HoldDeal', { id, reason: 'wait' })
  const page = await admin.get(path)
  expectPage(page, 200, 'The deal is on hold. End the hold first.')
  expect(hasForm(page.text, 'approve')).toBe(false)
  expectPage(await admin.postShown(path, { action: 'approve', etag: '"open-4"' }), 409, 'The deal is on hold.')
  for (const reason of ['', '  ', 'x'.repeat(1001)])
    expectPage(await admin.post(path, { action: 'reject', reason }), 422, 'href="#reason"', 'aria-invalid="true"')
  const rejected = await admin.post(path, { action: 'reject', reason: 'Not <now>' })
  expect(rejected.headers.get('location')).toBe('/console/proposals?done=rejected')
  expectPage(await admin.get(path), 200, 'Not &lt;now&gt;')
  expectPage(await admin.postShown(path, { action: 'approve', etag: '"open-4"' }), 409, 'The proposal is rejected.')
  expect(await read(id)).toMatchObject({ held: true, price: 1234.5 })
})

it('are taken back by who they were proposed for, who cannot approve them', async () => {
  const id = await newDeal()
  const path = await propose('HoldDeal', { id, reason: 'r' })
  expectPage(await carol.get('/console/proposals'), 200, `href="${path}"`)
  const page = await carol.get(path)
  expectPage(page, 200, 'Take back')
  expect([hasForm(page.text, 'approve'), page.text.includes('What would change')]).toEqual([false, false])
  expectPage(await carol.post(path, { action: 'approve', etag: '"open-3"' }), 403, 'proposal.decide')
  expect((await carol.post(path, { action: 'reject', reason: 'a mistake' })).status).toBe(303)
  expectPage(await carol.get(path), 200, 'a mistake', '<dt>Decided by</dt><dd>carol</dd>')
  expect(await read(id)).toMatchObject({ held: false })
})

it('are seen by nobody who has no right to decide, and decided by who may run the command', async () => {
  const path = await propose('HoldDeal', { id: await newDeal(), reason: 'r' })
  const bob = await world.readAs('bob')
  expectPage(await bob.get('/console/proposals'), 200, 'There is no such proposal.')
  expectPage(await bob.get(path), 404)
  expectPage(await bob.post(path, { action: 'reject', reason: 'r' }), 404)
  expectPage(await admin.get(`/console/proposals/${randomUUID()}`), 404)
  const { access: token } = await world.stack.logIn('admin')
  const json = { rights: ['proposal.decide', 'deal.read'] }
  expect((await world.stack.auth.send('/users/bob', { method: 'PATCH', token, json })).status).toBe(200)
  const page = await bob.get(path)
  expectPage(page, 200, 'This needs the right deal.hold.')
  expect(['approve', 'reject'].map((action) => hasForm(page.text, action))).toEqual([false, false])
})

it('are shown to a reader who follows a link of another site', async () => {
  const path = await propose('HoldDeal', { id: await newDeal(), reason: 'r' })
  const { cookie } = await signIn(world.stack, 'admin')
  const foreign = { cookie, accept: 'text/html', 'sec-fetch-site': 'cross-site' }
  const page = await world.stack.deal.send(path, { headers: foreign })
  expectPage(page, 200, 'What would change', '>Approve<')
})
