/** A stolen token or key alone makes no credential that outlives it; and what a user holds can be ended, all of it. */
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { keyTokenOf, makeApiKey } from '../../support/clients/oauth-requests.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { schemeClients } from '../../support/clients/scheme-clients/index.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { openSender } from '../../support/clients/scheme-clients/send-with.ts'
import { clientKeyOf, signUrl } from '../../support/clients/signing.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let count = 0

/** More than the five minutes within which a login is recent. */
const later = () => stack.clock.advanceSeconds(301)

const newKey = (token: string, more: object = {}) =>
  stack.auth.send('/api-keys', { token, json: { kind: 'hmac', ...more } })
const newDigestSecret = (username: string, token: string, json: object = {}) =>
  stack.auth.send(`/users/${username}/digest-secret`, { method: 'PUT', token, json })
const adminToken = async () => (await stack.logIn('admin')).access

async function newUser(grants: object = { roles: ['viewer'] }) {
  const username = `lasting-${++count}`
  const password = `the password of ${username}`
  const json = { username, password, ...grants }
  expect((await stack.auth.send('/users', { token: await adminToken(), json })).status).toBe(201)
  return { username, password, ...(await stack.logIn(username, password)) }
}

const keysOf = async (username: string): Promise<unknown[]> => {
  const { body } = await stack.auth.send(`/api-keys?username=${username}`, { token: await adminToken() })
  return body.items as unknown[]
}

const outcomesOf = async (target: string, action: string): Promise<string[]> => {
  const entries = await stack.database.query<{ outcome: string }>(
    `select outcome from (
      select false as waits, seq as place, action, target, outcome from auth.audit_entries union all
      select true, position, entry ->> 'action', entry ->> 'target', entry ->> 'outcome' from auth.audit_journal
    ) e where target = $1 and action = $2 order by waits, place`,
    [target, action],
  )
  return entries.map(({ outcome }) => outcome)
}

const signedBy = (key: { id: string; secret?: string }) => {
  const timestamp = Math.floor(stack.clock.now() / 1000)
  const url = signUrl(key, { method: 'GET', url: `${stack.auth.url}/me` }, { timestamp })
  return stack.auth.send(url.slice(stack.auth.url.length))
}

