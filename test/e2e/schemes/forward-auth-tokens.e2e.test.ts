/** What the token is worth that a proxy gets for the service behind it (docs/forward-auth.md#token). */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { askVerify, type OriginalRequest, proxySettings, serviceOrigin } from '../../support/clients/ask-verify.ts'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { postForm } from '../../support/clients/oauth-requests.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { registerClient } from '../../support/clients/sign-in/applications.ts'
import { type ClientKey, makeKey, signUrl } from '../../support/clients/signing.ts'
import { asApplication } from '../../support/clients/tool-calls.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

let stack: Stack
let token: string

const bearer = (access = token) => ({ authorization: `Bearer ${access}` })

/** The token for the service behind. */
async function tokenFor(original: OriginalRequest, query = 'token=1'): Promise<string> {
  const reply = await askVerify(stack.auth, original, { query })
  expect(reply.status, reply.text).toBe(200)
  return reply.headers.get('keyhold-token') ?? ''
}

const atDeals = (access: string): Promise<Reply> => stack.deal.send('/rest/v1/deals', { token: access })

let count = 0

/** A request that is signed in its query. */
function signed(key: ClientKey, method: string) {
  count += 1
  const timestamp = Math.floor(stack.clock.now() / 1000)
  const url = signUrl(key, { method, url: `${serviceOrigin}/things` }, { timestamp, nonce: `n${count}` })
  return { method, target: url.slice(serviceOrigin.length) }
}

