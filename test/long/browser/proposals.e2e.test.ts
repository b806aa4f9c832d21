/** Proposals in a browser: an application proposes, people look and decide. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { registerClient } from '../../support/clients/sign-in/applications.ts'
import { asApplication } from '../../support/clients/tool-calls.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'
import { makeDeal, runCommand } from '../../support/worlds/deals-of-the-table.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

describeInBrowser('a person who decides on proposals', () => {
  let world: Awaited<ReturnType<typeof openConsoleInBrowser>>
  let alice: string
  let clerk: string

  beforeAll(async () => {
    world = await openConsoleInBrowser()
    const { stack } = world
    const client = await registerClient(stack, { name: 'Clerk', mode: 'propose', rights: ['deal.read'] })
    alice = (await stack.logIn('alice')).access
    clerk = await asApplication(alice, { client_id: client.id, client_name: 'Clerk' })
    const make = () => propose('CreateDeal', { name: 'Valves', price: 99.5, completionDate: '2030-06-30' })
    await withinASecond(make, { from: 200, to: 202 })
  })
  afterAll(() => world?.close())

  const propose = (useCase: string, json: object) =>
    world.stack.deal.send(`/command/${useCase}`, { token: clerk, json })

  it.each([true, false])('finds one, looks at it, approves and rejects (scripts: %s)', async (javaScriptEnabled) => {
    const id = await makeDeal(world.stack, alice, 'OPEN')
    await propose('HoldDeal', { id, reason: 'The customer has asked for it.\nSince Monday.' })
    await propose('ChangePrice', { id, newPrice: 1100.5, reason: 'A discount for the pumps of the harbour.' })
    const { page, complaints } = await world.browser.newPage({ javaScriptEnabled })
    const check = (name: string) => (javaScriptEnabled ? expectAccessible(page, name) : Promise.resolve())
    const main = page.locator('main')
    const press = (name: string) => main.getByRole('button', { name, exact: true }).click()
    await page.goto(world.url('/console'))
    await signInOnPage(page, 'admin')
    await main.getByText('wait for a decision').waitFor()
    await check('dashboard-with-proposals')
    await main.getByRole('link', { name: 'Proposals of applications' }).click()
    await check('proposals')
    await main.getByRole('link', { name: 'Change the price' }).first().click()
    await main.getByText('€1,100.50').first().waitFor()
    await check('proposal')
    await runCommand(world.stack, alice, 'RenameDeal', { id, newName: 'Pumps for two harbours' })
    await press('Approve')
    await page.getByRole('alert').getByText('Somebody changed the deal after you opened this form.').waitFor()
    await check('proposal-changed')
    await press('Approve')
    await main.getByRole('status').getByText('the command has run').waitFor()
    await main.getByRole('link', { name: 'Pumps for two harbours' }).click()
    await main.getByText('€1,100.50').first().waitFor()
    await main.getByText('approved a proposal').waitFor()
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Proposals' }).click()
    await main.getByRole('link', { name: 'Hold the deal' }).first().click()
    await main.locator('summary').getByText('Reject').click()
    await main.getByLabel('Reason', { exact: true }).fill('   ')
    await press('Reject')
    await page.getByRole('alert').waitFor()
    await check('proposal-without-reason')
    await main.getByLabel('Reason', { exact: true }).fill('Not this week.')
    await press('Reject')
    await main.getByText('the command never runs').waitFor()
    await main.getByRole('link', { name: 'Rejected' }).click()
    await main.getByRole('link', { name: 'Hold the deal' }).first().click()
    await main.getByText('Not this week.').waitFor()
    await check('proposal-rejected')
    await main.getByRole('link', { name: 'All proposals' }).click()
    await main.getByRole('link', { name: 'Create the deal' }).first().click()
    await main.getByText('€99.50').first().waitFor()
    await check('proposal-of-a-new-deal')
    // Refused forms, and streams that end with their page.
    const expected = /status of 4(12|22)|\/rest\/v1\/(events|deals\/).* net::ERR_ABORTED|\/rest\/v1\/events net::/
    expect(complaints.filter((line) => !expected.test(line))).toEqual([])
    await page.context().close()
  })

  it('takes back what was proposed for them, which they cannot approve', async () => {
    const id = await makeDeal(world.stack, alice, 'OPEN')
    await propose('HoldDeal', { id, reason: 'r' })
    const { page } = await world.browser.newPage()
    const main = page.locator('main')
    await page.goto(world.url('/console/proposals'))
    await signInOnPage(page, 'alice')
    await main.getByRole('link', { name: 'Hold the deal' }).first().click()
    await main.locator('summary').getByText('Take back').click()
    await expectAccessible(page, 'own-proposal')
    expect(await main.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await main.getByLabel('Reason', { exact: true }).fill('A mistake.')
    await main.getByRole('button', { name: 'Take back' }).click()
    await main.getByRole('status').getByText('the command never runs').waitFor()
  })
})
