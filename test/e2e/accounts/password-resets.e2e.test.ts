import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../../support/clients/http-client.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string
let count = 0

const asAdmin = (path: string, sent: Sent = {}) => stack.auth.send(path, { token: admin, ...sent })
const newPassword = 'a password after the link'

interface NewUser {
  readonly username: string
  readonly password: string
}

const create = async (more: object = {}): Promise<NewUser> => {
  const username = `User-${++count}`
  const password = `the password of ${username}`
  expect((await asAdmin('/users', { json: { username, password, roles: ['viewer'], ...more } })).status).toBe(201)
  return { username, password }
}
const makeLink = async (username: string): Promise<string> => {
  const reply = await asAdmin(`/users/${username}/password-reset`, { method: 'POST' })
  expect(reply.status, reply.text).toBe(201)
  return String(reply.body.code)
}
const useLink = (code: unknown, password: unknown = newPassword, headers = {}): Promise<Reply> =>
  stack.auth.send('/password-resets', { json: { code, newPassword: password }, headers })
const logInWith = (username: string, password: string) => stack.auth.send('/login', { json: { username, password } })

interface Entry {
  readonly actor: string | null
  readonly action: string
  readonly target: string | null
  readonly outcome: string
}
const entriesOf = async (target: string): Promise<unknown[][]> => {
  const { body } = await asAdmin(`/audit?action=user.password*&target=${target}`)
  return (body.items as Entry[]).map(({ actor, action, outcome }) => [actor, action, outcome])
}