describeOnce('credentials that last', (openBackend) => {
  beforeAll(async () => {
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: '4/900', RSA_PAIRS_PER_MINUTE: '2' }
    stack = await openStack(openBackend, { inProcess: true, environment })
  })
  afterAll(() => stack.close())

  it('are made by a young login, of tokens or a cookie', async () => {
    const { username, access } = await newUser()
    expect((await newKey(access)).status).toBe(201)
    const secret = await newDigestSecret(username, access)
    expect(secret.status).toBe(200)
    rememberSecret(String(secret.body.secret))
    const { cookie } = await signIn(stack, 'carol')
    const byCookie = await stack.auth.send('/api-keys', { headers: { cookie }, json: { kind: 'hmac' } })
    expect(byCookie.status).toBe(201)
  })

  it('are not made by a login older than five minutes, however often refreshed, but with the password', async () => {
    const { username, password, access, refresh } = await newUser()
    const { cookie } = await signIn(stack, 'carol')
    later()
    expectProblem(await newKey(access), 403, 'recent-login-required')
    const refreshed = await stack.auth.send('/refresh', { method: 'POST', token: refresh })
    const token = String(refreshed.body.access_token)
    const refused = await newKey(token)
    expectProblem(refused, 403, 'recent-login-required')
    expect(refused.body.detail).toContain('password')
    expectProblem(await newDigestSecret(username, token), 403, 'recent-login-required')
    const byCookie = await stack.auth.send('/api-keys', { headers: { cookie }, json: { kind: 'hmac' } })
    expectProblem(byCookie, 403, 'recent-login-required')
    expect(await keysOf(username)).toEqual([])
    expect((await newKey(token, { password })).status).toBe(201)
    expect((await newDigestSecret(username, token, { password })).status).toBe(200)
    // Equal refusals of one minute are one entry.
    expect(await outcomesOf(username, 'api-key.created')).toEqual(['recent-login-required', 'succeeded'])
  })

  it('a wrong password makes none, from a young login either, and guessing it is limited', async () => {
    const { username, password, access } = await newUser()
    const replies: Reply[] = []
    for (let guess = 0; guess < 4; guess += 1) replies.push(await newKey(access, { password: `wrong ${guess}` }))
    for (const reply of replies) expectProblem(reply, 403, 'wrong-password')
    const limited = await newKey(access, { password })
    expectProblem(limited, 429, 'too-many-attempts')
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expectProblem(await newDigestSecret(username, access, { password }), 429, 'too-many-attempts')
    expectProblem(await newKey(access, { password: 5 }), 400, 'invalid-body')
    expect(await keysOf(username)).toEqual([])
  })

  it.each(schemeClients.map((client) => [client.name, client] as const))('by the scheme %s', async (name, client) => {
    const carries = name === 'basic' || name === 'key-signed'
    const send = await openSender(client, stack, 'alice')
    later()
    const make = (more: object) => send(stack.auth, { path: '/api-keys', sent: { json: { kind: 'hmac', ...more } } })
    const alone = await make({})
    if (carries) expect(alone.status).toBe(201)
    else expectProblem(alone, 403, 'recent-login-required')
    expect((await make({ password: passwordOf('alice') })).status).toBe(201)
  })

  it('by a key-signed token without a password or by a token of an API key are not made', async () => {
    const { access } = await stack.logIn('alice')
    const key = await makeApiKey(stack, access, { kind: 'hmac' })
    const headers = keySignedHeaders(await keySignedToken(stack.auth, { username: 'alice' }))
    const keySigned = await stack.auth.send('/api-keys', { headers, json: { kind: 'hmac' } })
    expectProblem(keySigned, 403, 'recent-login-required')
    expectProblem(await newKey(await keyTokenOf(stack, key)), 403, 'recent-login-required')
  })

  it('an administrator proves the own password, not that of the owner', async () => {
    const token = await adminToken()
    later()
    const { username, password } = await newUser()
    expectProblem(await newKey(token, { username }), 403, 'recent-login-required')
    expectProblem(await newKey(token, { username, password }), 403, 'wrong-password')
    expectProblem(await newDigestSecret(username, token), 403, 'recent-login-required')
    expect((await newKey(token, { username, password: passwordOf('admin') })).status).toBe(201)
    expect((await newDigestSecret(username, token, { password: passwordOf('admin') })).status).toBe(200)
  })

  it('end with POST /users/{username}/logout?everything=true, and only then', async () => {
    const { username, password, access } = await newUser()
    const key = clientKeyOf((await newKey(access)).body)
    const keyToken = await keyTokenOf(stack, { ...(await makeApiKey(stack, access, { kind: 'hmac' })) })
    rememberSecret(String((await newDigestSecret(username, access)).body.secret))
    const { id } = (await stack.auth.send(`/users/${username}`, { token: await adminToken() })).body
    const digestSecrets = () =>
      stack.database.query('select 1 from auth.digest_secrets where user_id = $1::text::uuid', [String(id)])
    const logOut = async (query: string) =>
      stack.auth.send(`/users/${username}/logout${query}`, { method: 'POST', token: await adminToken() })
    for (const query of ['?everything=yes', '?everything', '?all=true']) {
      expectProblem(await logOut(query), 400, 'invalid-parameter')
    }
    expect((await stack.auth.send('/me', { token: access })).status).toBe(200)
    for (const query of ['', '?everything=false']) expect((await logOut(query)).status).toBe(204)
    expectProblem(await stack.auth.send('/me', { token: access }), 401, 'login-ended')
    expect((await signedBy(key)).status).toBe(200)
    expect([(await keysOf(username)).length, (await digestSecrets()).length]).toEqual([2, 1])
    expect((await logOut('?everything=true')).status).toBe(204)
    expectProblem(await signedBy(key), 401, 'invalid-signature')
    expectProblem(await stack.deal.send('/rest/v1/deals', { token: keyToken }), 401, 'login-ended')
    expect([(await keysOf(username)).length, (await digestSecrets()).length]).toEqual([0, 0])
    expect((await stack.logIn(username, password)).access).toMatch(/./)
    expect(await outcomesOf(username, 'user.credentials-ended')).toEqual(['succeeded'])
    expect(await outcomesOf(username, 'user.logged-out')).toEqual(['succeeded', 'succeeded'])
  })

  it('DELETE /users/{username}/sessions ends every login and session of that user, and no key', async () => {
    const { username, password, access } = await newUser()
    const other = (await stack.logIn(username, password)).access
    const { cookie } = await signIn(stack, username, { json: { username, password } })
    const key = clientKeyOf((await newKey(access)).body)
    const headers = keySignedHeaders(await keySignedToken(stack.auth, { username, password }))
    const end = (token: string, name = username) =>
      stack.auth.send(`/users/${name}/sessions`, { method: 'DELETE', token })
    const { access: manager } = await newUser({ rights: ['session.manage'] })
    expectProblem(await end(access), 403, 'missing-right')
    expectProblem(await end(manager, 'nobody-there'), 404, 'not-found')
    expect((await stack.deal.send('/rest/v1/deals', { headers: { cookie } })).status).toBe(200)
    expect((await end(manager)).status).toBe(204)
    for (const token of [access, other]) {
      expectProblem(await stack.deal.send('/rest/v1/deals', { token }), 401, 'login-ended')
    }
    expect((await stack.deal.send('/rest/v1/deals', { headers: { cookie } })).status).toBe(401)
    expect((await signedBy(key)).status).toBe(200)
    expect((await stack.deal.send('/rest/v1/deals', { headers })).status).toBe(200)
    const left = await stack.auth.send(`/users/${username}/sessions`, { token: manager })
    expect(left.body.items).toEqual([])
    expect((await end(manager)).status).toBe(204)
    expect(await outcomesOf(username, 'user.logins-ended')).toEqual(['missing-right', 'succeeded', 'succeeded'])
  })

  it('RSA pairs are made for a user a few times a minute; a public key of the own is no pair', async () => {
    const { access } = await newUser()
    const pair = (token: string, more: object = {}) => newKey(token, { kind: 'rsa', ...more })
    for (let made = 0; made < 2; made += 1) {
      const { status, body } = await pair(access)
      expect(status).toBe(201)
      rememberSecret(String(body.privateKeyPem))
    }
    const refused = await pair(access)
    expectProblem(refused, 429, 'too-many-key-pairs')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    expect((await pair(access, { publicKeyPem })).status).toBe(201)
    expect((await newKey(access)).status).toBe(201)
    expect((await pair((await newUser()).access)).status).toBe(201)
  })
})
