/** The page of a deal: whole walks in a browser. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser, type TestBrowser } from '../../support/clients/pages/browser.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'
import { makeDeal, runCommand } from '../../support/worlds/deals-of-the-table.ts'

let world: Awaited<ReturnType<typeof openConsoleInBrowser>>
let browser: TestBrowser
let token: string

const run = (name: string, json: object) => runCommand(world.stack, token, name, json)

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
  beforeAll(async () => {
    world = await openConsoleInBrowser()
    browser = world.browser
    token = (await world.stack.logIn('alice')).access
  })
  afterAll(() => world.close())

  it('says to a seller whose deal was given away that it has changed', async () => {
    const admin = (await world.stack.logIn('admin')).access
    const setRoles = (roles: readonly string[]) =>
      world.stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { roles } })
    await setRoles(['seller'])
    const id = await makeDeal(world.stack, token, 'OPEN')
    await run('AssignOwner', { id, employeeId: 'dave' })
    const { page } = await browser.newPage()
    await page.goto(`${world.stack.deal.url}/console/deals/${id}`)
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
