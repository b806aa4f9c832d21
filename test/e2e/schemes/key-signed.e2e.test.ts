import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { describeBackends, describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

let stack: Stack

const challenge = 'KeySigned realm="keyhold"'
/** A client behind the one proxy that these servers trust. */
const from = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })
const bothServers = () => [stack.auth, ...stack.deals].map((server) => ({ server, path: pathOn(server) }))
const pathOn = (server: TestServer) => (server === stack.auth ? '/me' : '/rest/v1/deals')

/** Asks every server who calls. */
const askAll = (headers: Record<string, string>): Promise<Reply[]> =>
  Promise.all(bothServers().map(({ server, path }) => server.send(path, { headers })))

const expectAll = async (headers: Record<string, string>, status: number, code: string): Promise<void> => {
  for (const reply of await askAll(headers)) {
    expectProblem(reply, status, code)
    expect(reply.headers.get('www-authenticate')).toBe(challenge)
  }
}

const administer = async (method: string, path: string, json?: unknown): Promise<void> => {
  const { access: token } = await stack.logIn('admin')
  const { status, text } = await stack.auth.send(path, { method, token, ...(json !== undefined && { json }) })
  expect({ status, text, isDone: status < 300 }).toMatchObject({ isDone: true })
}

const createDeal = (server: TestServer, headers: Record<string, string>) =>
  server.send('/rest/v1/deals/', { headers, json: { name: 'by key-signed token', price: 5 } })

/**
 * Every deal server accepts the token; then the change; then each of them refuses it within a second, and from then on.
 */
const refusedAfter = async (headers: Record<string, string>, change: () => Promise<unknown>, code: string) => {
  for (const deal of stack.deals) expect((await deal.send('/rest/v1/deals', { headers })).status).toBe(200)
  await change()
  const read = (deal: TestServer) => deal.send('/rest/v1/deals', { headers })
  const replies = stack.deals.map((deal) => withinASecond(() => read(deal), { from: 200, to: 401 }))
  for (const reply of await Promise.all(replies)) expectProblem(reply, 401, code)
  await expectAll(headers, 401, code)
}

