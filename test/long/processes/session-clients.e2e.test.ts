import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { describeInBrowser, type ObservedPage } from '../../support/clients/pages/browser.ts'
import { openConsoleInBrowser, signInOnPage } from '../../support/worlds/console-world.ts'
import { passwordOf, type Stack } from '../../support/worlds/stack.ts'

describeInBrowser('a session in a browser', () => {
  let world: Awaited<ReturnType<typeof openConsoleInBrowser>>
  let stack: Stack
  let observed: ObservedPage
  beforeAll(async () => {
    world = await openConsoleInBrowser()
    stack = world.stack
    observed = await world.browser.newPage()
  })
  afterAll(() => world?.close())

  /** The status of a call that a script of the page makes. */
  const call = (url: string): Promise<number> =>
    observed.page.evaluate(
      `fetch('${url}', { credentials: 'include' }).then(async (answer) => (await answer.text()) && answer.status)`,
    )

  it('is seen by no script, and known to both servers until its user signs out', async () => {
    const { page } = observed
    await page.goto(`${stack.auth.url}/account`)
    await signInOnPage(page, 'carol')
    await page.waitForURL(`${stack.auth.url}/account`)
    const [cookie, ...others] = await page.context().cookies()
    expect(others).toEqual([])
    expect(cookie).toMatchObject({
      name: 'keyhold_session',
      domain: '127.0.0.1',
      path: '/',
      expires: -1,
      httpOnly: true,
      secure: false,
      sameSite: 'Lax',
    })
    rememberSecret(cookie?.value ?? '')
    expect(await page.evaluate('document.cookie')).toBe('')
    expect(await call('/me')).toBe(200)
    await page.goto(`${stack.deal.url}/docs`)
    expect(await call('/rest/v1/deals')).toBe(200)
    await page.goto(`${stack.auth.url}/account`)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.waitForURL((url) => url.pathname === '/account/sign-in')
    expect(await page.context().cookies()).toEqual([])
    expect(await call('/me')).toBe(401)
    // A 401 stands in the console of every browser; nothing else may.
    expect(observed.complaints.filter((complaint) => !complaint.includes('401'))).toEqual([])
  })

  it('does not begin by a form of another site', async () => {
    const { page } = await world.browser.newPage()
    await page.route('http://evil.test/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="${stack.auth.url}/sessions"><input name="username" value="carol">
          <input name="password" value="${passwordOf('carol')}"><button>Win</button></form>`,
      }),
    )
    await page.goto('http://evil.test/')
    const [response] = await Promise.all([
      page.waitForResponse(`${stack.auth.url}/sessions`),
      page.getByRole('button', { name: 'Win' }).click(),
    ])
    expect(response.status()).toBe(403)
    expect(await page.context().cookies()).toEqual([])
    await page.context().close()
  })
})
