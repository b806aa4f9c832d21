/** Forms of pages as other sites, and clients without a session, send them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signIn } from '../support/clients/pages/sign-in.ts'
import { sendRaw } from '../support/clients/raw-http.ts'
import { type ConsoleWorld, expectPage, openConsole } from '../support/worlds/console-world.ts'

const formType = 'application/x-www-form-urlencoded'
const accept = 'text/html,*/*;q=0.8'
const own = { 'sec-fetch-site': 'same-origin' }
const foreign = { origin: 'http://evil.test', 'sec-fetch-site': 'cross-site' }

const pages = [
  '/console/deals/bulk',
  '/console/deals/new',
  '/console/deals/import',
  '/console/webhooks/new',
  '/account/password',
  '/account/security',
  '/account/reset-password',
  '/account/users',
]

const fields = (count: number): string => Array.from({ length: count }, (_, index) => `field${index}=v`).join('&')

let world: ConsoleWorld
let cookies: Readonly<Record<'alice' | 'bob', string>>

beforeAll(async () => {
  world = await openConsole()
  const cookieOf = async (username: string) => (await signIn(world.stack, username)).cookie
  cookies = { alice: await cookieOf('alice'), bob: await cookieOf('bob') }
})
afterAll(() => world.close())

const serverOf = (path: string) => (path.startsWith('/account') ? world.stack.auth : world.stack.deal)
const send = (path: string, body: string, headers: Readonly<Record<string, string>>) =>
  serverOf(path).send(path, { method: 'POST', body, headers: { 'content-type': formType, accept, ...headers } })

describe('a form of another site', () => {
  it.each(pages)('dies on %s, with and without a session, and is not shown', async (path) => {
    for (const headers of [foreign, { ...foreign, cookie: cookies.alice }, { ...foreign, origin: 'null' }]) {
      const reply = await send(path, 'role=admin&name=planted', headers)
      expectPage(reply, 403)
      expect(reply.text).not.toMatch(/planted|role/)
    }
  })
})

describe('a form of another site for the sign-in', () => {
  it.each(['/sessions', '/sessions/current'])('dies on %s, and becomes no part of a form of ours', async (path) => {
    const body = 'username=planted&password=x&_method=DELETE&return_to=x'
    for (const cookie of ['', cookies.alice]) {
      const reply = await world.stack.auth.send(path, {
        method: 'POST',
        body,
        headers: { 'content-type': formType, accept, ...foreign, ...(cookie && { cookie }) },
      })
      expect([401, 403]).toContain(reply.status)
      if (reply.status === 403) expect(reply.text).not.toMatch(/planted|<form/)
      if (reply.status === 401) expect(reply.text).not.toContain('return_to" value="x')
    }
  })
})

describe('a form without a session', () => {
  it('is not shown when nothing says that a page sent it', async () => {
    expect((await send('/console/deals/bulk', 'action=hold&reason=planted', {})).status).toBe(303)
  })

  it('is shown with all that it would send', async () => {
    const reply = await send('/console/deals/bulk', 'action=hold&reason=I+%3Cwaited%3E', own)
    expectPage(reply, 401, '<dt>reason</dt>', 'value="I &lt;waited&gt;"')
    expect(reply.text).toMatch(/<dd>\s*I &lt;waited&gt;\s*<input type="hidden" name="reason"/)
  })

  it('is shown when the password in it was left empty', async () => {
    const reply = await send('/account/clients', 'name=wiki&password=', own)
    expectPage(reply, 401, '<dt>name</dt>', 'value="wiki"')
  })

  it.each([
    ['of more than 100 fields', fields(101)],
    ['of more than 16 KiB', `reason=${'x'.repeat(16 * 1024)}`],
    ['of two megabytes', `reason=${'%26'.repeat(700_000)}`],
    ['with a secret', 'reason=x&code=123456'],
    ['with a password', 'name=x&password=y'],
  ])('%s leads to the sign-in page, and is not shown', async (_, body) => {
    const reply = await send('/console/deals/import', body, own)
    expect(reply.status).toBe(303)
    expect(reply.text.length).toBe(0)
  })

  it('leads to the sign-in page and closes the connection when it comes in chunks', async () => {
    const head = `POST /console/deals/import HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: ${formType}`
    const chunks = '4\r\na=bc\r\n'.repeat(10)
    const reply = await sendRaw(world.stack.deal.port, `${head}\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`)
    expect([reply?.status, reply?.headers.get('connection')]).toEqual([303, 'close'])
  })
})

describe('a large form', () => {
  it('is refused before it is read when the reader may not import', async () => {
    const reply = await send('/console/deals/import', `content=${'x'.repeat(1_000_000)}`, {
      ...own,
      cookie: cookies.bob,
    })
    expectPage(reply, 403, 'deal.create')
  })

  it('has 256 KiB at most when it is no form with files', async () => {
    const headers = { ...own, cookie: cookies.alice }
    expectPage(await send('/console/deals/import', `content=${'x'.repeat(300_000)}`, headers), 413)
    expectPage(await send('/console/deals/bulk', `reason=${'x'.repeat(300_000)}`, headers), 413)
  })

  it('has 16 KiB at most on pages that need no session', async () => {
    expectPage(await send('/account/reset-password', `token=${'x'.repeat(16 * 1024)}`, own), 413)
  })

  it('with files has 1,000 fields at most', async () => {
    const part = (index: number) => `--x\r\ncontent-disposition: form-data; name="f${index}"\r\n\r\n\r\n`
    const partsOf = (count: number) => `${Array.from({ length: count }, (_, index) => part(index)).join('')}--x--\r\n`
    const headers = { ...own, cookie: cookies.alice, 'content-type': 'multipart/form-data; boundary=x' }
    expectPage(await send('/console/deals/import', partsOf(1_000), headers), 422, 'Choose a file.')
    expectPage(await send('/console/deals/import', partsOf(1_001), headers), 400, '1000 fields')
  })

  it('has 1,000 fields at most', async () => {
    expectPage(await send('/console/deals/bulk', fields(1_001), { ...own, cookie: cookies.alice }), 400)
  })
})
