import { decodeJwt } from 'jose'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import {
  clientCredentials,
  expectOAuthError,
  keyTokenOf,
  type MadeKey,
  postAsKey,
  postForm,
} from '../../support/clients/oauth-requests.ts'
import { schemeClients } from '../../support/clients/scheme-clients/index.ts'
import { openSender, type SendWith } from '../../support/clients/scheme-clients/send-with.ts'
import { signUrl } from '../../support/clients/signing.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const withoutFactor: readonly SchemeName[] = ['basic', 'digest', 'key-signed']
const ofLogins: readonly SchemeName[] = ['bearer', 'session']
const read = { path: '/rest/v1/deals', sent: {} }
const me = { path: '/me', sent: {} }

describeBackends('a second factor', (openBackend) => {
  let stack: Stack
  let admin: string

  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { SECOND_FACTOR_ROLES: 'manager' } })
  })
  // The tests move the clock, so one token does not live as long as all of them.
  beforeEach(async () => {
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const post = (path: string, json: object, token?: string) =>
    stack.auth.send(path, { json, ...(token === undefined ? {} : { token }) })
  /** A code that was not used before: the clock goes on by two steps first. */
  function codeOf(secret: unknown): string {
    stack.clock.advanceSeconds(60)
    rememberSecret(String(secret))
    const totp = new TOTP({ secret: Secret.fromBase32(String(secret)) })
    return totp.generate({ timestamp: stack.clock.now() })
  }
  const form = (fields: Record<string, string>) => postForm(stack, '/sessions', fields, { origin: stack.auth.url })
  const introspect = async (token: string) =>
    (await postForm(stack, '/oauth/introspect', { token }, { authorization: `Bearer ${admin}` })).body
  const setRoles = (username: string, roles: string[]) =>
    stack.auth.send(`/users/${username}`, { method: 'PATCH', token: admin, json: { roles } })
  const password = (username: string) => ({ username, password: passwordOf(username) })

  /** Sets the first factor of a user up at the login, and gives its secret. */
  async function enrol(username: string) {
    const asked = await post('/login', password(username))
    expectProblem(asked, 403, 'second-factor-enrolment-required')
    const { challenge, totp } = asked.body as { challenge: string; totp: { secret: string } }
    const reply = await post('/login', { challenge, code: codeOf(totp.secret) })
    expect(reply.status).toBe(200)
    return { secret: totp.secret, token: String(reply.body.access_token) }
  }
  /** Sets one-time codes up for the user of this login. */
  async function setUp(token: string) {
    const { secret, challenge } = (await post('/me/second-factors/totp', {}, token)).body
    const added = await post('/me/second-factors/totp/confirm', { challenge, code: codeOf(secret) }, token)
    const [{ id } = { id: '' }] = added.body.factors as { id: string }[]
    return { id, secret: String(secret) }
  }
  const removeFactor = (username: string, id: string, token: string) =>
    stack.auth.send(`/me/second-factors/enrolled/${id}`, {
      method: 'DELETE',
      token,
      json: { password: passwordOf(username) },
    })
  const reset = (username: string, token = admin) =>
    stack.auth.send(`/users/${username}/second-factors`, {
      method: 'DELETE',
      token,
      json: { password: passwordOf('admin') },
    })

  it('that a role demands is set up at the login, and then asked for', async () => {
    const { secret, token } = await enrol('alice')
    expect((await stack.auth.send('/me', { token })).body).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
    await eventually(async () => expect((await stack.deal.send('/rest/v1/deals', { token })).status).toBe(200))
    const asked = await post('/login', password('alice'))
    expectProblem(asked, 401, 'second-factor-required')
    expect(asked.headers.get('www-authenticate')).toContain('Bearer')
    expect(asked.body).toMatchObject({ methods: ['totp'] })
    expectProblem(await post('/login', { challenge: 'x', code: '123456' }), 401, 'invalid-second-factor')
    expectProblem(await post('/login', { challenge: asked.body.challenge }), 400, 'invalid-body')
    const code = codeOf(secret)
    const pair = await post('/login', { challenge: asked.body.challenge, code })
    expect(pair.status).toBe(200)
    expectProblem(await post('/login', { ...password('alice'), code }), 401, 'invalid-second-factor')
    const refreshed = await stack.auth.send('/refresh', { method: 'POST', token: String(pair.body.refresh_token) })
    expect(refreshed.status).toBe(200)
    const begun = decodeJwt(String(pair.body.access_token)).iat
    for (const { body } of [pair, refreshed]) {
      const proof = { amr: ['pwd', 'otp', 'mfa'], auth_time: begun }
      expect(decodeJwt(String(body.access_token))).toMatchObject(proof)
      expect(await introspect(String(body.access_token))).toMatchObject({ active: true, ...proof })
    }
    expectProblem(await post('/key-signed-tokens', password('alice')), 403, 'scheme-without-second-factor')
    expect((await reset('alice')).status).toBe(204)
    expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
    expectProblem(await post('/login', password('alice')), 403, 'second-factor-enrolment-required')
  })

  it('is given in a form without a script', async () => {
    const { secret } = await enrol('alice')
    const fields = { ...password('alice'), return_to: `${stack.auth.url}/` }
    const asked = await form({ ...fields, code: '' })
    expectProblem(asked, 401, 'second-factor-required')
    const answer = { challenge: String(asked.body.challenge), code: codeOf(secret), return_to: `${stack.auth.url}/` }
    const { status, headers } = await form(answer)
    expect([status, headers.get('location')]).toEqual([303, `${stack.auth.url}/`])
    const cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    rememberSecret(cookie.split('=')[1] ?? '')
    expect((await stack.auth.send('/me', { headers: { cookie } })).body).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
    await reset('alice')
  })

  it('is demanded on both servers within a second, of every scheme as it can', async () => {
    const keySigned = String((await post('/key-signed-tokens', password('carol'))).body.token)
    expect(await introspect(keySigned)).toMatchObject({ active: true, username: 'carol' })
    const senders = new Map<SchemeName, SendWith>()
    for (const client of schemeClients) senders.set(client.name, await openSender(client, stack, 'carol'))
    const statuses = (server: 'auth' | 'deal', names: Iterable<SchemeName>) =>
      Promise.all([...names].map(async (name) => (await ask(name, server)).status))
    const ask = (name: SchemeName, server: 'auth' | 'deal'): Promise<Reply> => {
      const sender = senders.get(name)
      if (!sender) throw new Error(name)
      return sender(stack[server], server === 'auth' ? me : read)
    }
    for (const server of ['auth', 'deal'] as const) {
      expect(new Set(await statuses(server, senders.keys()))).toEqual(new Set([200]))
    }
    expect((await setRoles('carol', ['agent', 'manager'])).status).toBe(200)
    await Promise.all([
      ...([...withoutFactor, 'signed-request'] as const).map((name) =>
        withinASecond(() => ask(name, 'deal'), { from: 200, to: 403 }),
      ),
      ...ofLogins.map((name) => withinASecond(() => ask(name, 'deal'), { from: 200, to: 401 })),
    ])
    for (const server of ['auth', 'deal'] as const) {
      for (const name of withoutFactor) expectProblem(await ask(name, server), 403, 'scheme-without-second-factor')
      expect(await introspect(keySigned)).toEqual({ active: false })
      for (const name of ofLogins.slice(0, 1)) expectProblem(await ask(name, server), 401, 'login-ended')
      expectProblem(await ask('signed-request', server), 403, 'api-key-suspended')
    }
    expect((await setRoles('carol', ['agent'])).status).toBe(200)
    for (const name of [...withoutFactor, 'signed-request'] as const) {
      await eventually(async () => expect((await ask(name, 'deal')).status).toBe(200))
      expect((await ask(name, 'auth')).status).toBe(200)
    }
  })

  it('of one’s own accord is set up, listed and removed with proof, and ends other logins', async () => {
    const other = (await stack.logIn('bob')).access
    const { access: token } = await stack.logIn('bob')
    const begun = await post('/me/second-factors/totp', {}, token)
    expect(begun.body.uri).toMatch(/^otpauth:\/\/totp\/Keyhold:bob\?/)
    const { secret, challenge } = begun.body
    const wrong = await post('/me/second-factors/totp/confirm', { challenge, code: '12345' }, token)
    expectProblem(wrong, 403, 'second-factor-not-confirmed')
    const name = 'My telephone'
    const added = await post('/me/second-factors/totp/confirm', { challenge, code: codeOf(secret), name }, token)
    expect(added.status).toBe(201)
    expect(added.body).toMatchObject({ required: true, factors: [{ kind: 'totp', name }], recoveryCodes: 0 })
    expectProblem(await stack.auth.send('/me', { token: other }), 401, 'login-ended')
    const codes = (await post('/me/second-factors/recovery-codes', {}, token)).body.codes as string[]
    expect(codes).toHaveLength(10)
    expect((await post('/login', { ...password('bob'), code: codes[0] })).status).toBe(200)
    const listed = await stack.auth.send('/me/second-factors', { token })
    expect(listed.body).toMatchObject({ recoveryCodes: 9 })
    const [{ id } = { id: '' }] = listed.body.factors as { id: string }[]
    stack.clock.advanceSeconds(301)
    const remove = (json: object) =>
      stack.auth.send(`/me/second-factors/enrolled/${id}`, { method: 'DELETE', token, json })
    expectProblem(await remove({}), 403, 'recent-login-required')
    expectProblem(await remove({ password: 'not the password' }), 403, 'wrong-password')
    expect((await remove({ password: passwordOf('bob') })).status).toBe(204)
    expectProblem(await remove({ password: passwordOf('bob') }), 404, 'not-found')
    expect((await post('/login', password('bob'))).status).toBe(200)
  })

  it('guards factors and what lasts: an API key touches them with password and one-time code alone', async () => {
    const { access: token } = await stack.logIn('bob')
    const { id, secret } = await setUp(token)
    const json = { kind: 'hmac', requireBodyHash: false }
    const fresh = await post('/login', { ...password('bob'), code: codeOf(secret) })
    const withFactor = String(fresh.body.access_token)
    const key = (await post('/api-keys', json, withFactor)).body as unknown as MadeKey
    const ofKey = await keyTokenOf(stack, key)
    const proof = { password: passwordOf('bob') }
    for (const [method, path] of [
      ['DELETE', `/me/second-factors/enrolled/${id}`],
      ['POST', '/me/second-factors/recovery-codes'],
      ['POST', '/me/second-factors/totp'],
      ['POST', '/me/second-factors/passkeys/options'],
      ['PUT', '/users/bob/digest-secret'],
      ['POST', '/api-keys'],
      ['POST', `/api-keys/${key.id}/rotate`],
    ] as const) {
      const own = path === '/api-keys' ? json : {}
      const refused = (more: object) => stack.auth.send(path, { method, token: ofKey, json: { ...own, ...more } })
      expectProblem(await refused(proof), 403, 'second-factor-login-required')
      expectProblem(await refused({ code: codeOf(secret) }), 403, 'second-factor-login-required')
    }
    const code = codeOf(secret)
    expectProblem(await post('/api-keys', { ...json, password: 'wrong', code }, ofKey), 403, 'wrong-password')
    const wrong = await post('/api-keys', { ...json, ...proof, code: '000000' }, ofKey)
    expectProblem(wrong, 403, 'second-factor-login-required')
    const made = await post('/api-keys', { ...json, ...proof, code }, ofKey)
    expect([made.status, made.body.suspended]).toEqual([201, false])
    const again = await post('/api-keys', { ...json, ...proof, code }, ofKey)
    expectProblem(again, 403, 'second-factor-login-required')
    const [recovery] = (await post('/me/second-factors/recovery-codes', proof, withFactor)).body.codes as string[]
    expect((await post('/api-keys', { ...json, ...proof, code: recovery }, ofKey)).status).toBe(201)
    const used = await post('/api-keys', { ...json, ...proof, code: recovery }, ofKey)
    expectProblem(used, 403, 'second-factor-login-required')
    const { text } = await stack.auth.send('/audit?target=bob&action=second-factor.recovery-code-used', {
      token: admin,
    })
    expect(text).toContain('"scheme":"bearer"')
    const webhook = { url: 'https://receiver.example/hook', ...proof, code: codeOf(secret) }
    const byCode = await stack.deal.send('/rest/v1/webhooks', { token: ofKey, json: webhook })
    expect(byCode.status, byCode.text).not.toBe(401)
    expect((await removeFactor('bob', id, withFactor)).status).toBe(204)
  })

  const signedBy =
    (key: MadeKey): SendWith =>
    (server, { path }) => {
      const timestamp = Math.floor(stack.clock.now() / 1000)
      const url = signUrl(key, { method: 'GET', url: server.url + path }, { timestamp, nonce: String(Math.random()) })
      return server.send(url.slice(server.url.length))
    }

  it('suspends keys that were made without one, by set-up or by role, until the owner confirms them', async () => {
    for (const way of ['set-up', 'role'] as const) {
      const username = way === 'role' ? 'dave' : 'bob'
      if (way === 'role') await setRoles('dave', ['viewer'])
      const { access } = await stack.logIn(username)
      const made = await post('/api-keys', { kind: 'hmac', requireBodyHash: false }, access)
      const key = made.body as unknown as MadeKey
      rememberSecret(key.secret)
      expect(made.body.suspended).toBe(false)
      const token = await keyTokenOf(stack, key)
      const signed = signedBy(key)
      const byToken: SendWith = (server, { path }) => server.send(path, { token })
      const ways = [signed, byToken]
      const statuses = () =>
        Promise.all(ways.flatMap((send) => [send(stack.auth, me), send(stack.deal, read)])).then((replies) =>
          replies.map(({ status }) => status),
        )
      expect(await statuses()).toEqual([200, 200, 200, 200])
      const suspension = () =>
        Promise.all([
          withinASecond(() => signed(stack.deal, read), { from: 200, to: 403 }),
          withinASecond(() => byToken(stack.deal, read), { from: 200, to: 401 }),
        ])

      let withFactor = access
      let secret = ''
      let factorId = ''
      if (way === 'role') {
        await setRoles('dave', ['viewer', 'manager'])
        await suspension()
        ;({ secret, token: withFactor } = await enrol('dave'))
      } else {
        ;({ id: factorId, secret } = await setUp(access))
        await suspension()
      }
      expect(await statuses()).toEqual([403, 403, 401, 401])
      expectProblem(await signed(stack.deal, read), 403, 'api-key-suspended')
      expectOAuthError(await postAsKey(stack, key, '/oauth/token', clientCredentials), 401, 'invalid_client')
      expect(await introspect(token)).toEqual({ active: false })
      const listed = await stack.auth.send(`/api-keys/${key.id}`, { token: withFactor })
      expect(listed.body.suspended).toBe(true)
      const confirm = (caller: string, more: object = {}) => post(`/api-keys/${key.id}/confirm`, more, caller)
      const rotated = await signed(stack.auth, { path: `/api-keys/${key.id}/rotate`, sent: {} })
      expect(rotated.status).not.toBe(200)
      const bySuspended = await confirm(token, { password: passwordOf(username), code: codeOf(secret) })
      expectProblem(bySuspended, 401, 'login-ended')
      const stranger = (await stack.logIn('carol')).access
      expectProblem(await confirm(stranger), 403, 'second-factor-login-required')
      expectProblem(await stack.auth.send(`/api-keys/${key.id}`, { token: stranger }), 404, 'not-found')

      const confirmed = await confirm(withFactor, { password: passwordOf(username) })
      expect([confirmed.status, confirmed.body.suspended]).toEqual([200, false])
      // The first factor of a user ends the tokens made before for good.
      await eventually(async () => expect(await statuses()).toEqual([200, 200, 401, 401]))
      const later = await keyTokenOf(stack, key)
      expect((await stack.deal.send(read.path, { token: later })).status).toBe(200)
      if (way === 'role') {
        await setRoles('dave', ['viewer'])
        await reset('dave')
      } else expect((await removeFactor('bob', factorId, withFactor)).status).toBe(204)
    }
  })

  it('suspends no key of a user who neither has nor needs one, and nobody confirms a key without one', async () => {
    const { access } = await stack.logIn('bob')
    const { body } = await post('/api-keys', { kind: 'hmac' }, access)
    expectProblem(await post(`/api-keys/${body.id}/confirm`, {}, access), 403, 'second-factor-login-required')
    const { id } = await setUp(access)
    const read = async () => (await stack.auth.send(`/api-keys/${body.id}`, { token: access })).body.suspended
    expect(await read()).toBe(true)
    expect((await removeFactor('bob', id, access)).status).toBe(204)
    expect(await read()).toBe(false)
  })

  it('confirms a key that is rotated with one, and suspends a key that was rotated without one', async () => {
    const { access } = await stack.logIn('bob')
    const { body } = await post('/api-keys', { kind: 'hmac' }, access)
    const isSuspended = async (token: string) =>
      (await stack.auth.send(`/api-keys/${body.id}`, { token })).body.suspended
    const rotate = (token: string) => post(`/api-keys/${body.id}/rotate`, { password: passwordOf('bob') }, token)
    const meBy = async ({ secret }: Reply['body']) => {
      rememberSecret(String(secret))
      return (await signedBy({ ...body, secret } as unknown as MadeKey)(stack.auth, me)).status
    }
    const first = await setUp(access)
    expect(await isSuspended(access)).toBe(true)
    const { body: confirmed } = await rotate(access)
    expect([confirmed.suspended, confirmed.formerUntil]).toEqual([false, null])
    expect([await meBy(body), await meBy(confirmed)]).toEqual([401, 200])
    expect((await removeFactor('bob', first.id, access)).status).toBe(204)
    const { access: later } = await stack.logIn('bob')
    const { body: rotated } = await rotate(later)
    expect([await meBy(confirmed), await meBy(rotated)]).toEqual([200, 200])
    const second = await setUp(later)
    expect(await isSuspended(later)).toBe(true)
    expect((await post(`/api-keys/${body.id}/confirm`, {}, later)).body.formerUntil).toBeNull()
    expect([await meBy(confirmed), await meBy(rotated)]).toEqual([401, 200])
    expect((await removeFactor('bob', second.id, later)).status).toBe(204)
  })

  it('pauses webhooks when a user sets up the first one, and not when a role demands one', async () => {
    const user = { username: 'wendy', password: passwordOf('wendy'), roles: ['admin'] }
    expect((await post('/users', user, admin)).status).toBe(201)
    const { access } = await stack.logIn('wendy')
    const made = await stack.deal.send('/rest/v1/webhooks', {
      token: access,
      json: { url: 'https://receiver.example/hook' },
    })
    expect(made.status, made.text).toBe(201)
    const webhook = async () => (await stack.deal.send(`/rest/v1/webhooks/${made.body.id}`, { token: admin })).body
    await setRoles('wendy', ['admin', 'manager'])
    await eventually(async () => expect((await stack.deal.send(read.path, { token: access })).status).toBe(401))
    expect(await webhook()).toMatchObject({ state: 'active' })
    await setRoles('wendy', ['admin'])
    await setUp(access)
    await eventually(async () => {
      expect(await webhook()).toMatchObject({ state: 'paused', pausedReason: 'responsible-logged-out' })
    })
  })

  it('is removed by administrators alone, and everything about it is in the audit log', async () => {
    await enrol('alice')
    const dave = (await stack.logIn('dave')).access
    expectProblem(await reset('alice', dave), 403, 'missing-right')
    expectProblem(await reset('nobody-of-this-name'), 404, 'not-found')
    expect((await reset('alice')).status).toBe(204)
    const { body } = await stack.auth.send('/audit?limit=200', { token: admin })
    const entries = (body.items as { action: string; outcome: string }[]).map(
      (item) => `${item.action} ${item.outcome}`,
    )
    expect(entries).toEqual(
      expect.arrayContaining([
        'login.started second-factor-enrolment-required',
        'login.started second-factor-required',
        'login.started invalid-second-factor',
        'second-factor.added succeeded',
        'second-factor.added second-factor-not-confirmed',
        'second-factor.recovery-codes-made succeeded',
        'second-factor.recovery-code-used succeeded',
        'second-factor.removed succeeded',
        'user.second-factors-reset succeeded',
        'user.second-factors-reset missing-right',
      ]),
    )
  })
})
