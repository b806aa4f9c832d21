import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { expectProblem, type Reply, rememberSecret, type Sent } from '../../support/clients/http-client.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { fingerprintOfData } from '../../support/stores/data-fingerprint.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let token: string
let before: string

/** Asks each route that needs a caller, on both servers. */
const askAll = async (sent: Sent): Promise<Reply[]> => [
  await stack.deal.send('/rest/v1/deals', sent),
  await stack.deal.send(`/rest/v1/deals/${randomUUID()}`, sent),
  await stack.auth.send('/me', sent),
  await stack.auth.send('/users', sent),
]

const bearerChallenge = /^Bearer realm="keyhold"/
const invalidToken = /^Bearer realm="keyhold", error="invalid_token"(, resource_metadata="[^"]+")?$/

describeEmbedded('credentials that cannot be accepted', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    token = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    before = await fingerprintOfData(stack.database)
  })

  const expectRefused = async (reply: Reply, status: number, code: string): Promise<void> => {
    expectProblem(reply, status, code)
    expect(await fingerprintOfData(stack.database)).toBe(before)
  }

  it('wants one, and says of which schemes', async () => {
    for (const reply of await askAll({})) {
      await expectRefused(reply, 401, 'unauthenticated')
      expect(reply.headers.get('www-authenticate')).toMatch(bearerChallenge)
      expect(reply.body.schemes).toContain('bearer')
    }
  })

  it('refuses a Bearer without a token', async () => {
    for (const reply of await askAll({ headers: { authorization: 'Bearer' } })) {
      await expectRefused(reply, 401, 'invalid-token')
      expect(reply.headers.get('www-authenticate')).toMatch(bearerChallenge)
    }
  })

  it.each(['Basi YTpi', 'Bearer: x', 'bearer=x', 'Token x', '!', 'Keyhold-Internal x'])(
    'refuses the Authorization %j',
    async (authorization) => {
      for (const reply of await askAll({ headers: { authorization } })) {
        await expectRefused(reply, 401, 'unknown-scheme')
        expect(reply.headers.get('www-authenticate')).toMatch(bearerChallenge)
      }
    },
  )

  it('refuses a token that was changed anywhere, and repeats nothing of it', async () => {
    const [head = '', claims = '', signature = ''] = token.split('.')
    const changed = (part: string, change: object): string => {
      const members: object = JSON.parse(Buffer.from(part, 'base64url').toString())
      return Buffer.from(JSON.stringify({ ...members, ...change })).toString('base64url')
    }
    const forged = [
      'junk',
      'a.b.c',
      `${head}.${claims}`,
      `${head}.${claims}.`,
      `${token}.x`,
      `${token}=`,
      `${head}.${claims}.${signature.slice(0, -4)}AAAA`,
      `${head}.${changed(claims, { sub: 'alice' })}.${signature}`,
      `${changed(head, { alg: 'none' })}.${claims}.`,
      `${changed(head, { alg: 'HS256' })}.${claims}.${signature}`,
      `${changed(head, { kid: '../../etc/passwd' })}.${claims}.${signature}`,
      `${changed(head, { kid: ['x'] })}.${claims}.${signature}`,
      'x'.repeat(9000),
    ]
    for (const one of forged) {
      for (const reply of await askAll({ token: one })) {
        await expectRefused(reply, 401, 'invalid-token')
        expect(reply.headers.get('www-authenticate')).toMatch(invalidToken)
        expect(reply.text.includes(one)).toBe(false)
      }
    }
  })

  it('refuses two Authorization lines, even if both are good', async () => {
    const line = `authorization: Bearer ${token}\r\n`
    for (const server of [stack.auth, stack.deal]) {
      const path = server === stack.auth ? '/me' : '/rest/v1/deals'
      const reply = await sendRaw(
        server.port,
        `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${line}${line}\r\n`,
      )
      if (!reply) throw new Error('no answer')
      await expectRefused(reply, 400, 'several-credentials')
      const one = await sendRaw(
        server.port,
        `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${line}\r\n`,
      )
      expect(one?.status).toBe(200)
    }
  })

  it('takes the name of the scheme in any case', async () => {
    const replies = await askAll({ headers: { authorization: `bEARER ${token}` } })
    expect(replies.map(({ status }) => status)).toEqual([200, 404, 200, 200])
  })

  it.each([
    ['x-forwarded-for', '203.0.113.7'],
    ['x-forwarded-proto', 'https'],
    ['forwarded', 'for=203.0.113.7;proto=https'],
    ['x-real-ip', '203.0.113.7'],
  ])(
    'refuses whatever came through a proxy that nobody vouches for (%s), before it looks at it',
    async (name, value) => {
      const headers = { [name]: value }
      const login = { json: { username: 'alice', password: passwordOf('alice') }, headers }
      const replies = [
        ...(await askAll({ token, headers })),
        ...(await askAll({ token: 'junk', headers })),
        ...(await askAll({ headers })),
        await stack.auth.send('/login', login),
        await stack.auth.send('/login', { ...login, json: {} }),
        await stack.auth.send('/refresh', { method: 'POST', headers }),
        await stack.auth.send('/logout', { method: 'POST', headers }),
      ]
      for (const reply of replies) await expectRefused(reply, 403, 'insecure-transport')
      expect((await stack.auth.send('/.well-known/jwks.json', { headers })).status).toBe(200)
    },
  )

  it("refuses another issuer's token, though that one is good at home", async () => {
    const foreign = await openStack(openBackend)
    try {
      const { access } = await foreign.logIn('admin')
      expect((await foreign.deal.send('/rest/v1/deals', { token: access })).status).toBe(200)
      for (const reply of await askAll({ token: access })) await expectRefused(reply, 401, 'invalid-token')
    } finally {
      await foreign.close()
    }
  })

  it.each(['/internal/principals/alice', '/internal/feed'])('keeps %s for the deal server', async (path) => {
    await expectRefused(await stack.auth.send(path), 401, 'unauthenticated')
    await expectRefused(await stack.auth.send(path, { token }), 401, 'unauthenticated')
    const seconds = Math.floor(stack.clock.now() / 1000)
    const forged = `Keyhold-Internal time=${seconds}, nonce=${'n'.repeat(24)}, mac=${'A'.repeat(43)}`
    await expectRefused(await stack.auth.send(path, { headers: { authorization: forged } }), 401, 'unauthenticated')
  })

  it('writes nothing secret into the log, nor into any answer', async () => {
    const planted = `planted-${randomUUID()}`
    rememberSecret(planted)
    const { auth, deal } = stack
    const put = (username: string, json: object) =>
      auth.send(`/users/${username}/password`, { method: 'PUT', token, json })
    const replies = [
      await auth.send('/login', { json: { username: 'alice', password: planted } }),
      await auth.send('/login', { json: { username: planted, password: planted, extra: planted } }),
      await auth.send('/login', { body: `{"password":"${planted}"`, headers: { 'content-type': 'application/json' } }),
      await auth.send('/login', { body: planted, headers: { 'content-type': planted } }),
      await auth.send('/login', { json: { username: 'alice', password: [planted] } }),
      await auth.send('/users', { token, json: { username: 'a b', password: planted } }),
      await auth.send('/users', { token, json: { username: 'planted', password: `${planted}\u0000` } }),
      await put('alice', { newPassword: planted, oldPassword: 1 }),
      await put('admin', { newPassword: 'a good long password', oldPassword: planted }),
      await put('nobody-there', { newPassword: planted }),
      await auth.send('/refresh', { method: 'POST', token: planted }),
      await auth.send('/logout', { method: 'POST', token: planted }),
      ...(await askAll({ token: planted })),
      ...(await askAll({ headers: { authorization: `Basic ${planted}` } })),
      ...(await askAll({ headers: { cookie: `keyhold_session=${planted}` } })),
      await auth.send(`/me?access_token=${planted}`),
      await deal.send(`/rest/v1/deals/${randomUUID()}/hold?access_token=x${planted}`, { token, json: { reason: 'x' } }),
    ]
    expect(replies.map(({ status }) => status).filter((status) => status < 400 || status >= 500)).toEqual([])
    expect(replies.filter(({ text }) => text.includes(planted))).toEqual([])
    expect(stack.logLines.join('').includes(planted)).toBe(false)
    expect(stack.logLines.length).toBeGreaterThan(replies.length)
  })
})
