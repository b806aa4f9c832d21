import { decodeJwt } from 'jose'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { expectProblem, type Reply, rememberSecret } from '../support/clients/http-client.ts'
import { keyTokenOf, type MadeKey } from '../support/clients/oauth-requests.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import { openSender, type SendWith } from '../support/clients/scheme-clients/send-with.ts'
import { eventually } from '../support/eventually.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'
import { withinASecond } from '../support/worlds/within-a-second.ts'

const withoutFactor: readonly SchemeName[] = ['basic', 'digest', 'key-signed']
const ofLogins: readonly SchemeName[] = ['bearer', 'session']
const read = { path: '/rest/v1/deals', sent: {} }
const me = { path: '/me', sent: {} }

describeBackends('a second factor', (openBackend) => {
  let stack: Stack
  let admin: string

  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { SECOND_FACTOR_ROLES: 'manager' } })
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
  const form = (fields: Record<string, string>) =>
    stack.auth.send('/sessions', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: stack.auth.url },
      body: new URLSearchParams(fields).toString(),
    })
  const introspect = async (token: string) => {
    const reply = await stack.auth.send('/oauth/introspect', {
      method: 'POST',
      token: admin,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }).toString(),
    })
    return reply.body
  }
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
      ...withoutFactor.map((name) => withinASecond(() => ask(name, 'deal'), { from: 200, to: 403 })),
      ...ofLogins.map((name) => withinASecond(() => ask(name, 'deal'), { from: 200, to: 401 })),
    ])
    for (const server of ['auth', 'deal'] as const) {
      for (const name of withoutFactor) expectProblem(await ask(name, server), 403, 'scheme-without-second-factor')
      expect(await introspect(keySigned)).toEqual({ active: false })
      for (const name of ofLogins.slice(0, 1)) expectProblem(await ask(name, server), 401, 'login-ended')
      expect(await statuses(server, ['signed-request'])).toEqual([200])
    }
    expect((await setRoles('carol', ['agent'])).status).toBe(200)
    for (const name of withoutFactor) {
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

  it('guards factors and what lasts: an API key made by a password alone does not touch them, password or not', async () => {
    const { access: token } = await stack.logIn('bob')
    const json = { kind: 'hmac', requireBodyHash: false }
    const key = (await post('/api-keys', json, token)).body as unknown as MadeKey
    const { secret, challenge } = (await post('/me/second-factors/totp', {}, token)).body
    const added = await post('/me/second-factors/totp/confirm', { challenge, code: codeOf(secret) }, token)
    const [{ id } = { id: '' }] = added.body.factors as { id: string }[]
    const ofKey = await keyTokenOf(stack, key)
    const proof = { password: passwordOf('bob') }
    for (const [method, path] of [
      ['DELETE', `/me/second-factors/enrolled/${id}`],
      ['POST', '/me/second-factors/recovery-codes'],
      ['POST', '/me/second-factors/totp'],
      ['POST', '/me/second-factors/passkeys/options'],
      ['PUT', '/users/bob/digest-secret'],
    ] as const) {
      const refused = await stack.auth.send(path, { method, token: ofKey, json: proof })
      expectProblem(refused, 403, 'second-factor-login-required')
    }
    expectProblem(await post('/api-keys', { ...json, ...proof }, ofKey), 403, 'second-factor-login-required')
    const fresh = await post('/login', { ...password('bob'), code: codeOf(secret) })
    const withFactor = String(fresh.body.access_token)
    expect((await post('/api-keys', json, withFactor)).status).toBe(201)
    const removed = await stack.auth.send(`/me/second-factors/enrolled/${id}`, { method: 'DELETE', token: withFactor })
    expect(removed.status).toBe(204)
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
