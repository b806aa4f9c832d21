import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'

describeInBrowser('the pages of the second factor', () => {
  let world: Awaited<ReturnType<typeof openConsoleInBrowser>>
  let origin: string

  beforeAll(async () => {
    const port = String(await freePort())
    origin = `http://localhost:${port}`
    const environment = { AUTH_PORT: port, AUTH_PUBLIC_ORIGIN: origin, SECOND_FACTOR_ROLES: 'manager' }
    world = await openConsoleInBrowser({ environment })
  })
  afterAll(() => world?.close())

  const secretOn = async (page: Page) => {
    const secret = (await page.locator('#secret code').textContent()) ?? ''
    rememberSecret(secret)
    return secret
  }
  /** A code that was not used before: the clock goes on by two steps first. */
  const codeOf = (secret: string) => {
    world.stack.clock.advanceSeconds(60)
    return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: world.stack.clock.now() })
  }
  const enterCode = async (page: Page, code: string) => {
    await page.getByRole('textbox', { name: /code/i }).fill(code)
    await page.getByRole('button', { name: /^(Sign in|Confirm the code)$/ }).click()
  }
  const security = '/account/security'
  async function signInAs(page: Page, username: string, path = security) {
    await page.goto(origin + path)
    await signInOnPage(page, username)
  }

  it('set one up at the sign-in of a user whose role demands it, and ask for it, without a script', async () => {
    const context = await (await world.browser.newPage()).page
      .context()
      .browser()
      ?.newContext({ javaScriptEnabled: false })
    const page = await context?.newPage()
    if (!page) throw new Error('no page')
    await signInAs(page, 'alice')
    expect(await page.locator('h1').textContent()).toBe('Set up a second factor')
    expect(await page.locator('svg[role="img"]').count()).toBe(1)
    const secret = await secretOn(page)
    await enterCode(page, '000000')
    expect(await page.locator('#code-error').textContent()).toContain('not right')
    await enterCode(page, codeOf(secret))
    expect(page.url()).toBe(origin + security)
    expect(await page.locator('main').textContent()).toContain('Codes of an app')
    await page.getByRole('button', { name: 'Make new codes' }).click()
    const codes = ((await page.locator('#secret-0').textContent()) ?? '').trim().split('\n')
    for (const code of codes) rememberSecret(code)
    expect(codes).toHaveLength(10)
    await context?.clearCookies()
    await signInAs(page, 'alice')
    expect(await page.locator('h1').textContent()).toBe('Second factor')
    expect(await page.getByRole('button', { name: 'Use a passkey' }).isVisible()).toBe(false)
    await enterCode(page, codes[0] ?? '')
    expect(await page.locator('main').textContent()).toContain('9 codes are left.')
    await context?.close()
  })

  it('make a passkey, sign in with it and remove it, with no finding of axe and no complaint', async () => {
    const { page, complaints } = await world.browser.newPage()
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'internal', hasUserVerification: true, isUserVerified: true },
    })
    await signInAs(page, 'carol')
    await expectAccessible(page, 'security')
    await page.getByRole('button', { name: 'Set up an app' }).click()
    await page.locator('svg[role="img"]').waitFor()
    await expectAccessible(page, 'security-app')
    await page.goto(origin + security)
    await page.getByRole('button', { name: 'Set up a passkey' }).click()
    await page.getByLabel('Name').fill('My <b>computer</b>')
    await page.getByRole('button', { name: 'Make the passkey now' }).click()
    await page.getByText('The second factor is set up.').waitFor()
    expect(await page.locator('table').textContent()).toContain('My <b>computer</b>')
    await page.context().clearCookies()
    await signInAs(page, 'carol')
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor()
    await expectAccessible(page, 'sign-in-passkey')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByRole('link', { name: 'Remove My' }).click()
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The second factor is removed.').waitFor()
    expect(complaints.filter((line) => !line.includes('status of 401'))).toEqual([])
  })
})
