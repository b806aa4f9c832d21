import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import {
  describeInBrowser,
  type ObservedPage,
  openBrowser,
  type TestBrowser,
} from '../../support/clients/pages/browser.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { signInOnPage } from '../../support/worlds/console-world.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

const run = promisify(execFile)

let stack: Stack

async function open(): Promise<void> {
  const port = String(await freePort())
  const environment = { DEAL_PORT: port, DEAL_PUBLIC_ORIGIN: `http://127.0.0.1:${port}` }
  stack = await openStack(openEmbedded, { environment })
}

describe('curl with a cookie jar', () => {
  let folder: string
  beforeAll(async () => {
    await open()
    folder = await mkdtemp(join(tmpdir(), 'keyhold-curl-'))
  })
  afterAll(async () => {
    await stack.close()
    await rm(folder, { recursive: true })
  })

  const curl = async (...args: string[]) => {
    const jar = join(folder, 'jar')
    const { stdout } = await run('curl', ['-s', '-w', '\n%{http_code}', '-b', jar, '-c', jar, ...args])
    const mark = stdout.lastIndexOf('\n')
    return { status: stdout.slice(mark + 1), body: stdout.slice(0, mark), jar: await readFile(jar, 'utf8') }
  }

  it('signs in, calls both servers, and signs out', async () => {
    const json = JSON.stringify({ username: 'carol', password: passwordOf('carol') })
    const asJson = ['-H', 'content-type: application/json']
    const signedIn = await curl(...asJson, '-d', json, `${stack.auth.url}/sessions`)
    expect(signedIn.status).toBe('201')
    const key = /keyhold_session\t(\S+)/.exec(signedIn.jar)?.[1] ?? ''
    expect(key).toHaveLength(43)
    rememberSecret(key)
    expect(signedIn.jar).toContain('#HttpOnly_127.0.0.1')
    expect((await curl(`${stack.deal.url}/rest/v1/deals`)).status).toBe('200')
    const deal = JSON.stringify({ name: 'deal123', price: 1 })
    expect((await curl(...asJson, '-d', deal, `${stack.deal.url}/rest/v1/deals`)).status).toBe('201')
    const out = await curl('-X', 'DELETE', `${stack.auth.url}/sessions/current`)
    expect(out.status).toBe('204')
    expect(out.jar).not.toContain(key)
    expect((await curl(`${stack.deal.url}/rest/v1/deals`)).status).toBe('401')
  })

  it('signs in with form fields, and out by the key in place of another credential', async () => {
    const fields = ['-d', 'username=carol', '--data-urlencode', `password=${passwordOf('carol')}`]
    const { status, jar } = await curl(...fields, `${stack.auth.url}/sessions`)
    expect(status).toBe('201')
    const key = /keyhold_session\t(\S+)/.exec(jar)?.[1] ?? ''
    rememberSecret(key)
    expect((await curl('-d', '_method=DELETE', `${stack.auth.url}/sessions/${key}`)).status).toBe('204')
    expect((await curl(`${stack.auth.url}/me`)).status).toBe('401')
  })
})

describeInBrowser('a session in a browser', () => {
  let browser: TestBrowser
  let observed: ObservedPage
  beforeAll(async () => {
    await open()
    browser = await openBrowser()
    observed = await browser.newPage()
  })
  afterAll(async () => {
    await browser?.close()
    await stack?.close()
  })

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
    const { page } = await browser.newPage()
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
