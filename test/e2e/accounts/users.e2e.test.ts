import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Sent } from '../../support/clients/http-client.ts'
import { postForm } from '../../support/clients/oauth-requests.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string
let count = 0

const readDeals = (token: string) => stack.deal.send('/rest/v1/deals', { token })
const asAdmin = (path: string, sent: Sent = {}) => stack.auth.send(path, { token: admin, ...sent })
const patch = (username: string, json: unknown) => asAdmin(`/users/${username}`, { method: 'PATCH', json })
const putPassword = (username: string, sent: Sent) =>
  stack.auth.send(`/users/${username}/password`, { method: 'PUT', ...sent })

/** A new user with a name of its own. */
const create = async (more: object = {}) => {
  const username = `user-${++count}`
  const password = `the password of ${username}`
  const reply = await asAdmin('/users', { json: { username, password, roles: ['viewer'], ...more } })
  expect(reply.status).toBe(201)
  return { username, password, reply }
}

describeBackends('administration of users', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it('creates a user who can log in and has the rights of roles and direct ones together', async () => {
    const { username, password, reply } = await create({ rights: ['deal.hold'] })
    expect(reply.headers.get('location')).toBe(`/users/${username}`)
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      username,
      displayName: null,
      email: null,
      emailVerified: false,
      roles: ['viewer'],
      rights: ['deal.hold'],
      enabled: true,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: reply.body.createdAt,
    })
    const { access } = await stack.logIn(username, password)
    const { body } = await stack.auth.send('/me', { token: access })
    expect(body.rights).toEqual(['deal.read', 'deal.history.read', 'deal.hold'])
    expect((await asAdmin(`/users/${username.toUpperCase()}`)).body).toEqual(reply.body)
  })

  it('refuses values that are no good before it looks at the right', async () => {
    const { access: token } = await stack.logIn('alice')
    const [username, password] = ['bob', 'a good long password']
    const wrong: [string, string, object, string[]][] = [
      [
        'POST',
        '/users',
        { username: 'a b', password: 'short', rights: ['no'] },
        ['/username', '/password', '/rights/0'],
      ],
      ['PATCH', '/users/bob', { roles: ['viewer', 'no'] }, ['/roles/1']],
      ['PUT', '/users/bob/password', { newPassword: 'short' }, ['/newPassword']],
      ['POST', '/api-keys', { kind: 'hmac', username, rights: ['no'] }, ['/rights/0']],
    ]
    for (const [method, path, json, pointers] of wrong) {
      const reply = await stack.auth.send(path, { method, token, json })
      expectProblem(reply, 422, 'invalid-value')
      expect((reply.body.errors as { pointer: string }[]).map(({ pointer }) => pointer)).toEqual(pointers)
    }
    const good: [string, string, object][] = [
      ['POST', '/users', { username: 'a-b', password }],
      ['PATCH', '/users/nobody', { roles: ['viewer'] }],
      ['PUT', '/users/nobody/password', { newPassword: password }],
      ['POST', '/api-keys', { kind: 'hmac', username }],
    ]
    for (const [method, path, json] of good)
      expectProblem(await stack.auth.send(path, { method, token, json }), 403, 'missing-right')
  })

  it('keeps a name and an address, which only the one request for them can call verified', async () => {
    const email = "erin.o'hara+work@mail.example.org"
    const { username, password, reply } = await create({ displayName: '  Erin O’Hara ', email: ` ${email} ` })
    expect(reply.body).toMatchObject({ displayName: 'Erin O’Hara', email, emailVerified: false })
    const { access: token } = await stack.logIn(username, password)
    const me = async () => {
      const { body } = await stack.auth.send('/me', { token })
      return [body.displayName, body.email, body.emailVerified]
    }
    expect(await me()).toEqual(['Erin O’Hara', email, false])
    const steps: [object, object][] = [
      [{ emailVerified: true }, { email, emailVerified: true }],
      [
        { displayName: 'Erin', email },
        { displayName: 'Erin', email, emailVerified: true },
      ],
      [{ email: 'erin@localhost' }, { email: 'erin@localhost', emailVerified: false }],
      [
        { email, emailVerified: true },
        { email, emailVerified: true },
      ],
      [{ displayName: null }, { displayName: null, email, emailVerified: true }],
      [{ email: null }, { email: null, emailVerified: false }],
    ]
    for (const [json, changed] of steps) expect((await patch(username, json)).body).toMatchObject(changed)
    expect(await me()).toEqual([undefined, undefined, undefined])
    // Several users may have one address.
    const [first, second] = [await create({ email, emailVerified: true }), await create({ email })]
    expect([first.reply.body.emailVerified, second.reply.body.emailVerified]).toEqual([true, false])
  })

  it('shows a narrowed credential no name and no address', async () => {
    const { username } = await create({ email: 'nora@example.org' })
    const { body: key } = await asAdmin('/api-keys', { json: { kind: 'hmac', username, rights: ['deal.read'] } })
    const form = { grant_type: 'client_credentials', client_id: String(key.id), client_secret: String(key.secret) }
    const { body: issued } = await postForm(stack, '/oauth/token', form)
    const { status, body } = await stack.auth.send('/me', { token: String(issued.access_token) })
    expect([status, body.username, 'email' in body]).toEqual([200, username, false])
  })

  it.each([
    ['/displayName', { displayName: '' }],
    ['/displayName', { displayName: 'two\nlines' }],
    ['/displayName', { displayName: 'x'.repeat(101) }],
    ['/email', { email: '' }],
    ['/email', { email: 'nobody' }],
    ['/email', { email: 'a@b@example.org' }],
    ['/email', { email: 'a b@example.org' }],
    ['/email', { email: 'a\r\nbcc:b@example.org' }],
    ['/email', { email: 'a\u0000@example.org' }],
    ['/email', { email: '.a@example.org' }],
    ['/email', { email: 'a..b@example.org' }],
    ['/email', { email: 'a@example' }],
    ['/email', { email: 'a@.example.org' }],
    ['/email', { email: `${'a'.repeat(243)}@example.org` }],
    ['/emailVerified', { emailVerified: true }],
    ['/emailVerified', { emailVerified: true, email: null }],
  ])('refuses at %s: %j', async (pointer, wrong) => {
    const creation = await asAdmin('/users', {
      json: { username: 'never-created', password: 'a good long password', ...wrong },
    })
    for (const reply of [creation, await patch('bob', wrong)]) {
      expectProblem(reply, 422, 'invalid-value')
      expect(reply.body.errors).toMatchObject([{ pointer }])
    }
  })

  it('ends everything of a user who is disabled, and a user enabled again logs in again', async () => {
    const { username, password } = await create()
    const tokens = await stack.logIn(username, password)
    expect((await patch(username, { enabled: false })).body.enabled).toBe(false)
    expectProblem(await readDeals(tokens.access), 401, 'principal-disabled')
    expectProblem(await stack.auth.send('/me', { token: tokens.access }), 401, 'principal-disabled')
    expectProblem(await stack.auth.send('/refresh', { method: 'POST', token: tokens.refresh }), 400, 'invalid_grant')
    await patch(username, { enabled: true })
    // What was given is there within a second; what was taken away, at once.
    await eventually(async () => expectProblem(await readDeals(tokens.access), 401, 'login-ended'))
    expect((await readDeals((await stack.logIn(username, password)).access)).status).toBe(200)
  })

  it('deletes a user: its tokens are dead, also when a user of that name is created again', async () => {
    const { username, password, reply } = await create()
    const { access } = await stack.logIn(username, password)
    expect((await asAdmin(`/users/${username}`, { method: 'DELETE' })).status).toBe(204)
    expectProblem(await readDeals(access), 401, 'principal-disabled')
    expectProblem(await asAdmin(`/users/${username}`), 404, 'not-found')
    expectProblem(await asAdmin(`/users/${username}`, { method: 'DELETE' }), 404, 'not-found')
    expectProblem(await patch(username, { roles: [] }), 404, 'not-found')
    const again = await asAdmin('/users', { json: { username, password, roles: ['viewer'] } })
    expect(again.body.id).not.toBe(reply.body.id)
    expectProblem(await readDeals(access), 401, 'login-ended')
  })

  describe('passwords', () => {
    const newPassword = 'a new and better password'

    it('lets a user change the own one with the old one; that login alone goes on', async () => {
      const { username, password: oldPassword } = await create()
      const [own, other] = [await stack.logIn(username, oldPassword), await stack.logIn(username, oldPassword)]
      const reply = await putPassword(username, { token: own.access, json: { oldPassword, newPassword } })
      expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' })
      expect((await readDeals(own.access)).status).toBe(200)
      expectProblem(await readDeals(other.access), 401, 'login-ended')
      const refreshed = await stack.auth.send('/refresh', { method: 'POST', token: own.refresh })
      expect((await readDeals(String(refreshed.body.access_token))).status).toBe(200)
      const old = await stack.auth.send('/login', { json: { username, password: oldPassword } })
      expectProblem(old, 401, 'invalid-credentials')
      await stack.logIn(username, newPassword)
    })

    it('wants the old one of everybody who changes their own, an administrator too', async () => {
      for (const [username, spelt] of [
        ['alice', 'alice'],
        ['admin', 'ADMIN'],
      ] as const) {
        const { access: token } = await stack.logIn(username)
        const missing = await putPassword(spelt, { token, json: { newPassword } })
        expectProblem(missing, 400, 'invalid-body')
        expect(missing.body.errors).toMatchObject([{ pointer: '/oldPassword', code: 'missing-member' }])
      }
    })

    it('lets an administrator set one, which ends everything; nobody else', async () => {
      const { username, password } = await create()
      const { access } = await stack.logIn(username, password)
      const { access: token } = await stack.logIn('alice')
      expectProblem(await putPassword(username, { token, json: { newPassword } }), 403, 'missing-right')
      expect((await putPassword(username, { token: admin, json: { newPassword } })).status).toBe(204)
      expectProblem(await readDeals(access), 401, 'login-ended')
      await stack.logIn(username, newPassword)
      const noSuch = await putPassword('nobody-there', { token: admin, json: { newPassword } })
      expectProblem(noSuch, 404, 'not-found')
    })
  })

  it('keeps the last enabled admin, whichever way one tries to lose it', async () => {
    expectProblem(await asAdmin('/users/admin', { method: 'DELETE' }), 409, 'last-admin')
    expectProblem(await patch('admin', { enabled: false }), 409, 'last-admin')
    expectProblem(await patch('admin', { roles: ['manager'] }), 409, 'last-admin')
    const { username, password } = await create({ roles: ['admin'] })
    expect((await patch('admin', { roles: ['manager'], rights: ['user.manage'] })).status).toBe(200)
    expectProblem(await asAdmin(`/users/${username}`, { method: 'DELETE' }), 409, 'last-admin')
    const json = { roles: ['admin'], rights: [] }
    expectProblem(await patch('admin', json), 403, 'missing-right')
    const { access: token } = await stack.logIn(username, password)
    const restored = await stack.auth.send('/users/admin', { method: 'PATCH', token, json })
    expect(restored.status).toBe(200)
    expect((await asAdmin(`/users/${username}`, { method: 'DELETE' })).status).toBe(204)
  })
})
