import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rememberSecret } from '../support/clients/http-client.ts'
import { markupCorpus, shownErrors, shownSecrets, showsAsText, unescaped } from '../support/clients/pages/page-text.ts'
import { signIn } from '../support/clients/pages/sign-in.ts'
import { asApplication } from '../support/clients/tool-calls.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'
import { passwordOf } from '../support/worlds/stack.ts'

let world: ConsoleWorld
let admin: PageReader

beforeAll(async () => {
  world = await openConsole()
  admin = await world.readAs('admin')
})
afterAll(() => world.close())

const password = 'a good phrase for new users'
rememberSecret(password)

/** All characters that user names can have, where a spreadsheet or a path would take them for something else. */
const oddNames = ['@SUM.1-1', '-1.2@x', '_._', 'a..b', 'new', 'sessions', 'x'.repeat(64)]

const create = (username: string, fields: Readonly<Record<string, string>> = {}) =>
  admin.post('/account/users', { username, password, enabled: 'true', ...fields })

const pageOf = (username: string) => `/account/users/${encodeURIComponent(username)}`
const act = (username: string, action: string, fields: Readonly<Record<string, string>> = {}) =>
  admin.postShown(pageOf(username), { action, ...fields })

it('shows each page only to holders of its right, names the right, and hides the way to it from others', async () => {
  const pages = {
    '/account/users': 'user.manage',
    '/account/users?new=yes': 'user.manage',
    '/account/users/bob': 'user.manage',
    '/account/users/bob/sessions': 'session.manage',
    '/account/users/bob/api-keys': 'api-key.manage',
    '/account/roles': 'user.manage',
    '/account/roles?new=yes': 'user.manage',
    '/account/roles/viewer': 'user.manage',
    '/account/resource-servers': 'resource-server.manage',
    '/account/resource-servers?new=yes': 'resource-server.manage',
    '/account/resource-servers/deals': 'resource-server.manage',
    '/account/services': 'resource-server.manage',
    '/account/services?new=yes': 'resource-server.manage',
    '/account/clients': 'client.manage',
    '/account/clients?new=yes': 'client.manage',
    '/account/all-api-keys': 'api-key.manage',
    '/account/all-api-keys/new': 'api-key.manage',
    '/account/audit': 'audit.read',
    '/account/audit/export?format=csv': 'audit.read',
    '/account/keys': 'key.read',
  }
  const alice = await world.readAs('alice')
  const { text } = await alice.get('/account')
  for (const [path, right] of Object.entries(pages)) {
    expectPage(await alice.get(path), 403, right)
    expect(text).not.toContain(`href="${path}"`)
    expect((await admin.get(path)).status, path).toBe(200)
  }
  for (const [path, fields] of [
    ['/account/users', { username: 'eve', password }],
    ['/account/users/bob', { action: 'disable' }],
    ['/account/users/bob/sessions', { action: 'end-all' }],
    ['/account/roles', { name: 'own' }],
    ['/account/roles/viewer', { action: 'change' }],
    ['/account/resource-servers', { id: 'own' }],
    ['/account/resource-servers/deals', { action: 'delete', confirm: 'deals' }],
    ['/account/services', { name: 'own', resourceServer: 'deals' }],
    ['/account/clients', { name: 'own', redirectUris: 'https://own.example/' }],
    ['/account/all-api-keys/new', { material: 'hmac', reach: 'all', username: 'bob' }],
  ] as const)
    expectPage(await alice.post(path, fields), 403)
  expectPage(await admin.get('/account'), 200, 'href="/account/users"', 'href="/account/audit"', 'href="/account/keys"')
})

