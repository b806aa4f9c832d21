import { createHmac, randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRevokedTokenExpiry } from '../../../auth-server/oauth/revoke-token.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import {
  basicOf,
  clientCredentials,
  expectOAuthError,
  keyTokenOf,
  type MadeKey,
  makeApiKey,
  postAsKey,
  postForm,
} from '../../support/clients/oauth-requests.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

let stack: Stack
let alice: string
let hmac: MadeKey

const asKey = (path: string, form: Record<string, string>, key = hmac) => postAsKey(stack, key, path, form)
const keyToken = (key = hmac) => keyTokenOf(stack, key)
const deals = (token: string) => stack.deal.send('/rest/v1/deals', { token })
const introspect = (token: string, form: Record<string, string> = {}) => asKey('/oauth/introspect', { token, ...form })

describeBackends('introspection and revocation of tokens', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    alice = (await stack.logIn('alice')).access
    hmac = await makeApiKey(stack, alice, { kind: 'hmac' })
  })
  afterAll(() => stack.close())

  it('ends the tokens of a key with the key, within a second', async () => {
    const key = await makeApiKey(stack, alice, { kind: 'hmac' })
    const token = await keyToken(key)
    expect((await deals(token)).status).toBe(200)
    expect((await stack.auth.send(`/api-keys/${key.id}`, { method: 'DELETE', token: alice })).status).toBe(204)
    expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
    await withinASecond(() => deals(token), { from: 200, to: 401 })
    expectOAuthError(await asKey('/oauth/token', clientCredentials, key), 401, 'invalid_client')
    expect((await introspect(token)).body).toEqual({ active: false })
  })

  it('tells what a token is worth, to whom it concerns', async () => {
    const { access, refresh } = await stack.logIn('alice')
    const claims = decodeJwt(access)
    const seen = await introspect(access, { token_type_hint: 'refresh_token' })
    const { body, headers } = seen
    expect(body).toMatchObject({
      active: true,
      username: 'alice',
      sub: 'alice',
      client_id: 'keyhold',
      token_type: 'Bearer',
    })
    expect(body).toMatchObject({ exp: claims.exp, iat: claims.iat, jti: claims.jti, aud: 'deals', iss: stack.auth.url })
    expect(String(body.scope).split(' ')).toContain('deal.complete')
    expect(headers.get('cache-control')).toBe('no-store')
    expect((await introspect(refresh)).body).toMatchObject({ active: true, username: 'alice', client_id: 'keyhold' })
    const other = await stack.logIn('bob')
    for (const token of [other.access, other.refresh, 'nonsense', `${access}x`, hmac.id, hmac.secret])
      expect((await introspect(token)).body).toEqual({ active: false })
    const admin = (await stack.logIn('admin')).access
    const asAdmin = (token: string) =>
      postForm(stack, '/oauth/introspect', { token }, { authorization: `Bearer ${admin}` })
    expect((await asAdmin(other.access)).body).toMatchObject({ active: true, username: 'bob' })
    expect((await asAdmin(other.refresh)).body).toMatchObject({ active: true, username: 'bob' })
    const asBob = await postForm(
      stack,
      '/oauth/introspect',
      { token: access },
      { authorization: `Bearer ${other.access}` },
    )
    expect(asBob.body).toEqual({ active: false })
    await stack.auth.send('/refresh', { method: 'POST', token: refresh })
    expect((await introspect(refresh)).body).toEqual({ active: false })
    await stack.auth.send('/logout', { method: 'POST', token: access })
    expect((await introspect(access)).body).toEqual({ active: false })
  })

  it('tells it to callers of other schemes too: a user by Basic, an API key by its signature', async () => {
    const { access } = await stack.logIn('carol')
    const user = Buffer.from(`carol:${passwordOf('carol')}`).toString('base64')
    const asCarol = await postForm(stack, '/oauth/introspect', { token: access }, { authorization: `Basic ${user}` })
    expect(asCarol.body).toMatchObject({ active: true, username: 'carol' })
    const wrong = Buffer.from('carol:not her password').toString('base64')
    const refused = await postForm(stack, '/oauth/introspect', { token: access }, { authorization: `Basic ${wrong}` })
    expectOAuthError(refused, 401, 'invalid_client')
    const keyless = await postForm(stack, '/oauth/introspect', { token: access }, basicOf(randomUUID(), 'secret'))
    expectOAuthError(keyless, 401, 'invalid_client')
    const carolsKey = await makeApiKey(stack, access, { kind: 'hmac', requireBodyHash: false })
    const query = `apikey=${carolsKey.id}&timestamp=${Math.floor(stack.clock.now() / 1000)}`
    const signature = createHmac('sha256', carolsKey.secret).update(`/oauth/introspect?${query}`).digest('hex')
    const signed = await postForm(stack, `/oauth/introspect?${query}&signature=${signature}`, { token: access })
    expect(signed.body, signed.text).toMatchObject({ active: true, username: 'carol' })
  })

  it('ends a login by either of its tokens, whichever the hint, and only for its own client', async () => {
    for (const kind of ['access', 'refresh'] as const) {
      const tokens = await stack.logIn('carol')
      expectOAuthError(await asKey('/oauth/revoke', { token: tokens[kind] }), 400, 'unauthorized_client')
      expect((await deals(tokens.access)).status).toBe(200)
      const revoked = await postForm(stack, '/oauth/revoke', {
        token: tokens[kind],
        client_id: 'keyhold',
        token_type_hint: 'x',
      })
      expect({ status: revoked.status, body: revoked.body }).toEqual({ status: 200, body: {} })
      expectProblem(await stack.auth.send('/me', { token: tokens.access }), 401, 'login-ended')
      expect((await postForm(stack, '/oauth/revoke', { token: tokens[kind] })).status).toBe(200)
    }
  })

  it('ends one token of a key, for that key alone, within a second and on both servers', async () => {
    const [token, sister] = [await keyToken(), await keyToken()]
    expect((await deals(token)).status).toBe(200)
    expectOAuthError(await postForm(stack, '/oauth/revoke', { token }), 401, 'invalid_client')
    const other = await makeApiKey(stack, alice, { kind: 'hmac' })
    expectOAuthError(await asKey('/oauth/revoke', { token }, other), 400, 'unauthorized_client')
    expect((await deals(token)).status).toBe(200)
    expect((await asKey('/oauth/revoke', { token })).status).toBe(200)
    expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
    await withinASecond(() => deals(token), { from: 200, to: 401 })
    expect((await introspect(token)).body).toEqual({ active: false })
    expect((await deals(sister)).status).toBe(200)
    expect((await asKey('/oauth/revoke', { token })).status).toBe(200)
    expect((await asKey('/oauth/revoke', { token: 'nonsense' })).status).toBe(200)
  })

  it.each([
    ['of a user', ['username'], 'alice'],
    ['of nobody', [], 'anonymous'],
  ])(
    'ends one key-signed token %s for whoever has it, on both servers, and no other',
    async (_whose, include, owner) => {
      const admin = (await stack.logIn('admin')).access
      const issue = () => keySignedToken(stack.auth, { username: 'alice', include })
      const [token, sister] = [await issue(), await issue()]
      const send = (one: string, server: TestServer, path: string) =>
        server.send(path, { headers: keySignedHeaders(one) })
      const askDeals = (one: string) => send(one, stack.deal, '/rest/v1/deals')
      const ofDeals = async (one: string) => (await askDeals(one)).status
      const ofMe = async (one: string) => (await send(one, stack.auth, '/me')).status
      const alive = await ofDeals(token)
      expect(alive).not.toBe(401)
      expectOAuthError(await asKey('/oauth/revoke', { token }), 400, 'unauthorized_client')
      expect(await ofDeals(token)).toBe(alive)
      const before = (await stack.auth.send('/audit?limit=200', { token: admin })).body.items as { seq: number }[]
      for (let time = 0; time < 2; time += 1) {
        const { status, body } = await postForm(stack, '/oauth/revoke', { token })
        expect({ status, body }).toEqual({ status: 200, body: {} })
      }
      expect(await ofMe(token)).toBe(401)
      await withinASecond(() => askDeals(token), { from: alive, to: 401 })
      expect([await ofDeals(sister), await ofMe(sister)]).toEqual([alive, 200])
      const { body } = await stack.auth.send(`/audit?after=${before.at(-1)?.seq}&limit=200`, { token: admin })
      expect((body.items as unknown[])[0]).toMatchObject({
        actor: owner,
        action: 'key-signed-token.revoked',
        outcome: 'succeeded',
        address: '127.0.0.1',
      })
    },
  )

  it('ends one token of a key at /logout too, for whoever holds it', async () => {
    const [token, sister] = [await keyToken(), await keyToken()]
    for (let round = 0; round < 2; round += 1) {
      expect((await stack.auth.send('/logout', { method: 'POST', token })).status).toBe(204)
      expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')
    }
    await withinASecond(() => deals(token), { from: 200, to: 401 })
    expect((await deals(sister)).status).toBe(200)
    const admin = (await stack.logIn('admin')).access
    const { items } = (await stack.auth.send('/audit?limit=200', { token: admin })).body
    const revoked = { action: 'token.revoked', actor: 'alice', target: decodeJwt(token).jti, outcome: 'succeeded' }
    expect(items).toContainEqual(expect.objectContaining(revoked))
  })

  it('remembers a revoked token as long as any server may take it for alive', async () => {
    const token = await keyToken()
    await asKey('/oauth/revoke', { token })
    const removedAfter = (seconds: number) => {
      const later = { ...stack.clock, now: () => stack.clock.now() + seconds * 1000 }
      return createRevokedTokenExpiry(later).removeBatch(stack.database.drizzle, { now: '', limit: 10 })
    }
    expect(await removedAfter(1801)).toBe(0)
    expect(await removedAfter(1900)).toBeGreaterThan(0)
  })

  it('ends what a disabled owner had, and takes no key of one', async () => {
    const admin = (await stack.logIn('admin')).access
    const key = await makeApiKey(stack, admin, { kind: 'hmac', username: 'dave' })
    const token = await keyToken(key)
    await stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { enabled: false } })
    expect((await stack.auth.send('/me', { token })).status).toBe(401)
    expectOAuthError(await asKey('/oauth/token', clientCredentials, key), 401, 'invalid_client')
    await stack.auth.send('/users/dave', { method: 'PATCH', token: admin, json: { enabled: true } })
    expect((await stack.auth.send('/me', { token })).status).toBe(401)
    await keyToken(key)
  })
})
