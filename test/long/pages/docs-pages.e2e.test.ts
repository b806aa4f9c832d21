import { decodeJwt } from 'jose'
import type { Request } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { expectProblem, rememberSecret } from '../../support/clients/http-client.ts'
import { expectAccessible } from '../../support/clients/pages/accessibility.ts'
import {
  describeInBrowser,
  type ObservedPage,
  openBrowser,
  type TestBrowser,
} from '../../support/clients/pages/browser.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { signInOnPage } from '../../support/worlds/console-world.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let browser: TestBrowser
let observed: ObservedPage

/** Opens a page of a server and waits until the documentation is drawn. */
async function openDocs(url: string) {
  await observed.page.goto(url)
  await observed.page.locator('.swagger-ui .opblock-tag').first().waitFor()
}

/** Authorizes with an access token. */
async function authorize(token: string): Promise<void> {
  const { page } = observed
  await page.locator('.swagger-ui .btn.authorize').click()
  const dialog = page.locator('.dialog-ux')
  await dialog.locator('input[aria-label="auth-bearer-value"]').first().fill(token)
  await dialog.locator('button.authorize').first().click()
  await dialog.locator('button.btn-done').first().click()
}

/** Calls an operation from the page, by its tag and path, and returns the status that the page shows. */
async function execute([tag, path]: readonly [string, string]): Promise<string | null> {
  const { page } = observed
  await page.locator(`.opblock-tag[data-tag="${tag}"]`).click()
  const operation = page.locator('.opblock-get', { has: page.locator(`[data-path="${path}"]`) })
  await operation.locator('.opblock-summary-control').click()
  await operation.locator('.try-out__btn').click()
  await operation.locator('.execute').click()
  return operation.locator('.live-responses-table .response-col_status').last().textContent()
}

describeInBrowser('the documentation pages', () => {
  beforeAll(async () => {
    const port = String(await freePort())
    const environment = { DEAL_PORT: port, DEAL_PUBLIC_ORIGIN: `http://127.0.0.1:${port}` }
    stack = await openStack(openEmbedded, { environment })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await stack?.close()
  })
  beforeEach(async () => {
    observed = await browser.newPage()
    return () => observed.page.context().close()
  })

  it('let an auth server be called with a token, with nothing from elsewhere and no complaint', async () => {
    const { access } = await stack.logIn('alice')
    await openDocs(`${stack.auth.url}/docs`)
    await authorize(access)
    expect(await execute(['users', '/me'])).toBe('200')
    expect(observed.complaints).toEqual([])
    expect([...observed.origins]).toEqual([stack.auth.url])
  })

  it('let a deal server be called', async () => {
    const { access } = await stack.logIn('alice')
    await openDocs(`${stack.deal.url}/docs/`)
    expect(await observed.page.locator('#elsewhere').isVisible()).toBe(false)
    await authorize(access)
    expect(await execute(['resource', '/rest/v1/deals'])).toBe('200')
    expect(observed.complaints).toEqual([])
    expect([...observed.origins]).toEqual([stack.deal.url])
  })

  it('say where calls go when they were opened under another name of the server', async () => {
    const { page } = observed
    await page.goto(`${stack.deal.url.replace('127.0.0.1', 'localhost')}/docs`)
    await page.getByRole('link', { name: 'open this page there' }).click()
    await page.waitForURL(`${stack.deal.url}/docs`)
  })

  it.each(['auth', 'deal'] as const)(
    'of the %s server sign a reader in and out, and keep tokens to themselves',
    async (name) => {
      const { page, complaints, origins } = observed
      const docs = `${stack[name].url}${name === 'auth' ? '/docs' : '/rest/docs'}`
      const sent: Request[] = []
      page.on('request', (request) => sent.push(request))
      const policy = (await stack[name].send(new URL(docs).pathname)).headers.get('content-security-policy')
      const called = [...new Set(["'self'", stack[name].url, stack.auth.url])].join(' ')
      expect(policy?.split('; ')).toContain(`connect-src ${called}`)
      const signIn = page.getByRole('button', { name: 'Sign in', exact: true })
      await openDocs(docs)
      await signIn.waitFor()
      await expectAccessible(page, `docs-of-${name}`, ['#swagger-ui'])
      await signIn.click()
      await page.getByText('Keyhold documentation').first().waitFor()
      await signInOnPage(page, 'alice')
      await page.getByText('Signed in as alice').waitFor()
      await expectAccessible(page, `docs-of-${name}-signed-in`, ['#swagger-ui'])
      expect(page.url()).toBe(docs)
      expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).toBe('[{},{}]')
      expect(await execute(name === 'auth' ? ['users', '/me'] : ['resource', '/rest/v1/deals'])).toBe('200')
      const request = sent.at(-1)
      const token = request?.headers().authorization?.replace('Bearer ', '') ?? ''
      rememberSecret(token)
      expect(decodeJwt(token)).toMatchObject({ sub: 'alice', client_id: 'keyhold-docs' })
      expect(await request?.headerValue('cookie')).toBeNull()
      await page.getByRole('button', { name: 'Sign out', exact: true }).click()
      await signIn.waitFor()
      expect(page.url()).toBe(docs)
      expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
      // What came once does not come again, nor from elsewhere.
      const exchanges = () => sent.filter((one) => one.url().includes('/oauth/token'))
      expect(exchanges()).toHaveLength(1)
      const answered = sent.map((one) => one.url()).find((url) => url.startsWith(`${docs}?code=`)) ?? ''
      for (const url of [answered, `${docs}?state=undefined&code=x`, `${docs}?state=null&code=x`]) {
        await page.goto(url, { waitUntil: 'commit' })
        await page.getByText('did not ask for what came').waitFor()
        expect(page.url()).toBe(docs)
      }
      expect(exchanges()).toHaveLength(1)
      expect(sent.filter((one) => one.url().includes('eyJ'))).toEqual([])
      expect(complaints).toEqual([])
      expect(origins).toEqual(new Set([stack.auth.url, stack[name].url]))
    },
  )

  it('get new tokens in the place of those that have expired', async () => {
    const { page } = observed
    await openDocs(`${stack.auth.url}/docs`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await signInOnPage(page, 'bob')
    await page.getByText('Signed in as bob').waitFor()
    await page.clock.install()
    await page.clock.fastForward(3_600_000)
    const refreshed = page.waitForResponse((response) => response.url().endsWith('/oauth/token'))
    expect(await execute(['users', '/me'])).toBe('200')
    expect((await refreshed).status()).toBe(200)
  })

  it('show problems as a list that leads to each', async () => {
    const { page } = observed
    await page.goto(`${stack.deal.url}/problems/`)
    await page.getByRole('link', { name: 'wrong-password' }).click()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('The password is not right')
    expect(new URL(page.url()).pathname).toBe('/problems/wrong-password')
    expect(observed.complaints).toEqual([])
    expect([...observed.origins]).toEqual([stack.deal.url])
  })

  it('has a policy that stops a script in a page, so that the silence above means something', async () => {
    const { page, complaints } = observed
    await page.goto(`${stack.auth.url}/docs`)
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<p style="color:red" onclick="1">x</p>')`)
    await page.evaluate(
      `{ const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s) }`,
    )
    expect(await page.evaluate('window.ran')).toBeUndefined()
    expect(complaints.join('\n')).toMatch(/script-src/)
    expect(complaints.join('\n')).toMatch(/style-src/)
  })
})
