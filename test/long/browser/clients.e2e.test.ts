import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { shownSecrets } from '../../support/clients/pages/page-text.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'
import { passwordOf } from '../../support/worlds/stack.ts'

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const notice = (page: Page, text: string) => page.getByRole('status').getByText(text).waitFor()

describeInBrowser('the pages of clients and services', () => {
  let world: Awaited<ReturnType<typeof openConsoleInBrowser>>
  beforeAll(async () => {
    world = await openConsoleInBrowser()
  })
  afterAll(() => world.close())

  type Look = (page: Page, name: string) => Promise<void>

  async function open(page: Page, title: string) {
    await page.locator('summary', { hasText: 'Administration' }).click()
    await page.getByRole('link', { name: title, exact: true }).click()
    await page.getByRole('heading', { name: title, exact: true }).waitFor()
  }

  /** The secret that the page shows, which no address has. */
  async function takeSecret(page: Page, name: string, look: Look): Promise<string> {
    await page.getByRole('heading', { name: `The secret of ${name}` }).waitFor()
    const [secret = ''] = shownSecrets(await page.content())
    expect(page.url()).not.toContain(secret)
    await look(page, 'program-secret')
    await page.getByRole('link', { name: `Go on to ${name}` }).click()
    await page.getByRole('heading', { name, exact: true }).waitFor()
    expect(await page.content()).not.toContain(secret)
    return secret
  }

  async function rotate(page: Page, name: string, look: Look) {
    await page.getByText('Give it a new secret').click()
    await page.locator('#rotate-password').fill('not the password')
    await press(page, 'Make a new secret')
    await page.getByRole('alert').getByText('Your password').waitFor()
    await look(page, 'program-rotation-refused')
    await page.locator('#rotate-password').fill(passwordOf('admin'))
    await press(page, 'Make a new secret')
    await takeSecret(page, name, look)
    await page.getByText('The former secret works until').waitFor()
  }

  async function remove(page: Page, title: string, name: string) {
    await page.getByText(title).click()
    await page.getByLabel(`Type ${name} to confirm`).fill(name)
    await press(page, 'Delete for ever')
    await notice(page, 'is deleted.')
  }

  async function walkClient(page: Page, look: Look) {
    await open(page, 'Clients')
    await look(page, 'clients-empty')
    await page.getByRole('link', { name: 'Register a client' }).click()
    await page.getByLabel('Name', { exact: true }).fill('wiki')
    await page.getByLabel('Redirect URIs', { exact: true }).fill('https://wiki.example/back\nhttp://wiki.example/back')
    await page.getByLabel('Read deals: own deals').check()
    await look(page, 'client-new')
    await press(page, 'Register a client')
    await page.getByRole('alert').getByText('Line 2: must begin with https:').waitFor()
    await look(page, 'client-new-refused')
    await page.getByLabel('Redirect URIs', { exact: true }).fill('https://wiki.example/back')
    await press(page, 'Register a client')
    await takeSecret(page, 'wiki', look)
    expect(await page.getByLabel('Read deals: own deals').isChecked()).toBe(true)
    await page.getByLabel('Name', { exact: true }).fill('wikis')
    await press(page, 'Save')
    await notice(page, 'The client is saved.')
    await look(page, 'client')
    await rotate(page, 'wikis', look)
    await page.getByRole('link', { name: 'Clients', exact: true }).last().click()
    await look(page, 'clients')
    await page.getByRole('link', { name: 'wikis' }).click()
    await remove(page, 'Delete the client', 'wikis')
  }

  async function walkService(page: Page, look: Look) {
    await open(page, 'Services')
    await page.getByRole('link', { name: 'Register a service' }).click()
    await page.getByLabel('Name', { exact: true }).fill('ledger')
    await look(page, 'service-new')
    await press(page, 'Register a service')
    await takeSecret(page, 'ledger', look)
    await rotate(page, 'ledger', look)
    await look(page, 'service')
    await remove(page, 'Delete the service', 'ledger')
  }

  it.each([
    ['with scripts, and have no finding of axe', true, expectAccessible],
    ['without scripts', false, async () => {}],
  ] as const)('are walked by an administrator %s', async (_, javaScriptEnabled, look) => {
    const { page, complaints } = await world.browser.newPage({ javaScriptEnabled })
    await page.goto(world.url('/account'))
    await signInOnPage(page, 'admin')
    await walkClient(page, look)
    await walkService(page, look)
    expect(complaints.filter((line) => !/\b40[0-9]\b|\b422\b/.test(line))).toEqual([])
    await page.context().close()
  })
})
