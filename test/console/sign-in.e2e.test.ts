import { afterAll, beforeAll, expect, it } from 'vitest'
import { signIn } from '../support/clients/pages/sign-in.ts'
import { type ConsoleWorld, expectPage, openConsole } from '../support/worlds/console-world.ts'

let world: ConsoleWorld

beforeAll(async () => {
  world = await openConsole()
})
afterAll(() => world.close())

const formType = 'application/x-www-form-urlencoded'
const ofBrowser = { 'content-type': formType, accept: 'text/html,*/*;q=0.8' }
const signInForm = (fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = ofBrowser) =>
  world.stack.auth.send('/sessions', { method: 'POST', body: new URLSearchParams(fields).toString(), headers })

it('shows a refused sign-in as a page, with the user name and without the password', async () => {
  const password = 'not the password'
  const reply = await signInForm({ username: '<b>alice</b>', password, return_to: world.url('/console/tasks?x=1') })
  expectPage(reply, 401, 'There is a problem', '&lt;b&gt;alice&lt;/b&gt;', world.url('/console/tasks?x=1'))
  expect(reply.text).not.toContain(password)
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect(reply.headers.getSetCookie()).toEqual([])
})

it('answers programs that send the form with a problem document', async () => {
  const reply = await signInForm({ username: 'alice', password: 'not the password' }, { 'content-type': formType })
  expect(reply.status).toBe(401)
  expect(reply.headers.get('content-type')).toBe('application/problem+json')
})

it('offers no way to other sites', async () => {
  for (const target of [
    'https://evil.test/',
    '//evil.test',
    'javascript:alert(1)',
    world.url('/').replace('http', 'xx'),
  ]) {
    const reply = await world.stack.auth.send(`/account/sign-in?${new URLSearchParams({ return_to: target })}`)
    expectPage(reply, 200)
    expect(reply.text).not.toContain('evil')
    expect(reply.text).not.toContain('javascript:')
  }
})

it('leads a reader without a session to the sign-in page, and back to the page with its query', async () => {
  const reply = await world.stack.deal.send('/console/tasks?limit=5')
  expect(reply.status).toBe(303)
  const target = new URL(reply.headers.get('location') ?? '')
  expect(target.origin + target.pathname).toBe(world.url('/account/sign-in'))
  expect(target.searchParams.get('return_to')).toBe(world.url('/console/tasks?limit=5'))
})

it('accepts no other credential for a page than the session', async () => {
  const { access } = await world.stack.logIn('alice')
  const reply = await world.stack.deal.send('/console/tasks', { token: access })
  expect(reply.status).toBe(303)
})

it('says on a page that there is no such page, and which right is missing', async () => {
  const reader = await world.readAs('alice')
  expectPage(await reader.get('/console/nowhere'), 404, 'There is no such page')
  expectPage(await reader.get('/account/nowhere'), 404, 'There is no such page')
  expectPage(await reader.get('/console/tasks?limit=many'), 400, 'limit')
})

it('serves no page from a cache, and no script, style or picture from elsewhere', async () => {
  const reader = await world.readAs('alice')
  for (const path of ['/console/tasks', '/account', '/account/sign-in', '/console/nowhere']) {
    const { status, headers, text } = await reader.get(path)
    expect(status, path).toBe(path.endsWith('nowhere') ? 404 : 200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'self'/)
    expect(text).not.toMatch(/<style|\sstyle=|<script(?![^>]*\ssrc="\/)|\son\w+=/)
    expect(Buffer.byteLength(text)).toBeLessThan(50_000)
  }
})

it('clears nothing of the deal server for a page of another site', async () => {
  for (const [site, cleared] of [
    ['cross-site', null],
    ['same-site', '"cache", "storage"'],
  ] as const) {
    const reply = await world.stack.deal.send('/console/signed-out', { headers: { 'sec-fetch-site': site } })
    expect([reply.status, reply.headers.get('clear-site-data')]).toEqual([303, cleared])
    expect(reply.headers.get('location')).toBe(world.url('/account/sign-in?signed-out=yes'))
  }
})

it('leads /console of the auth server to the account', async () => {
  const reply = await world.stack.auth.send('/console')
  expect([reply.status, reply.headers.get('location')]).toEqual([303, '/account'])
})

it.each([
  ['deal', '/console/deals'],
  ['auth', '/account/sessions'],
] as const)(
  'tells a reader with two session cookies the way out, and expires both, on the %s server',
  async (name, path) => {
    const { cookie } = await signIn(world.stack, 'alice')
    const two = `keyhold_session=${'A'.repeat(43)}; ${cookie}`
    const reply = await world.stack[name].send(path, { headers: { cookie: two, accept: 'text/html' } })
    expectPage(reply, 400, 'More than one credential', 'sign in again', 'delete the cookies of this site')
    const [first = ''] = path.slice(1).split('/')
    for (const place of ['/', `/${first}`, path]) {
      expect(reply.headers.getSetCookie()).toContain(
        `keyhold_session=; Path=${place}; HttpOnly; SameSite=Lax; Max-Age=0`,
      )
    }
  },
)