describeBackends('key-signed tokens', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2, environment: { TRUST_PROXY: '1' } })
  })
  afterAll(() => stack.close())

  it.each([[[]], [['username']], [['ip']], [['password']], [['username', 'ip']], [['username', 'password']]])(
    'are issued and taken with %j',
    (include) => issuedAndTaken(include),
  )
  it.each([[['ip', 'password']], [['password', 'ip', 'username']]])('are issued and taken with %j', (include) =>
    issuedAndTaken(include),
  )

  const issuedAndTaken = async (include: string[]) => {
    const json = { username: 'ALICE', password: passwordOf('alice'), include }
    const answer = await stack.auth.send('/key-signed-tokens', { json })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.body).toEqual({
      token: expect.stringMatching(/^kst1\.[A-Za-z0-9_-]{43}\.[A-Za-z0-9_-]{342}$/),
      token_type: 'KeySigned',
      kid: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      expires_at: expect.any(Number),
      include: ['username', 'ip', 'password'].filter((part) => include.includes(part)),
    })
    const { token, kid, expires_at } = answer.body
    expect(String(token).split('.')[1]).toBe(kid)
    expect(Math.abs(Number(expires_at) - stack.clock.now() / 1000 - 1800)).toBeLessThan(5)

    const headers = keySignedHeaders(String(token), include.includes('password') ? passwordOf('alice') : undefined)
    const me = await stack.auth.send('/me', { headers })
    const username = include.includes('username') ? 'alice' : 'anonymous'
    expect(me.body).toMatchObject({ username, scheme: 'key-signed', expiresAt: expect.stringMatching(/Z$/) })
    for (const deal of stack.deals) {
      const reply = await deal.send('/rest/v1/deals', { headers })
      if (username === 'alice') expect(reply.status).toBe(200)
      else expectProblem(reply, 403, 'missing-right')
      expect((await createDeal(deal, headers)).status).toBe(username === 'alice' ? 201 : 403)
    }
  }

  it('hold the user name alone when nothing is said', async () => {
    const json = { username: 'bob', password: passwordOf('bob') }
    expect((await stack.auth.send('/key-signed-tokens', { json })).body.include).toEqual(['username'])
  })

  it('are refused for a wrong password as a login is, whoever is asked for', async () => {
    await administer('PATCH', '/users/dave', { enabled: false })
    const wrong = [
      { username: 'alice', password: 'not the password' },
      { username: 'nobody-there', password: 'not the password' },
      { username: 'dave', password: passwordOf('dave') },
      { username: 'anonymous', password: 'not the password' },
      { username: 'a b', password: 'not the password' },
      { username: 'alice', password: 'x'.repeat(2000) },
    ]
    const replies = await Promise.all(
      wrong.map((json) => stack.auth.send('/key-signed-tokens', { json: { ...json, include: ['password'] } })),
    )
    for (const reply of replies) {
      expectProblem(reply, 401, 'invalid-credentials')
      expect(reply.headers.get('www-authenticate')).toBe('Bearer realm="keyhold"')
    }
    expect(new Set(replies.map(({ body }) => body.detail)).size).toBe(1)
    await administer('PATCH', '/users/dave', { enabled: true })
  })

  it.each([
    [['name'], 422, 'invalid-value'],
    [['username', 'username'], 422, 'invalid-value'],
    [['Username'], 422, 'invalid-value'],
    ['username', 400, 'invalid-body'],
    [null, 400, 'invalid-body'],
    [[1], 400, 'invalid-body'],
  ])('are refused with include %j', async (include, status, code) => {
    const json = { username: 'alice', password: passwordOf('alice'), include }
    expectProblem(await stack.auth.send('/key-signed-tokens', { json }), status, code)
  })

  it('with an address are refused from any other, and taken however the same one is spelt', async () => {
    const include = ['username', 'ip']
    for (const [issuedTo, same, others] of [
      ['203.0.113.7', '::ffff:203.0.113.7', ['203.0.113.8', '::1', '127.0.0.1']],
      ['2001:db8::7', '2001:0DB8:0:0:0:0:0:7', ['2001:db8::8', '203.0.113.7']],
    ] as const) {
      const token = await keySignedToken(stack.auth, { username: 'alice', include, headers: from(issuedTo) })
      const headers = keySignedHeaders(token)
      for (const address of [issuedTo, same]) {
        const replies = await askAll({ ...headers, ...from(address) })
        expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
      }
      for (const address of others) await expectAll({ ...headers, ...from(address) }, 401, 'invalid-token')
      await expectAll(headers, 401, 'invalid-token')
    }
  })

  it('with a password need it with every call', async () => {
    const token = await keySignedToken(stack.auth, { username: 'alice', include: ['username', 'password'] })
    for (let round = 0; round < 2; round += 1) {
      const replies = await askAll(keySignedHeaders(token, passwordOf('alice')))
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
      await expectAll(keySignedHeaders(token), 401, 'token-password-required')
      await expectAll(keySignedHeaders(token, 'another password'), 401, 'invalid-credentials')
    }
  })

  it('without a password are refused with one', async () => {
    const token = await keySignedToken(stack.auth, { username: 'alice' })
    await expectAll(keySignedHeaders(token, passwordOf('alice')), 401, 'invalid-token')
  })

  it('without a name are anonymous: what anonymous may read they read, and they change nothing', async () => {
    const headers = keySignedHeaders(await keySignedToken(stack.auth, { username: 'bob', include: [] }))
    for (const deal of stack.deals) expectProblem(await deal.send('/rest/v1/deals', { headers }), 403, 'missing-right')
    await administer('PATCH', '/users/anonymous', { rights: ['deal.read'] })
    for (const deal of stack.deals) {
      await withinASecond(() => deal.send('/rest/v1/deals', { headers }), { from: 403, to: 200 })
      expectProblem(await createDeal(deal, headers), 403, 'missing-right')
    }
    const { access } = await stack.logIn('alice')
    const made = await stack.deals[0]?.send('/rest/v1/deals', { token: access, json: { name: 'deal123', price: 1 } })
    const path = String(made?.headers.get('location'))
    const change = (json: unknown) => stack.deals[0]?.send(path, { method: 'PATCH', headers, json })
    expect(await change({ name: 'deal124' })).toMatchObject({ status: 403, body: { missingRight: 'deal.rename' } })
    expect(await change({ name: 'deal123' })).toMatchObject({ status: 403, body: { code: 'missing-right' } })
    // Neither bob's password nor his logout is theirs.
    await administer('POST', '/users/bob/logout')
    expect((await askAll(headers)).map(({ status }) => status)).toEqual([200, 200, 200])
    await refusedAfter(headers, () => administer('POST', '/users/anonymous/logout'), 'login-ended')
  })
})

describeEmbedded('without the scheme', (openBackend) => {
  it('neither issues nor takes nor names key-signed tokens', async () => {
    const token = `kst1.${'k'.repeat(43)}.${'A'.repeat(342)}`
    const environment = { AUTH_SCHEMES: 'bearer' }
    const bearer = /^Bearer realm="keyhold"(, resource_metadata="[^"]+")?$/
    const other = await openStack(openBackend, { environment })
    try {
      const json = { username: 'alice', password: passwordOf('alice') }
      expectProblem(await other.auth.send('/key-signed-tokens', { json }), 404, 'not-found')
      for (const [server, path] of [[other.auth, '/me'] as const, [other.deal, '/rest/v1/deals'] as const]) {
        const reply = await server.send(path, { headers: keySignedHeaders(token) })
        expectProblem(reply, 401, 'unknown-scheme')
        expect(reply.headers.get('www-authenticate')).toMatch(bearer)
        const { components, paths } = (await server.send('/openapi.json')).body as {
          [part: string]: { securitySchemes?: object }
        }
        expect(Object.keys(components?.securitySchemes ?? {})).not.toContain('keySigned')
        expect(Object.keys(paths ?? {})).not.toContain('/key-signed-tokens')
      }
      expect((await other.deal.send('/readyz')).status).toBe(200)
    } finally {
      await other.close()
    }
  })
})
