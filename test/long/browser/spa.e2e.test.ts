/** `examples/spa`, as its README says it is used. */
import { expect, it } from 'vitest'
import { describeInBrowser, openBrowser } from '../../support/clients/pages/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { startScript } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { signInOnPage } from '../../support/worlds/console-world.ts'
import { openStack } from '../../support/worlds/stack.ts'

describeInBrowser('examples/spa', () => {
  it('signs a person in, holds a deal, gets new tokens, signs in again silently, and signs out', async () => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const stack = await openStack(openEmbedded, { environment: { TOKEN_ORIGINS: origin } })
    const environment = { AUTH_URL: stack.auth.url, DEAL_URL: stack.deal.url, PORT: String(port) }
    const example = startScript('example:spa', { environment })
    const browser = await openBrowser()
    try {
      await eventually(() => expect(example.output()).toContain('The page is at'))
      const { access: token } = await stack.logIn('alice')
      await stack.deal.send('/rest/v1/deals', { token, json: { name: 'Barn', price: 100, currency: 'EUR' } })
      const { page } = await browser.newPage()
      const said = (text: string) => page.getByText(text).waitFor()
      const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
      await page.goto(`${origin}/`)
      await press('Sign in')
      await page.waitForURL(/account\/sign-in/)
      await page.getByText('To go on to').waitFor()
      await signInOnPage(page, 'alice')
      await said('Signed in as alice.')
      expect(page.url()).toBe(`${origin}/`)
      await press('Hold a deal')
      await said('Barn is held.')
      await press('Get new tokens')
      await said('New tokens are here.')
      await page.reload()
      await said('Nobody is signed in.')
      await press('Sign in')
      await said('Signed in as alice.')
      await press('Sign out')
      await said('Nobody is signed in.')
      await press('Sign in')
      await page.waitForURL(/account\/sign-in/)
    } finally {
      await browser.close()
      await example.end('SIGTERM')
      await stack.close()
    }
  })
})
