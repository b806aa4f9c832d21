import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import {
  describeInBrowser,
  type ObservedPage,
  openBrowser,
  type TestBrowser,
} from '../../support/clients/pages/browser.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let browser: TestBrowser
let observed: ObservedPage

/** Opens a page of a server and waits until the documentation is drawn. */
async function openDocs(url: string) {
  await observed.page.goto(url)
  await observed.page.locator('.swagger-ui .opblock-tag').first().waitFor()
}

/** Authorizes with an access token, calls an operation from the page and returns the status that the page shows. */
async function tryOut(token: string, tag: string, path: string): Promise<string | null> {
  const { page } = observed
  await page.locator('.swagger-ui .btn.authorize').click()
  const dialog = page.locator('.dialog-ux')
  await dialog.locator('input[aria-label="auth-bearer-value"]').first().fill(token)
  await dialog.locator('button.authorize').first().click()
  await dialog.locator('button.btn-done').first().click()
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
    expect(await tryOut(access, 'users', '/me')).toBe('200')
    expect(observed.complaints).toEqual([])
    expect([...observed.origins]).toEqual([stack.auth.url])
  })

  it.each(['/docs/', '/rest/docs'])('let a deal server be called from %s', async (path) => {
    const { access } = await stack.logIn('alice')
    await openDocs(stack.deal.url + path)
    expect(await tryOut(access, 'resource', '/rest/v1/deals')).toBe('200')
    expect(observed.complaints).toEqual([])
    expect([...observed.origins]).toEqual([stack.deal.url])
  })

  it('say where calls go when they were opened under another name of the server', async () => {
    const { page } = observed
    await openDocs(`${stack.deal.url}/docs`)
    expect(await page.locator('#elsewhere').isVisible()).toBe(false)
    await openDocs(`${stack.deal.url.replace('127.0.0.1', 'localhost')}/docs`)
    await page.getByRole('link', { name: 'open this page there' }).click()
    await page.waitForURL(`${stack.deal.url}/docs`)
  })

  it.each<[string, string, Readonly<Record<string, string>>]>([
    ['in', '/sessions', { username: 'alice', password: 'ein Paßwort & mehr' }],
    ['out', '/sessions/current', { _method: 'DELETE' }],
  ])('sign %s at the auth server, which may lead back to them', async (direction, path, fields) => {
    const { page, complaints } = observed
    const own = `${stack.deal.url}/rest/docs`
    let sent: { origin: string | undefined; fields: Record<string, string> } | undefined
    await page.route(stack.auth.url + path, async (route) => {
      const request = route.request()
      const form = Object.fromEntries(new URLSearchParams(request.postData() ?? ''))
      sent = { origin: (await request.allHeaders()).origin, fields: form }
      await route.fulfill({ status: 303, headers: { location: form.return_to ?? '' } })
    })
    await openDocs(own)
    if (direction === 'in') {
      await page.getByLabel('User name').fill(fields.username ?? '')
      await page.getByLabel('Password').fill(fields.password ?? '')
    }
    await page.getByRole('button', { name: `Sign ${direction}` }).click()
    await page.getByText(`You have signed ${direction}.`).waitFor()
    const returnTo = `${own}#signed-${direction}`
    expect(page.url()).toBe(returnTo)
    expect(sent).toEqual({ origin: stack.deal.url, fields: { ...fields, return_to: returnTo } })
    expect(complaints).toEqual([])
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