describeBackends('a link for a forgotten password', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, {
      inProcess: true,
      environment: { LOGIN_FAILURES_PER_ADDRESS: '20/600', TRUST_PROXY: '1' },
    })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it('lets its user set a new password once, ends all logins, and stands in the audit log', async () => {
    const { username, password } = await create()
    const { access } = await stack.logIn(username, password)
    const reply = await asAdmin(`/users/${username.toLowerCase()}/password-reset`, { method: 'POST' })
    const { code, link, expiresAt } = reply.body
    expect(code).toMatch(/^[\w-]{43}$/)
    expect(link).toBe(`${stack.environment.AUTH_PUBLIC_ORIGIN ?? stack.auth.url}/account/reset-password#${code}`)
    expect(Date.parse(String(expiresAt)) - stack.clock.now()).toBeLessThanOrEqual(3_600_000)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect((await stack.auth.send('/me', { token: access })).status).toBe(200)

    expect((await useLink(code)).status).toBe(204)
    expectProblem(await stack.auth.send('/me', { token: access }), 401, 'login-ended')
    expect((await logInWith(username, password)).status).toBe(401)
    expect((await logInWith(username, newPassword)).status).toBe(200)
    expectProblem(await useLink(code), 403, 'invalid-reset-code')
    expect(await entriesOf(username)).toEqual([
      ['admin', 'user.password-reset-made', 'succeeded'],
      [username, 'user.password-reset', 'succeeded'],
    ])
    const stored = await stack.database.query<{ all: string }>(
      'select coalesce(json_agg(r)::text, $1) as all from auth.password_resets r',
      [''],
    )
    expect(stored[0]?.all).not.toContain(String(code))
  })

  it('is used by one of two who use it at the same time', async () => {
    for (let round = 0; round < 2; round += 1) {
      const { username } = await create()
      const code = await makeLink(username)
      const passwords = [1, 2, 3].map((number) => `the password of race ${round} number ${number}`)
      const replies = await Promise.all(passwords.map((password) => useLink(code, password)))
      expect(replies.map(({ status }) => status).sort()).toEqual([204, 403, 403])
      const logins = await Promise.all(passwords.map((password) => logInWith(username, password)))
      expect(logins.map(({ status }) => status === 200)).toEqual(replies.map(({ status }) => status === 204))
    }
  })

  it('is not accepted after an hour, nor the former one after a new one, with one answer for all of these', async () => {
    const { username } = await create()
    const [former, latest] = [await makeLink(username), await makeLink(username)]
    const answers = [await useLink(former), await useLink('never was one'), await useLink('')]
    stack.clock.advanceSeconds(3600)
    answers.push(await useLink(latest))
    for (const answer of answers) {
      expectProblem(answer, 403, 'invalid-reset-code')
      const { type, title, detail } = answers[0]?.body ?? {}
      expect(answer.body).toMatchObject({ type, title, detail })
    }
    admin = (await stack.logIn('admin')).access
  })

  it('ends with a new password, with disabling, with a logout of the user and with the user', async () => {
    const endings: ((user: NewUser) => Promise<Reply>)[] = [
      ({ username }) => asAdmin(`/users/${username}/password`, { method: 'PUT', json: { newPassword } }),
      async ({ username, password }) => {
        const json = { oldPassword: password, newPassword }
        const token = (await stack.logIn(username, password)).access
        return stack.auth.send(`/users/${username}/password`, { method: 'PUT', token, json })
      },
      async ({ username }) => {
        await asAdmin(`/users/${username}`, { method: 'PATCH', json: { enabled: false } })
        return asAdmin(`/users/${username}`, { method: 'PATCH', json: { enabled: true } })
      },
      ({ username }) => asAdmin(`/users/${username}/logout`, { method: 'POST' }),
      async ({ username, password }) => {
        await asAdmin(`/users/${username}`, { method: 'DELETE' })
        return asAdmin('/users', { json: { username, password } })
      },
    ]
    for (const end of endings) {
      const user = await create()
      const code = await makeLink(user.username)
      expect([200, 201, 204]).toContain((await end(user)).status)
      expectProblem(await useLink(code), 403, 'invalid-reset-code')
    }
  })

  it('is not used up by a password that is refused', async () => {
    const { username } = await create()
    const code = await makeLink(username)
    for (const wrong of ['short', `${username}123`, 'password1']) {
      const refused = await useLink(code, wrong)
      expectProblem(refused, 422, 'invalid-value')
      expect(refused.body.errors).toMatchObject([{ pointer: '/newPassword' }])
    }
    expectProblem(await useLink(5), 400, 'invalid-body')
    expect((await useLink(code)).status).toBe(204)
  })

  it('gives nobody an account with more rights than the maker has, nor the own account, nor one that cannot log in', async () => {
    const helper = await create({ roles: [], rights: ['user.manage', 'deal.read', 'deal.history.read'] })
    const token = (await stack.logIn(helper.username, helper.password)).access
    const make = (username: string, sender = token) =>
      stack.auth.send(`/users/${username}/password-reset`, { method: 'POST', token: sender })
    const [viewer, agent] = [await create(), await create({ roles: ['agent'] })]
    expect((await make(viewer.username)).status).toBe(201)
    expectProblem(await make(agent.username), 403, 'missing-right')
    expectProblem(await make('admin'), 403, 'missing-right')
    expectProblem(await make(helper.username), 403, 'wrong-password')
    expectProblem(await make('ADMIN', admin), 403, 'wrong-password')
    expectProblem(await make('anonymous', admin), 409, 'reserved-user')
    expectProblem(await make('nobody-of-this-name', admin), 404, 'not-found')
    const left = await stack.database.query(
      'select 1 from auth.password_resets r join auth.users u on u.id = r.user_id where username = $1',
      [agent.username],
    )
    expect(left).toEqual([])
    const off = await create({ enabled: false })
    expectProblem(await make(off.username, admin), 409, 'user-disabled')
  })

  it('ends when the account gets more rights, and not when it gets fewer', async () => {
    const { username } = await create({ roles: ['viewer', 'agent'] })
    const patch = async (json: object) =>
      expect((await stack.auth.send(`/users/${username}`, { method: 'PATCH', token: admin, json })).status).toBe(200)
    const code = await makeLink(username)
    await patch({ roles: ['admin'] })
    expectProblem(await useLink(code), 403, 'invalid-reset-code')
    const other = await makeLink(username)
    await patch({ roles: [] })
    expect((await useLink(other)).status).toBe(204)
  })

  it('cannot be guessed: wrong codes from one address end with 429, right ones from there included', async () => {
    const { username } = await create()
    const code = await makeLink(username)
    const from = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })
    for (let guess = 0; guess < 20; guess += 1) {
      expectProblem(await useLink(`guess ${guess}`, newPassword, from('203.0.113.9')), 403, 'invalid-reset-code')
    }
    expectProblem(await useLink(code, newPassword, from('203.0.113.9')), 429, 'too-many-attempts')
    expect((await useLink(code, newPassword, from('203.0.113.10'))).status).toBe(204)
  })
})
