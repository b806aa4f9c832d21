import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { beginOn, poll } from '../../support/clients/sign-in/devices.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'

describeInBrowser('the page of devices', () => {
  let world: Awaited<ReturnType<typeof openConsoleInBrowser>>
  let origin: string

  beforeAll(async () => {
    const port = String(await freePort())
    origin = `http://localhost:${port}`
    world = await openConsoleInBrowser({ environment: { AUTH_PORT: port, AUTH_PUBLIC_ORIGIN: origin } })
  })
  afterAll(() => world?.close())

  it('lets a device act for a user who signs in with a passkey, with no finding of axe and no complaint', async () => {
    const { page, complaints } = await world.browser.newPage()
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'internal', hasUserVerification: true, isUserVerified: true },
    })
    await page.goto(`${origin}/account/security`)
    await signInOnPage(page, 'carol')
    await page.getByRole('button', { name: 'Set up a passkey' }).click()
    await page.getByLabel('Name').fill('My computer')
    await page.getByRole('button', { name: 'Make the passkey now' }).click()
    await page.getByText('The second factor is set up.').waitFor()
    await page.context().clearCookies()

    const device = await beginOn(world.stack)
    await page.goto(`${origin}/account/device`)
    await signInOnPage(page, 'carol')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    // The sign-in page has a field of this name too.
    await page.waitForURL(`${origin}/account/device`)
    await page.getByRole('button', { name: 'Go on' }).waitFor()
    await expectAccessible(page, 'device-code')
    await page.getByLabel('Code').fill('bcdf ghjk')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('alert').waitFor()
    await expectAccessible(page, 'device-wrong-code')
    await page.getByLabel('Code').fill(device.userCode.toLowerCase())
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('only if you began this yourself').waitFor()
    await expectAccessible(page, 'device-question')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('The device is connected').waitFor()
    const { body } = await poll(world.stack, device)
    const { body: me } = await world.stack.auth.send('/me', { token: String(body.access_token) })
    expect(me.username).toBe('carol')
    expect(complaints.filter((line) => !/status of 40[01]/.test(line))).toEqual([])
  })
})
