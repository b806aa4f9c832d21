/** The page of a deal: hostile texts, rights, deleted deals, long lists; and whole walks in a browser. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectAccessible } from '../support/clients/pages/accessibility.ts'
import { describeInBrowser, openBrowser, type TestBrowser } from '../support/clients/pages/browser.ts'
import { hostileTexts, unexpectedMarkup } from '../support/clients/pages/markup.ts'
import {
  type ConsoleWorld,
  expectPage,
  openConsole,
  type PageReader,
  signInOnPage,
} from '../support/worlds/console-world.ts'
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

/** What a person does, with and without scripts. */
async function walk(page: Page, name: string) {
  const main = page.locator('main')
  const open = async (verb: string) => {
    if (!(await main.locator(`#fold-${verb}`).getAttribute('open')))
      await main.locator(`#fold-${verb} > summary`).click()
    return main.locator(`#fold-${verb} form`)
  }
  const notice = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor()
  await page.goto(world.url('/console/deals/new'))
  if (page.url().includes('sign-in')) await signInOnPage(page, 'alice')
  await main.getByLabel('Name', { exact: true }).fill(name)
  await main.getByLabel('Price').fill('12,3')
  await main.getByRole('button', { name: 'Create the deal' }).click()
  await page.getByRole('alert').waitFor()
  expect(await main.getByLabel('Name', { exact: true }).inputValue()).toBe(name)
  await main.getByLabel('Price').fill('1200.50')
  await main.getByRole('button', { name: 'Create the deal' }).click()
  await notice('The deal is created.')
  const hold = await open('hold')
  await hold.getByLabel('Reason', { exact: true }).fill('   ')
  await hold.getByRole('button').click()
  await page.getByText('This field must not be empty.', { exact: true }).waitFor()
  await main.getByLabel('Reason', { exact: true }).fill('The customer waits.')
  await main.getByRole('button', { name: 'Hold' }).click()
  await notice('The deal is on hold.')
  const reason = (await open('hold')).getByLabel('Reason', { exact: true })
  expect(await reason.inputValue()).toBe('The customer waits.')
  await reason.fill('The bank waits.')
  await main.getByRole('button', { name: 'Change the reason of the hold' }).click()
  await main.getByText('The customer waits. → The bank waits.').waitFor()
  expect(await main.locator('#fold-complete').count()).toBe(0)
  await (await open('unhold')).getByRole('button').click()
  await notice('The deal is no longer on hold.')
  const task = await open('add-task')
  await task.getByLabel('Title').fill('Call the bank')
  await task.getByRole('button').click()
  await notice('The task is added.')
  await (await open('complete')).getByRole('button').click()
  await page.getByRole('alert').filter({ hasText: 'The deal has open tasks.' }).waitFor()
  await main.getByRole('link', { name: 'Back to the deal' }).click()
  await main.getByRole('link', { name: 'Complete Call the bank' }).click()
  await main.getByLabel('Result').fill('They pay.')
  await main.getByRole('button', { name: 'Complete' }).click()
  await notice('The task is completed.')
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, selector: string) {
  const hasFocus = () => page.locator(selector).evaluate((element) => element === element.ownerDocument.activeElement)
  for (let key = 0; key < 80; key++) {
    if (await hasFocus()) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${selector}`)
}

async function renameByKeyboard(page: Page, name: string) {
  await tabTo(page, '#fold-rename > summary')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(name)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

describeInBrowser('a person', () => {
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  it('says to a seller whose deal was given away that it has changed', async () => {
    const admin = (await world.stack.logIn('admin')).access
    const setRoles = (roles: readonly string[]) =>
      world.stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { roles } })
    await setRoles(['seller'])
    const id = await makeDeal(world.stack, token, 'OPEN')
    await run('AssignOwner', { id, employeeId: 'dave' })
    const { page } = await browser.newPage()
    await page.goto(`${world.stack.deal.url}${pathOf(id)}`)
    await signInOnPage(page, 'dave')
    await page.locator('#following').waitFor({ state: 'attached' })
    await run('AssignOwner', { id, employeeId: 'carol' })
    await page.getByText('This deal was changed while you look at it.').waitFor()
    await setRoles([])
  })

  it('leads a deal from its creation to its completion, sees every refusal at its place, and follows others', async () => {
    const { page, complaints } = await browser.newPage()
    await walk(page, 'Pumps for the harbour')
    const url = page.url().replace(/\?.*/, '')
    const id = url.split('/').at(-1) ?? ''
    await page.goto(url)
    // Somebody else changes the deal: the page shows it by itself.
    await run('HoldDeal', { id, reason: 'Somebody else waits.' })
    await page.locator('.badge.held').waitFor()
    await run('UnholdDeal', { id })
    await page.locator('.badge.held').waitFor({ state: 'detached' })
    await renameByKeyboard(page, 'Pumps for two harbours')
    // A form that one fills in is not replaced.
    await page.locator('#fold-change-price > summary').click()
    const form = page.locator('#fold-change-price form')
    await form.getByLabel('New price').fill('99.90')
    await form.getByLabel('Reason').fill('A larger discount.')
    const other = (await browser.newPage()).page
    await other.goto(`${url}/commands/change-price`)
    await signInOnPage(other, 'carol')
    await other.getByLabel('New price').fill('1100')
    await other.getByLabel('Reason').fill('A discount.')
    await other.getByRole('button', { name: 'Change the price' }).click()
    await other.getByText('The price is changed.').waitFor()
    await page.getByText('This deal was changed by carol while you look at it.').waitFor()
    expect(await form.getByLabel('New price').inputValue()).toBe('99.90')
    await expectAccessible(page, 'deal')
    await page.setViewportSize({ width: 390, height: 844 })
    for (const panel of await page.locator('#deal .panel').all())
      expect((await panel.boundingBox())?.width).toBeGreaterThan(340)
    await page.setViewportSize({ width: 1280, height: 900 })
    await form.getByRole('button').click()
    await page.getByText('Somebody changed the deal after you opened this form.').waitFor()
    await expectAccessible(page, 'deal-changed-meanwhile')
    expect(await page.getByLabel('New price').inputValue()).toBe('99.90')
    await page.getByRole('button', { name: 'Do it all the same' }).click()
    await page.getByText('The price is changed.').waitFor()
    await page.locator('#fold-complete > summary').click()
    await page.locator('#fold-complete button').click()
    await page.getByText('The deal is completed.', { exact: true }).waitFor()
    await page.emulateMedia({ media: 'print' })
    for (const hidden of ['.top', 'form', '#commands', '.bottom'])
      expect(await page.locator(hidden).first().isVisible()).toBe(false)
    for (const shown of ['Facts', 'Tasks', 'History']) await page.getByRole('heading', { name: shown }).waitFor()
    // Refused forms, and streams that end with their page.
    const expected = /status of 4(00|01|09|12|22)|\/rest\/v1\/(events|deals\/).* net::ERR_ABORTED/
    expect(complaints.filter((line) => !expected.test(line))).toEqual([])
  })

  it('does the same without scripts', async () => {
    const { page } = await browser.newPage({ javaScriptEnabled: false })
    await walk(page, 'Valves without scripts')
  })
})
