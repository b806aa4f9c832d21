/** Both servers with their console, for suites about its pages: read over plain HTTP, or in a browser. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Reply } from '../clients/http-client.ts'
import { openBrowser, type TestBrowser } from '../clients/pages/browser.ts'
import { unescaped } from '../clients/pages/page-text.ts'
import { signIn } from '../clients/pages/sign-in.ts'
import { freePort } from '../processes/free-port.ts'
import { type OpenBackend, openEmbedded } from '../stores/backends.ts'
import { openStack, passwordOf, type Stack, type StackOptions } from './stack.ts'

/** Reads pages without a browser. Paths below `/account` are on the auth server, all others on the deal server. */
export interface PageReader {
  get(path: string): Promise<Reply>
  /** Sends a form, as a browser does from a page of the same server. */
  post(path: string, fields: Fields): Promise<Reply>
  /** The same, with the entity tag that the page shows now. */
  postShown(path: string, fields: Fields): Promise<Reply>
}

type Fields = Readonly<Record<string, string>>

/** The entity tag in the forms of a page. */
export const tagShown = ({ text }: Reply): string => unescaped(/name="etag" value="([^"]+)"/.exec(text)?.[1] ?? '')

export interface ConsoleWorld {
  readonly stack: Stack
  /** The URL of a page. */
  url(path: string): string
  /** A reader with a session of his own. */
  readAs(username: string): Promise<PageReader>
  close(): Promise<void>
}

/** Starts both servers. */
export async function openConsole(
  openBackend: OpenBackend = openEmbedded,
  options: StackOptions = {},
): Promise<ConsoleWorld> {
  const port = String(await freePort())
  const origins = { DEAL_PORT: port, DEAL_PUBLIC_ORIGIN: `http://127.0.0.1:${port}` }
  const stack = await openStack(openBackend, { ...options, environment: { ...origins, ...options.environment } })
  const serverOf = (path: string) => (path.startsWith('/account') ? stack.auth : stack.deal)
  return {
    stack,
    url: (path) => serverOf(path).url + path,
    readAs: async (username) => {
      const { cookie } = await signIn(stack, username)
      const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
      const get = (path: string) => serverOf(path).send(path, { headers: { cookie, accept } })
      const post = (path: string, fields: Fields) =>
        serverOf(path).send(path, {
          method: 'POST',
          body: new URLSearchParams(fields).toString(),
          headers: {
            cookie,
            accept,
            origin: serverOf(path).url,
            'sec-fetch-site': 'same-origin',
            'content-type': 'application/x-www-form-urlencoded',
          },
        })
      return {
        get,
        post,
        postShown: async (path, fields) => post(path, { etag: tagShown(await get(path)), ...fields }),
      }
    },
    close: () => stack.close(),
  }
}

/** The same with a browser. */
export async function openConsoleInBrowser(options: StackOptions = {}) {
  const world = await openConsole(openEmbedded, options)
  const browser: TestBrowser = await openBrowser()
  return {
    ...world,
    browser,
    close: async () => {
      await browser.close()
      await world.close()
    },
  }
}

/** Signs in on the page that asks for it, as a person does, and waits for the page that was wanted. */
export async function signInOnPage(page: Page, username: string, password = passwordOf(username)): Promise<void> {
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Expects a page of this status that shows each of these texts. */
export function expectPage(reply: Reply, status: number, ...texts: readonly string[]): void {
  expect(reply.status, reply.text).toBe(status)
  expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8')
  for (const text of texts) expect(reply.text).toContain(text)
}
