/** A form that a page of another site sends. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeInBrowser } from '../../support/clients/pages/browser.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'

describeInBrowser('a page of another site', () => {
  let inBrowser: Awaited<ReturnType<typeof openConsoleInBrowser>>
  let other: Server

  beforeAll(async () => {
    inBrowser = await openConsoleInBrowser()
    other = createServer((_, response) => {
      const target = inBrowser.url('/account/users')
      response.setHeader('content-type', 'text/html')
      response.end(`<form method="post" action="${target}"><input name="username" value="planted">
        <input name="password" value="a planted password"><input name="roles" value="admin"></form>
        <script>document.forms[0].submit()</script>`)
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    other?.close()
    await inBrowser?.close()
  })

  it('finds nothing to click, whether its reader is signed in or not', async () => {
    const { page } = await inBrowser.browser.newPage()
    const attack = `http://localhost:${(other.address() as AddressInfo).port}/`
    for (const isSignedIn of [false, true]) {
      if (isSignedIn) {
        await page.goto(inBrowser.url('/account'))
        await signInOnPage(page, 'admin')
        await page.waitForURL(inBrowser.url('/account'))
      }
      const [response] = await Promise.all([
        page.waitForResponse((one) => one.request().method() === 'POST'),
        page.goto(attack),
      ])
      expect(response.status()).toBe(403)
      await page.waitForURL(inBrowser.url('/account/users'))
      expect(await page.content()).not.toContain('planted')
      expect(await page.locator('main form').count()).toBe(0)
    }
  })
})
