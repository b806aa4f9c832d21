import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { unixSeconds } from '../../../shared/platform/clock.ts'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { shownSecrets } from '../../support/clients/pages/page-text.ts'
import { signUrl } from '../../support/clients/signing.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'
import { passwordOf } from '../../support/worlds/stack.ts'

type World = Awaited<ReturnType<typeof openConsoleInBrowser>>

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const notice = (page: Page, text: string) => page.getByRole('status').getByText(text).waitFor()

describeInBrowser('the pages of the account', () => {
  let world: World
  beforeAll(async () => {
    world = await openConsoleInBrowser()
  })
  afterAll(() => world.close())

  /** The status of a request that a program signs with the key on this page. */
  async function useKey(page: Page): Promise<number> {
    const [secret = ''] = shownSecrets(await page.content())
    const id = (await page.locator('dd code').first().textContent()) ?? ''
    const url = `${world.stack.deal.url}/rest/v1/deals`
    const timestamp = unixSeconds(world.stack.clock.now())
    return (await fetch(signUrl({ id, secret }, { method: 'GET', url }, { timestamp }))).status
  }

  /** The walk of a user. `look` is called at each page. */
  async function walk(javaScriptEnabled: boolean, username: string, look: (page: Page, name: string) => Promise<void>) {
    const { page, complaints } = await world.browser.newPage({ javaScriptEnabled })
    await page.goto(world.url('/account'))
    await signInOnPage(page, username, 'not the password')
    await page.getByRole('alert').waitFor()
    await signInOnPage(page, username)
    await page.waitForURL(world.url('/account'))
    await look(page, 'account')
    await changePassword(page, username, look)
    await page.getByRole('link', { name: 'API keys' }).first().click()
    await makeAndRevokeKey(page, javaScriptEnabled, look)
    await endOtherSession(page, javaScriptEnabled, username, look)
    await press(page, 'Sign out')
    await page.getByText('You have signed out.').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.content()).not.toContain('End all others')
    expect(complaints.filter((line) => !/\b40[0-9]\b|\b422\b/.test(line))).toEqual([])
    await page.context().close()
  }

  async function changePassword(page: Page, username: string, look: (page: Page, name: string) => Promise<void>) {
    await page.getByRole('link', { name: 'Password' }).click()
    const change = async (before: string, after: string, again = after) => {
      await page.getByLabel('Old password').fill(before)
      await page.getByLabel('New password', { exact: true }).fill(after)
      await page.getByLabel('New password again').fill(again)
      await press(page, 'Change the password')
    }
    const password = `a phrase that ${username} can keep`
    rememberSecret(password)
    await change(passwordOf(username), password, 'another phrase')
    await page.getByRole('alert').getByText('This is not the same').waitFor()
    await look(page, 'account-password-refused')
    await change(passwordOf(username), password)
    await notice(page, 'Your password is changed.')
    await change(password, passwordOf(username))
    await notice(page, 'Your password is changed.')
    await look(page, 'account-password')
  }

  async function makeAndRevokeKey(
    page: Page,
    javaScriptEnabled: boolean,
    look: (page: Page, name: string) => Promise<void>,
  ) {
    await page.getByRole('link', { name: 'Make an API key' }).click()
    await page.getByLabel('Name (optional)').fill('night report')
    await press(page, 'Make an API key')
    await page.getByRole('alert').getByText('Choose at least one right').waitFor()
    expect(await page.getByLabel('Name (optional)').inputValue()).toBe('night report')
    await look(page, 'account-api-key-new')
    await page.getByLabel('Read deals').check()
    await press(page, 'Make an API key')
    await page.getByRole('heading', { name: 'The API key is made' }).waitFor()
    expect(await page.getByRole('button', { name: 'Copy' }).isVisible()).toBe(javaScriptEnabled)
    expect(await useKey(page)).toBe(200)
    expect(page.url()).toBe(world.url('/account/api-keys/new'))
    await look(page, 'account-api-key-made')
    await page.getByRole('link', { name: 'Go on to the key' }).click()
    await look(page, 'account-api-key')
    await press(page, 'Rotate')
    await page.getByRole('heading', { name: 'The API key is rotated' }).waitFor()
    expect(await useKey(page)).toBe(200)
    await page.getByRole('link', { name: 'Go on to the key' }).click()
    await page.getByText('Revoke…').click()
    await press(page, 'Yes, revoke it')
    await notice(page, 'The API key is revoked.')
  }

  async function endOtherSession(
    page: Page,
    javaScriptEnabled: boolean,
    username: string,
    look: (page: Page, name: string) => Promise<void>,
  ) {
    const other = await world.browser.newPage({ javaScriptEnabled })
    await other.page.goto(world.url('/account/tokens'))
    await signInOnPage(other.page, username)
    await other.page.getByRole('heading', { name: 'Digest secret' }).waitFor()
    await look(other.page, 'account-tokens')
    await page.getByRole('link', { name: 'Sessions' }).click()
    await look(page, 'account-sessions')
    await page.getByRole('button', { name: 'End the session of' }).first().click()
    await notice(page, 'The session has ended.')
    await other.page.goto(world.url('/account/api-keys?limit=5'))
    await signInOnPage(other.page, username)
    await other.page.waitForURL(world.url('/account/api-keys?limit=5'))
    await look(other.page, 'account-api-keys-empty')
    await other.page.context().close()
  }

  it('are walked by a user with scripts, and have no finding of axe', () => walk(true, 'carol', expectAccessible))

  it('are walked by a user without scripts', () => walk(false, 'bob', async () => {}))

  it('are walked by an administrator, and have no finding of axe', async () => {
    const { page, complaints } = await world.browser.newPage()
    await page.goto(world.url('/account/users'))
    await signInOnPage(page, 'admin')
    await page.getByRole('link', { name: 'Create a user' }).click()
    await page.getByLabel('User name').fill('a name')
    await page.getByLabel('First password').fill('short')
    await press(page, 'Create a user')
    await page.getByRole('alert').waitFor()
    await expectAccessible(page, 'admin-user-new')
    await page.getByLabel('User name').fill('erin')
    await page.getByLabel('First password').fill(passwordOf('erin'))
    await page.getByLabel('agent').check()
    await press(page, 'Create a user')
    await notice(page, 'The user is created.')
    await page.getByLabel('viewer').check()
    await page.getByText('Direct rights').first().click()
    await page.getByLabel('Read the audit log').check()
    await press(page, 'Save')
    await notice(page, 'The roles and rights are saved.')
    for (const title of ['Disable', 'One-time link for a forgotten password', 'Delete the user'])
      await page.locator('summary', { hasText: title }).click()
    await expectAccessible(page, 'admin-user')
    await press(page, 'Make a link')
    const [link = ''] = shownSecrets(await page.content())
    await expectAccessible(page, 'admin-user-link')
    await page.getByRole('link', { name: 'Back to the user' }).click()
    await useLink(link)
    await page.getByText('Disable', { exact: true }).first().click()
    await press(page, 'Disable')
    await notice(page, 'The user is disabled.')
    await lookAtLists(page)
    // Browsers say of a download that the page it would have been was given up.
    expect(complaints.filter((line) => !/\b4[02][0-9]\b|audit\/export/.test(line))).toEqual([])
    await page.context().close()
  })

  /** A user follows the link: the code goes from the address into the field. */
  async function useLink(link: string) {
    const { page } = await world.browser.newPage()
    await page.goto(link)
    expect(page.url()).toBe(world.url('/account/reset-password'))
    expect(await page.getByLabel('Code').inputValue()).toBe(link.replace(/^.*#/, ''))
    await expectAccessible(page, 'reset-password')
    const password = 'what erin wants it to be'
    rememberSecret(password)
    await page.getByLabel('New password', { exact: true }).fill(password)
    await page.getByLabel('New password again').fill(password)
    await press(page, 'Set the password')
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signInOnPage(page, 'erin', password)
    await page.waitForURL((url) => url.pathname.startsWith('/console'))
    await page.context().close()
  }

  async function lookAtLists(page: Page) {
    for (const [path, name] of [
      ['/account/users', 'admin-users'],
      ['/account/users/carol/sessions', 'admin-user-sessions'],
      ['/account/users/alice/api-keys', 'admin-user-api-keys'],
      ['/account/all-api-keys', 'admin-api-keys'],
      ['/account/audit', 'admin-audit'],
      ['/account/audit?actor=a+b', 'admin-audit-refused'],
      ['/account/keys', 'admin-keys'],
    ] as const) {
      await page.goto(world.url(path))
      await expectAccessible(page, name)
    }
    const download = page.waitForEvent('download')
    await page.goto(world.url('/account/audit'))
    await page.getByRole('link', { name: 'Export as CSV' }).click()
    expect((await download).suggestedFilename()).toBe('audit.csv')
  }
})
