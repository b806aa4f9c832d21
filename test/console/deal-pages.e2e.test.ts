/** The page of a deal: hostile texts, rights, deleted deals, long lists. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hostileTexts, unexpectedMarkup } from '../support/clients/pages/markup.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'
import { makeDeal, runCommand } from '../support/worlds/deals-of-the-table.ts'
import { freeTask, takenTask } from '../support/worlds/transition-table.ts'

let world: ConsoleWorld
let reader: PageReader
let token: string

beforeAll(async () => {
  world = await openConsole()
  reader = await world.readAs('alice')
  token = (await world.stack.logIn('alice')).access
})
afterAll(() => world.close())

const run = (name: string, json: object) => runCommand(world.stack, token, name, json)
const pathOf = (id: string) => `/console/deals/${id}`

it('shows a seller own deals alone, on every page', async () => {
  const admin = (await world.stack.logIn('admin')).access
  const json = { roles: ['seller'] }
  expect((await world.stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json })).status).toBe(200)
  const [foreign, own] = [await makeDeal(world.stack, token, 'HELD'), await makeDeal(world.stack, token, 'OPEN')]
  await run('RenameDeal', { id: foreign, newName: 'a foreign deal' })
  await run('RenameDeal', { id: own, newName: 'an own deal' })
  await run('AssignOwner', { id: own, employeeId: 'dave' })
  await run('HoldDeal', { id: own, reason: 'waits' })
  // The dashboard of a reader of all deals is kept for a moment, and not for sellers.
  expectPage(await reader.get('/console'), 200, 'a foreign deal')
  const dave = await world.readAs('dave')
  for (const path of ['/console', '/console/deals', '/console/deals?q=deal']) {
    const page = await dave.get(path)
    expectPage(page, 200, 'an own deal')
    expect(page.text, path).not.toContain('a foreign deal')
  }
  expectPage(await dave.get(pathOf(own)), 200, 'an own deal')
  expect((await dave.get(pathOf(foreign))).status).toBe(404)
  expect((await dave.get(`${pathOf(foreign)}/commands/rename`)).status).toBe(404)
  await world.stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { roles: [] } })
})

it('shows a penalty of nothing that was decided, no sum of nothing, and a missing completion date', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  await run('ChangeCompletionDate', { id, newDate: null, penaltyAmount: 0, whyChanged: 'later' })
  await run('CancelDeal', { id, penaltyAmount: 0, reason: 'over' })
  const { text } = await reader.get(pathOf(id))
  expect(text).toMatch(/<dt>Completion date<\/dt><dd>–<\/dd>/)
  expect(text).toMatch(/<dt>Penalty of that change<\/dt><dd>[^<]*0\.00[^<]*<\/dd>/)
  expect(text).toMatch(/<dt>Penalty of the cancellation<\/dt><dd>[^<]*0\.00[^<]*<\/dd>/)
  expect(text).not.toContain('Penalties in all')
})

it('shows hostile texts as text, wherever they are shown', async () => {
  for (const [index, text] of hostileTexts.entries()) {
    const id = await makeDeal(world.stack, token, 'OPEN')
    const created = { name: text, description: text, price: 1 }
    await run('RenameDeal', { id, newName: text })
    await run('AddTask', { id, title: text, assigneeId: 'alice' })
    await run('CompleteTask', { id, taskId: takenTask, result: text })
    await run('UnassignTask', { id, taskId: freeTask, reason: text })
    await run('ChangePrice', { id, newPrice: 7, reason: text })
    await run('ChangeCompletionDate', { id, newDate: null, penaltyAmount: 1, whyChanged: text })
    await run('HoldDeal', { id, reason: text })
    const query = new URLSearchParams({ done: text, tasks: text, taskId: text })
    const pages = [await reader.get(`${pathOf(id)}?${query}`)]
    for (const verb of ['hold', 'assign-task', 'complete-task', 'change-price', text])
      pages.push(await reader.get(`${pathOf(id)}/commands/${encodeURIComponent(verb)}?${query}`))
    const hidden = { _version: text, _command: text, _seen: JSON.stringify({ name: text, price: text, [text]: text }) }
    const fields = { reason: text, reasonCode: text, newPrice: text, newName: text, employeeId: text, taskId: text }
    for (const verb of ['hold', 'change-price', 'rename', 'assign-task', 'assign-owner', 'unassign-task'])
      pages.push(await reader.post(`${pathOf(id)}/commands/${verb}`, { ...hidden, ...fields }))
    pages.push(await reader.post(`${pathOf(id)}/commands/hold`, { ...hidden, ...fields, _command: 'x', _version: '2' }))
    pages.push(
      await reader.post('/console/deals/new', { ...created, price: 'x', ...fields, ownerId: text, currency: text }),
    )
    await run('UnholdDeal', { id })
    if (index % 2 === 0) await run('CancelDeal', { id, penaltyAmount: 0, reason: text })
    else await run('CompleteDeal', { id, comment: text, documentNumber: text.slice(0, 64), openTasks: 'drop' })
    pages.push(await reader.get(pathOf(id)))
    await run('ReopenDeal', { id, reason: text })
    pages.push(await reader.get(pathOf(id)))
    await run('DeleteDeal', { id })
    pages.push(await reader.get(pathOf(id)))
    for (const { status, text: html } of pages) {
      expect(status).toBeLessThan(500)
      expect(unexpectedMarkup(html)).toEqual([])
    }
    expect(pages.at(-1)?.text).toContain('deleted the deal')
  }
})

it('sees markup that is not escaped', () => {
  for (const text of hostileTexts.filter((one) => one.includes('<')))
    expect(unexpectedMarkup(`<!doctype html><p>${text}</p>`), text).not.toEqual([])
  expect(unexpectedMarkup('<a href="javascript:alert(1)">x</a>')).not.toEqual([])
  expect(unexpectedMarkup('<p onclick="x">x</p>')).not.toEqual([])
})

it('says for each command that is not possible why', async () => {
  const held = await makeDeal(world.stack, token, 'HELD')
  expectPage(
    await reader.get(pathOf(held)),
    200,
    'The deal is on hold. End the hold first.',
    'Change the reason of the hold',
  )
  expectPage(await reader.get(`${pathOf(held)}/commands/complete`), 200, 'The deal is on hold. End the hold first.')
  const viewer = await world.readAs('bob')
  const page = await viewer.get(pathOf(held))
  expectPage(page, 200, 'You can change nothing here.', 'You need the right deal.hold.')
  expect(page.text.slice(page.text.indexOf('<main'))).not.toContain('<form')
  const form = await viewer.get(`${pathOf(held)}/commands/hold`)
  expect(form.text.slice(form.text.indexOf('<main'))).not.toContain('<form')
  const refused = await viewer.post(`${pathOf(held)}/commands/unhold`, { _command: 'viewer-1', _version: '4' })
  expectPage(refused, 403, 'There is a problem', 'deal.unhold')
  expectPage(await (await world.readAs('dave')).get(pathOf(held)), 403, 'deal.read')
})

it('lets the assignee complete his own task without the right', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  await run('AssignTask', { id, taskId: freeTask, employeeId: 'bob' })
  const bob = await world.readAs('bob')
  const { text } = await bob.get(pathOf(id))
  const links = text.match(/commands\/[\w-]+\?taskId=[0-9a-f-]+/g)
  expect(links).toEqual([`commands/complete-task?taskId=${freeTask}`])
})

it('shows a deleted deal to those who may restore it, and to no one else', async () => {
  const id = await makeDeal(world.stack, token, 'DELETED')
  expectPage(await reader.get(pathOf(id)), 200, 'deal123', 'This deal is deleted.', '>Restore</button>', 'added a task')
  expectPage(await (await world.readAs('bob')).get(pathOf(id)), 404)
  expectPage(await reader.get(pathOf('0198c0de-0000-4000-8000-00000000dead')), 404)
  expectPage(await reader.get(`${pathOf(id)}/commands/hold`), 404)
})

it('stays small with many tasks and a long history, which have pages', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  const commands = Array.from({ length: 40 }, (_, index) => ({
    id: `many-${id}-${index}`,
    deal: id,
    action: 'AddTask',
    params: { title: `task ${index} ${'x'.repeat(180)}`, assigneeId: 'carol', dueDate: '2030-01-01' },
  }))
  expect((await world.stack.deal.send('/commands', { token, json: commands })).status).toBe(200)
  const page = await reader.get(pathOf(id))
  expectPage(page, 200, '42 open of 42', 'Page 3', 'Next page')
  expect(Buffer.byteLength(page.text)).toBeLessThan(50_000)
  expectPage(await reader.get(`${pathOf(id)}?tasks=3`), 200, 'task 39')
  const next = /href="([^"]*cursor=[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  expectPage(await reader.get(next), 200, 'task 30 ', 'First page')
})