describeOnce('the token for the service behind a proxy', (openBackend) => {
  beforeAll(async () => {
    const AUTH_PORT = String(await freePort())
    const environment = { ...proxySettings, AUTH_PORT, AUTH_URL: `http://127.0.0.1:${AUTH_PORT}` }
    stack = await openStack(openBackend, { environment })
    token = (await stack.logIn('carol')).access
  })
  afterAll(() => stack.close())

  it('only reads for a signature that can be repeated', async () => {
    const key = await makeKey(stack, 'carol')
    const deal = (token: string) => stack.deal.send('/rest/v1/deals', { token, json: { name: 'deal', price: 1 } })
    const reading = await tokenFor(signed(key, 'GET'))
    expect(String(decodeJwt(reading).scope).split(' ').sort()).toEqual(['deal.history.read', 'deal.read'])
    expect((await atDeals(reading)).status).toBe(200)
    expectProblem(await deal(reading), 403, 'missing-right')
    expect((await deal(await tokenFor(signed(key, 'DELETE'), 'token=1&bodyLength=0'))).status).toBe(201)
  })

  it('only reads for an application whose commands wait for approval, until its mode changes', async () => {
    const client = await registerClient(stack, { rights: ['deal.read', 'deal.create'], mode: 'propose' })
    const access = await asApplication(token, { client_id: client.id, scope: 'deal.read deal.create' })
    const scopeOf = async () => decodeJwt(await tokenFor({ headers: bearer(access) })).scope
    expect(await scopeOf()).toBe('deal.read')
    const { access: admin } = await stack.logIn('admin')
    const patch = { method: 'PATCH', token: admin, json: { mode: 'run' } }
    expect((await stack.auth.send(`/clients/${client.id}`, patch)).status).toBe(200)
    expect(await scopeOf()).toBe('deal.read deal.create')
  })

  it('is in the audit log, those of a minute in one entry', async () => {
    const admin = (await stack.logIn('admin')).access
    const { access } = await stack.logIn('dave')
    for (const _ of [1, 2, 3]) await tokenFor({ headers: bearer(access) })
    const { body } = await stack.auth.send('/audit?actor=dave&action=token.issued', { token: admin })
    expect(body.items).toMatchObject([
      { actor: 'dave', target: decodeJwt(access).sid, outcome: 'succeeded', scheme: 'bearer', address: '127.0.0.1' },
    ])
  })

  it('neither outlives nor exceeds the credential', async () => {
    const expiresAt = new Date(stack.clock.now() + 20_000).toISOString()
    const key = await makeKey(stack, 'carol', { rights: ['deal.read'], expiresAt })
    const claims = decodeJwt(await tokenFor(signed(key, 'GET')))
    expect([claims.exp, claims.scope]).toEqual([Math.floor(Date.parse(expiresAt) / 1000), 'deal.read'])
  })

  it('ends within a second with what it was made of', async () => {
    const { access, refresh } = await stack.logIn('carol')
    const session = await signIn(stack, 'carol')
    const key = await makeKey(stack, 'carol')
    const keySigned = await keySignedToken(stack.auth, { username: 'carol' })
    const ended: [OriginalRequest, () => Promise<Reply>][] = [
      [{ headers: bearer(access) }, () => stack.auth.send('/logout', { method: 'POST', token: refresh })],
      [
        { headers: { cookie: session.cookie } },
        () => stack.auth.send(`/sessions/${session.id}`, { method: 'DELETE', token }),
      ],
      [signed(key, 'GET'), () => stack.auth.send(`/api-keys/${key.id}`, { method: 'DELETE', token })],
      [{ headers: keySignedHeaders(keySigned) }, () => postForm(stack, '/oauth/revoke', { token: keySigned })],
    ]
    for (const [original, end] of ended) {
      const made = await tokenFor(original)
      expect((await atDeals(made)).status).toBe(200)
      const { status, text } = await end()
      expect([200, 204], text).toContain(status)
      await withinASecond(() => atDeals(made), { from: 200, to: 401 })
    }
  })

  it.each(['carol', 'admin'])('proves no presence and never acts for the account of %s', async (name) => {
    const { access } = await stack.logIn(name)
    const own = await tokenFor({ headers: bearer(access) })
    const narrowed = 'narrowed-credential'
    // Who may do it for others is asked for the password, like everybody whose login is old.
    const managed = name === 'admin' ? 'recent-login-required' : 'missing-right'
    const newPassword = 'a new and better password'
    const webhook = { url: 'https://hooks.example.com/', types: ['deal.created'] }
    const refusals: [string, string, string, object?][] = [
      ['POST', '/api-keys', managed, { kind: 'hmac' }],
      ['POST', '/services', managed, { name: 'behind', resourceServer: 'deals' }],
      ['PUT', `/users/${name}/digest-secret`, managed, {}],
      ['DELETE', '/users/bob/second-factors', managed, {}],
      ['POST', '/me/second-factors/totp', narrowed, {}],
      ['POST', '/me/second-factors/totp/confirm', narrowed, { challenge: 'none', code: '123456' }],
      ['POST', '/me/second-factors/passkeys/options', narrowed, {}],
      ['POST', '/me/second-factors/recovery-codes', narrowed, { password: passwordOf(name) }],
      ['PUT', `/users/${name}/password`, narrowed, { newPassword }],
      ['PUT', `/users/${name.toUpperCase()}/password`, narrowed, { newPassword, oldPassword: passwordOf(name) }],
      ['GET', '/sessions', narrowed],
      ['DELETE', '/sessions/current', narrowed],
      ['DELETE', `/sessions/${String(decodeJwt(access).sid)}`, narrowed],
      ['POST', '/logout', narrowed],
      ['POST', '/rest/v1/webhooks', name === 'admin' ? narrowed : 'missing-right', webhook],
    ]
    for (const [method, path, code, json] of refusals) {
      const server = path.startsWith('/rest/') ? stack.deal : stack.auth
      const reply = await server.send(path, { method, token: own, ...(json && { json }) })
      expect([path, reply.status, reply.body.code]).toEqual([path, 403, code])
    }
    expect((await postForm(stack, '/oauth/revoke', { token: own })).status).toBe(401)
    expect((await stack.auth.send('/me', { token: access })).status).toBe(200)
  })
})