describe('users', () => {
  it('are created, with errors at the field at fault', async () => {
    for (const [username, fields, field] of [
      ['', {}, 'username'],
      ['<b>eve</b>', {}, 'username'],
      ['..', {}, 'username'],
      ['alice', {}, 'username'],
      ['anonymous', {}, 'username'],
      ['eve', { password: '' }, 'password'],
      ['eve', { password: 'eve12345' }, 'password'],
    ] as const) {
      const page = await create(username, fields)
      expect([page.status >= 400, Object.keys(shownErrors(page.text))], username).toEqual([true, [field]])
      expect(page.text).not.toContain(password)
    }
    const kept = await create('<i>x', { 'roles.agent': 'true', 'rights.audit.read': 'true' })
    expect(kept.text).toMatch(/name="roles\.agent"[^>]* checked/)
    expect(kept.text).toMatch(/name="rights\.audit\.read"[^>]* checked/)
    expect(showsAsText(kept.text, '<i>x')).toBe(true)
    const reply = await create('eve', { 'roles.agent': 'true', 'rights.audit.read': 'true' })
    expect([reply.status, reply.headers.get('location')]).toEqual([303, '/account/users/eve?done=user-created'])
    await world.stack.logIn('eve', password)
  })

  it('have pages whatever their names', async () => {
    for (const name of oddNames) {
      expect((await create(name)).status, name).toBe(303)
      expectPage(await admin.get(pageOf(name)), 200, name, 'Roles and rights')
      expectPage(await admin.get(`${pageOf(name)}/sessions`), 200, 'There are no sessions')
      expectPage(await admin.get(`${pageOf(name)}/api-keys`), 200, 'There are no API keys')
    }
    for (const name of [...markupCorpus, 'nobody']) {
      const page = await admin.get(pageOf(name))
      expect([303, 400, 404], name).toContain(page.status)
      if (/[<"]/.test(name)) expect(page.text, name).not.toContain(name)
    }
  })

  it('are searched by name, role and state', async () => {
    await create('findable-1', { 'roles.viewer': 'true' })
    await create('findable-2', { enabled: '' })
    const names = async (query: string) => {
      const page = await admin.get(`/account/users?${query}`)
      return ['findable-1', 'findable-2', 'alice'].filter((name) => page.text.includes(`/account/users/${name}"`))
    }
    expect(await names('q=FINDABLE')).toEqual(['findable-1', 'findable-2'])
    expect(await names('q=findable&role=viewer&enabled=')).toEqual(['findable-1'])
    expect(await names('q=findable&enabled=false')).toEqual(['findable-2'])
    expect(await names('role=manager')).toEqual(['alice'])
    for (const text of markupCorpus) {
      const page = await admin.get(`/account/users?${new URLSearchParams({ q: text })}`)
      expect([page.status, Object.keys(shownErrors(page.text))], text).toEqual([400, ['q']])
      expect(showsAsText(page.text, text), text).toBe(true)
    }
    expectPage(await admin.get('/account/users?role=king'), 400)
    expectPage(await admin.get('/account/users?cursor=x'), 400)
  })

  it('get roles and rights, and lose them', async () => {
    await create('frank')
    const grants = await act('frank', 'grants', { 'roles.viewer': 'true', 'rights.deal.hold': 'true' })
    expect(grants.headers.get('location')).toBe('/account/users/frank?done=user-changed')
    const page = await admin.get(pageOf('frank'))
    expect(page.text).toMatch(/name="roles\.viewer"[^>]* checked/)
    expect(page.text).toMatch(/name="rights\.deal\.hold"[^>]* checked/)
    expect(page.text).not.toMatch(/name="roles\.admin"[^>]* checked/)
    expect((await act('frank', 'grants')).status).toBe(303)
    const without = (await admin.get(pageOf('frank'))).text.replace(/value="" checked/g, '')
    expect(without).not.toMatch(/ checked/)
    const narrow = { 'rights.deal.hold': 'own', 'rights.deal.cancel': '' }
    expect((await act('frank', 'grants', narrow)).status).toBe(303)
    const own = (await admin.get(pageOf('frank'))).text.replace(/value="" checked/g, '')
    expect([...own.matchAll(/name="([^"]+)" value="([^"]+)" checked/g)].map(([, ...found]) => found)).toEqual([
      ['rights.deal.hold', 'own'],
    ])
    expect((await act('frank', 'grants')).status).toBe(303)
    const refused = await act('admin', 'grants', { 'roles.viewer': 'true' })
    expectPage(refused, 409, 'There is a problem')
  })

  it('are disabled and enabled, logged out, and deleted by their typed name', async () => {
    await create('gina')
    const session = await signIn(world.stack, 'gina', { json: { username: 'gina', password } })
    const isIn = async () => (await world.stack.auth.send('/account', { headers: { cookie: session.cookie } })).status
    expectPage(await admin.get(`${pageOf('gina')}/sessions`), 200, 'Browser')
    expect((await admin.post(`${pageOf('gina')}/sessions`, { action: 'end', id: session.id })).status).toBe(303)
    expect(await isIn()).toBe(303)
    expectPage(await admin.post(`${pageOf('gina')}/sessions`, {}), 404)
    for (const [action, fields, done] of [
      ['disable', {}, 'user-disabled'],
      ['enable', {}, 'user-enabled'],
      ['log-out', {}, 'user-logged-out'],
      ['factors', {}, 'user-factors-removed'],
      ['log-out', { everything: 'true' }, 'user-credentials-ended'],
    ] as const)
      expect((await act('gina', action, fields)).headers.get('location')).toBe(`/account/users/gina?done=${done}`)
    for (const confirm of ['', 'gin', '<script>'])
      expect(Object.keys(shownErrors((await act('gina', 'delete', { confirm })).text))).toEqual(['delete-confirm'])
    for (const action of ['', 'toString', 'remove']) expectPage(await act('gina', action), 200)
    expect((await act('gina', 'delete', { confirm: 'gina' })).headers.get('location')).toBe(
      '/account/users?done=user-deleted',
    )
    expectPage(await admin.get(pageOf('gina')), 404)
  })

  it('who failed too often are shown with the end of the lock, and unlocked', async () => {
    await create('ivy')
    expect((await admin.get(pageOf('ivy'))).text).not.toMatch(/Locked until|Unlock/)
    const logIn = (word: string) => world.stack.auth.send('/login', { json: { username: 'ivy', password: word } })
    for (let time = 0; time < 11; time += 1) await logIn('not the password')
    expect((await logIn(password)).status).toBe(429)
    expectPage(await admin.get(pageOf('ivy')), 200, 'Locked until', 'Unlock')
    expect((await act('ivy', 'unlock')).headers.get('location')).toBe('/account/users/ivy?done=user-unlocked')
    expect((await admin.get(pageOf('ivy'))).text).not.toMatch(/Locked until/)
    expect((await logIn(password)).status).toBe(200)
  })

  it('get a Digest secret and a one-time link, each shown once', async () => {
    await create('hugo')
    const digest = await act('hugo', 'digest', { password: passwordOf('admin') })
    expectPage(digest, 200, 'The Digest secret is made')
    expect(shownSecrets(digest.text)).toHaveLength(1)
    const wrong = await act('hugo', 'digest', { password: 'not the password' })
    expect(Object.keys(shownErrors(wrong.text))).toEqual(['digest-password'])
    const page = await act('hugo', 'reset')
    expectPage(page, 200, 'The one-time link is made')
    const [link = '', code = ''] = shownSecrets(page.text)
    expect(link).toBe(`${world.stack.auth.url}/account/reset-password#${code}`)
    const reset = (fields: Readonly<Record<string, string>>) =>
      world.stack.auth.send('/account/reset-password', {
        method: 'POST',
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
      })
    const newPassword = 'what hugo wants it to be'
    rememberSecret(newPassword)
    for (const [fields, field] of [
      [{ code, newPassword, again: 'another' }, 'again'],
      [{ code, newPassword: 'short', again: 'short' }, 'newPassword'],
      [{ code: '"><script>', newPassword, again: newPassword }, 'code'],
      [{ code: '', newPassword, again: newPassword }, 'code'],
    ] as const) {
      const refused = await reset(fields)
      expect(Object.keys(shownErrors(refused.text)), field).toEqual([field])
      expect(refused.text).not.toContain('"><script>')
      expect(refused.text).not.toContain(newPassword)
    }
    expectPage(await reset({ code, newPassword, again: newPassword }), 200, 'The new password is set.')
    const again = await reset({ code, newPassword, again: newPassword })
    expect([again.status, Object.keys(shownErrors(again.text))]).toEqual([403, ['code']])
    await world.stack.logIn('hugo', newPassword)
    const own = await act('admin', 'reset')
    expect([own.status >= 400, own.text.includes('There is a problem')]).toEqual([true, true])
  })
})

it('makes and revokes API keys of others, and lists those of everybody or of one owner', async () => {
  const fields = { username: 'bob', name: 'of <b>bob</b>', material: 'hmac', 'rights.deal.read': 'true' }
  const page = await admin.post('/account/all-api-keys/new', fields)
  expectPage(page, 200, 'The API key is made', 'bob')
  shownSecrets(page.text)
  const path = /\/account\/all-api-keys\/[0-9a-f-]{36}/.exec(page.text)?.[0] ?? ''
  expect(showsAsText((await admin.get('/account/all-api-keys?username=bob')).text, 'of <b>bob</b>')).toBe(true)
  expect((await admin.get('/account/all-api-keys?username=carol')).text).not.toContain(path)
  const odd = await admin.get('/account/all-api-keys?username=%3Cb%3E')
  expect([odd.status, Object.keys(shownErrors(odd.text))]).toEqual([400, ['username']])
  expectPage(odd, 400, '&lt;b&gt;')
  expectPage(await admin.get('/account/users/bob/api-keys'), 200, path)
  const unknown = await admin.post('/account/all-api-keys/new', { ...fields, username: 'nobody' })
  expectPage(unknown, 404, 'There is a problem')
  expect((await admin.post(path, { action: 'revoke' })).headers.get('location')).toBe(
    '/account/all-api-keys?done=key-revoked',
  )
})

describe('the audit log', () => {
  it('is shown by actor, action, target and time, with texts of others as text', async () => {
    await create('ida')
    await act('ida', 'disable')
    const shown = async (query: Readonly<Record<string, string>>) => {
      const page = await admin.get(`/account/audit?${new URLSearchParams(query)}`)
      expectPage(page, 200)
      return page.text
    }
    const text = await shown({ target: 'ida', action: 'user.*' })
    expect(text).toContain('created a user')
    expect(text.indexOf('changed a user')).toBeLessThan(text.indexOf('created a user'))
    expect(text).toContain('href="/account/users/ida"')
    const oldest = await shown({ target: 'ida', order: 'asc', actor: 'admin', from: '2020-01-01T00:00' })
    expect(oldest.indexOf('created a user')).toBeLessThan(oldest.indexOf('changed a user'))
    expect(await shown({ target: 'ida', to: '2020-01-01T00:00' })).toContain('No entry is like that.')
    expect(await shown({ action: 'session.started' })).not.toContain('created a user')
    expect(await shown({ target: 'ida', outcome: 'missing-right' })).toContain('No entry is like that.')
    expect(text).toContain('enabled true → false')
    const clerk = await asApplication((await world.stack.logIn('admin')).access, { client_name: 'Clerk <b>' })
    await world.stack.auth.send('/users/ida', { method: 'PATCH', token: clerk, json: { enabled: true } })
    expect((await shown({ target: 'ida' })).match(/admin<\/a><\/span>, by Clerk &lt;b&gt;/g)).toHaveLength(1)
    await world.stack.auth.send('/login', { json: { username: 'ida', password: 'not that of ida' } })
    const guess = await shown({ target: 'ida', action: 'login.started' })
    expect(guess).toMatch(/tried to log in for tokens <span class="hint">login.started<\/span> /)
    expect(guess).not.toContain('logged in for tokens')
    const names = ['actor', 'target', 'action', 'outcome', 'from', 'to', 'order', 'cursor']
    for (const [index, wrong] of markupCorpus.entries()) {
      const query = Object.fromEntries(
        names.filter((_, at) => index === 0 || at % 4 === index % 4).map((name) => [name, wrong]),
      )
      const page = await admin.get(`/account/audit?${new URLSearchParams(query)}`)
      expect([page.status, page.text.includes('There is a problem')], wrong).toEqual([400, true])
      if (/[<"]/.test(wrong)) expect(page.text, wrong).not.toContain(wrong)
    }
  })

  it('is exported as CSV without formulas, and as NDJSON', async () => {
    const entries = async (format: string, query = '') => {
      const { status, headers, text } = await admin.get(`/account/audit/export?format=${format}${query}`)
      expect([status, headers.get('content-disposition')]).toEqual([200, `attachment; filename="audit.${format}"`])
      return text
    }
    const lines = (await entries('ndjson'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.length).toBeGreaterThan(20)
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => lines.length - index))
    const csv = await entries('csv', '&action=user.*&order=asc')
    expect(csv.split('\r\n')[0]).toBe(
      'seq,at,actor,action,target,outcome,scheme,address,requestId,count,reason,changes,client',
    )
    expect(csv).toContain(",'@SUM.1-1,")
    expect(csv).toContain(",'-1.2@x,")
    expect(csv).toContain(',enabled false → true,Clerk <b>\r\n')
    expect(csv).not.toContain('session.started')
    expectPage(await admin.get('/account/audit/export?format=csv&actor=%3Cb%3E'), 400)
  })

  it('leads from page to page with its filters', async () => {
    const text = (await admin.get('/account/audit?target=ida&order=asc&limit=1')).text
    const next = unescaped(/<a rel="next" href="([^"]*)"/.exec(text)?.[1] ?? '')
    expect(next).toContain('target=ida&order=asc&limit=1&cursor=')
    const second = await admin.get(next)
    expectPage(second, 200, 'First page')
    expect(second.text).not.toContain('created a user')
  })
})

it('shows the key ring with states, the next step and what an operator runs', async () => {
  const page = await admin.get('/account/keys')
  expectPage(page, 200, 'active', 'Make its successor', 'ops keys rotate', 'ops keys generate --use jwt')
  expect(page.text).not.toMatch(/<button type="submit"(?! class="quiet">Sign out)/)
})

describe('roles and resource servers', () => {
  const servers = '/account/resource-servers'
  const invoices = { id: 'invoices', name: 'Invoices', audience: 'urn:example:invoices' }
  const rights = {
    readingRights: 'invoice.read Read invoices\n\n',
    rights: ' invoice.approve  Approve <b>invoices</b>\r\ninvoice.create',
  }

  it('of a service are registered, with errors at the field at fault, and changed', async () => {
    for (const [fields, field] of [
      [{ id: 'In Voices' }, 'id'],
      [{ audience: 'none' }, 'audience'],
      [{ name: '' }, 'name'],
      [{ rights: 'approve' }, 'rights'],
    ] as const) {
      const page = await admin.post(servers, { ...invoices, ...rights, ...fields })
      expect([page.status, Object.keys(shownErrors(page.text))], field).toEqual([422, [field]])
    }
    expect((await admin.post(servers, { ...invoices, ...rights })).headers.get('location')).toBe(
      '/account/resource-servers/invoices?done=server-created',
    )
    expectPage(await admin.post(servers, { ...invoices, ...rights }), 409)
    const page = await admin.get(`${servers}/invoices`)
    expectPage(page, 200, 'invoice.read Read invoices', 'invoice.create')
    expect(showsAsText(page.text, 'invoice.approve Approve <b>invoices</b>')).toBe(true)
    expectPage(await admin.get(servers), 200, 'urn:example:invoices')
    const change = { action: 'change', ...invoices, ...rights, name: 'Bills', readingRights: '' }
    expect((await admin.postShown(`${servers}/invoices`, change)).status).toBe(303)
    expect((await admin.get(`${servers}/invoices`)).text).not.toContain('invoice.read')
  })

  it('of the pair keep their audience and rights', async () => {
    const page = await admin.get(`${servers}/deals`)
    expectPage(page, 200, 'deal.read Read deals')
    expectPage(
      await admin.postShown(`${servers}/deals`, { action: 'change', name: 'Deals', audience: 'deals', rights: '' }),
      409,
    )
    expectPage(await admin.postShown(`${servers}/deals`, { action: 'delete', confirm: 'deals' }), 409)
  })

  it('are given by roles, which are created, changed and deleted by their typed name', async () => {
    expect(Object.keys(shownErrors((await admin.post('/account/roles', { name: 'A b' })).text))).toEqual(['name'])
    const role = { name: 'approver', description: 'Approves', 'rights.invoice.approve': 'true' }
    expect((await admin.post('/account/roles', role)).headers.get('location')).toBe(
      '/account/roles/approver?done=role-created',
    )
    expect(Object.keys(shownErrors((await admin.post('/account/roles', role)).text))).toEqual(['name'])
    const path = '/account/roles/approver'
    expect((await admin.get(path)).text).toMatch(/name="rights\.invoice\.approve"[^>]* checked/)
    const change = { action: 'change', description: 'Creates', 'rights.invoice.create': 'true' }
    expect((await admin.postShown(path, change)).status).toBe(303)
    const { text } = await admin.get(path)
    expect(text).toMatch(/name="rights\.invoice\.create"[^>]* checked/)
    expect(text).not.toMatch(/name="rights\.invoice\.approve"[^>]* checked/)
    expectPage(await admin.get('/account/users?new=yes'), 200, 'approver')
    expectPage(await admin.postShown('/account/roles/admin', { action: 'change' }), 409)
    const wrong = await admin.post(path, { action: 'delete', confirm: 'viewer' })
    expect(Object.keys(shownErrors(wrong.text))).toEqual(['delete-confirm'])
    expect((await admin.postShown(path, { action: 'delete', confirm: 'approver' })).status).toBe(303)
    expect((await admin.get(path)).status).toBe(404)
    expect((await admin.postShown(`${servers}/invoices`, { action: 'delete', confirm: 'invoices' })).status).toBe(303)
    expect((await admin.get(`${servers}/invoices`)).status).toBe(404)
  })
})
