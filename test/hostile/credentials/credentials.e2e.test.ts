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
