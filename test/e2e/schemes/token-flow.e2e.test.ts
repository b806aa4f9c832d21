import { connect } from 'node:net'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { passTime } from '../../auth-server/support/pass-time.ts'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type Tokens } from '../../support/worlds/stack.ts'

let stack: Stack

const refresh = (token: string) => stack.auth.send('/refresh', { method: 'POST', token })
const logOut = (token: string) => stack.auth.send('/logout', { method: 'POST', token })
const readDeals = (token: string) => stack.deal.send('/rest/v1/deals', { token })
const me = (token: string) => stack.auth.send('/me', { token })

const tokensOf = ({ status, body }: Reply): Tokens => {
  expect(status).toBe(200)
  return { access: String(body.access_token), refresh: String(body.refresh_token) }
}

const expectDead = async ({ access, refresh: token }: Tokens): Promise<void> => {
  expectProblem(await readDeals(access), 401, 'login-ended')
  expectProblem(await me(access), 401, 'login-ended')
  expectProblem(await refresh(token), 400, 'invalid_grant')
}

describeBackends('the token flow', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  it('logs in: a pair of tokens, and the access token works at both servers', async () => {
    const reply = await stack.auth.send('/login', { json: { username: 'alice', password: passwordOf('alice') } })
    expect(reply.body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refresh_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      token_type: 'Bearer',
      expires_in: 1800,
      refresh_expires_in: 86_400,
    })
    const { access } = tokensOf(reply)
    expect((await readDeals(access)).status).toBe(200)
    const { body } = await me(access)
    expect(body).toMatchObject({ username: 'alice', roles: ['manager'], scheme: 'bearer' })
    expect(body.rights).toContain('deal.delete')
    expect(Math.abs(Date.parse(String(body.expiresAt)) - stack.clock.now() - 1_800_000)).toBeLessThan(10_000)
  })

  it('answers unknown user, wrong password and disabled user alike, byte for byte but for the request', async () => {
    const { access } = await stack.logIn('admin')
    const disabled = { username: 'disabled', password: 'a password of their own', enabled: false }
    expect((await stack.auth.send('/users', { token: access, json: disabled })).status).toBe(201)
    const attempts = [
      { username: 'nobody', password: passwordOf('alice') },
      { username: 'alice', password: passwordOf('bob') },
      { username: disabled.username, password: disabled.password },
      { username: 'anonymous', password: 'a password of their own' },
      { username: 'no user name: \u0000 ü', password: 'a password of their own' },
      { username: 'alice', password: 'x'.repeat(2000) },
    ]
    const replies = []
    for (const json of attempts) replies.push(await stack.auth.send('/login', { json }))
    for (const reply of replies) {
      expectProblem(reply, 401, 'invalid-credentials')
      expect(reply.headers.get('www-authenticate')).toBe('Bearer realm="keyhold"')
    }
    const texts = replies.map(({ text, body }) => text.replaceAll(String(body.requestId), 'REQUEST'))
    expect(new Set(texts).size).toBe(1)
  })

  it('takes the token just before for stolen when the window is over, says so, and ends the login', async () => {
    const refreshOverOAuth = (token: string) =>
      stack.auth.send('/oauth/token', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token }).toString(),
      })
    const [first, other] = [await stack.logIn('alice'), await stack.logIn('alice')]
    const second = tokensOf(await refresh(first.refresh))
    const third = tokensOf(await refreshOverOAuth(other.refresh))
    const clock = { advance: (milliseconds: number) => stack.clock.advanceSeconds(milliseconds / 1000) }
    await passTime({ clock, database: stack.database }, 61_000)
    const refused = await refresh(first.refresh)
    expectProblem(refused, 400, 'invalid_grant')
    expect(refused.body.detail).toMatch(/within 60 seconds .* over/)
    await expectDead(second)
    const { status, body } = await refreshOverOAuth(other.refresh)
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_grant' })
    expect(body.error_description).toMatch(/within 60 seconds .* over/)
    await expectDead(third)
    expect((await logOut(first.refresh)).status).toBe(204)
  })

  it('decides nothing for a client that has gone', async () => {
    const { refresh: token } = await stack.logIn('alice')
    const lines = ['POST /refresh HTTP/1.1', 'host: 127.0.0.1', `authorization: Bearer ${token}`, '', '']
    await new Promise<void>((resolve) => {
      const socket = connect(stack.auth.port, '127.0.0.1')
      socket.on('close', () => resolve())
      socket.end(lines.join('\r\n'))
    })
    const refused = () => stack.logLines.some((line) => line.includes('malformed-request') && line.includes('/refresh'))
    await eventually(() => expect(refused()).toBe(true))
    const sql = 'select counter from auth.login_families where id = $1::text::uuid'
    const [row] = await stack.database.query<{ counter: number }>(sql, [String(decodeJwt(token).sid)])
    expect(row?.counter).toBe(0)
  })

  it.each(['access', 'refresh'] as const)('logs out with the %s token: both tokens stop working', async (kind) => {
    const tokens = await stack.logIn('alice')
    const other = await stack.logIn('alice')
    const reply = await logOut(tokens[kind])
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' })
    await expectDead(tokens)
    expect((await readDeals(other.access)).status).toBe(200)
    expect((await logOut(tokens[kind])).status).toBe(204)
  })

  it('refuses an expired access token with 400 at both servers, and says that it is the token', async () => {
    const { access, refresh: token } = await stack.logIn('alice')
    stack.clock.advanceSeconds(1780)
    expect((await readDeals(access)).status).toBe(200)
    stack.clock.advanceSeconds(21)
    for (const reply of [await readDeals(access), await me(access)]) {
      expectProblem(reply, 400, 'token-expired')
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer realm="keyhold", error="invalid_token"/)
    }
    expect((await readDeals(tokensOf(await refresh(token)).access)).status).toBe(200)
  })

  describe('which token goes where', () => {
    it('refuses a refresh token at the deal server and at /me', async () => {
      const { refresh: token } = await stack.logIn('alice')
      for (const reply of [await readDeals(token), await me(token)]) expectProblem(reply, 401, 'invalid-token')
    })
  })

  it('keeps every answer with a credential, and every error about one, out of all caches', async () => {
    const { access, refresh: token } = await stack.logIn('alice')
    const credentials = { username: 'alice', password: passwordOf('alice') }
    const replies = [
      await stack.auth.send('/login', { json: credentials }),
      await stack.auth.send('/login', { json: { ...credentials, password: 'not this one' } }),
      await stack.auth.send('/login', { json: { username: 'alice' } }),
      await refresh(token),
      await refresh('junk'),
      await me(access),
      await me('junk'),
      await readDeals('junk'),
      await stack.deal.send('/rest/v1/deals'),
      await logOut(access),
      await logOut('junk'),
    ]
    expect(replies.map(({ headers }) => headers.get('cache-control'))).toEqual(replies.map(() => 'no-store'))
  })
})

describeBackends('the token flow with EXPIRED_TOKEN_STATUS=401 and other bounds', (openBackend) => {
  beforeAll(async () => {
    const environment = {
      EXPIRED_TOKEN_STATUS: '401',
      ACCESS_TOKEN_TTL: '60',
      MAX_LOGINS_PER_USER: '2',
    }
    stack = await openStack(openBackend, { environment })
  })
  afterAll(() => stack.close())

  it('answers 401 to an expired access token at both servers', async () => {
    const { access } = await stack.logIn('alice')
    stack.clock.advanceSeconds(61)
    for (const reply of [await readDeals(access), await me(access)]) expectProblem(reply, 401, 'token-expired')
  })

  it('ends the login longest not used when one more than MAX_LOGINS_PER_USER begins, tokens and sessions alike', async () => {
    const session = await signIn(stack, 'bob')
    const readDealsBySession = () => stack.deal.send('/rest/v1/deals', { headers: { cookie: session.cookie } })
    expect((await readDealsBySession()).status).toBe(200)
    // The last use of a session moves in steps of a minute.
    stack.clock.advanceSeconds(61)
    const first = await stack.logIn('bob')
    expect((await readDeals(first.access)).status).toBe(200)
    // Times of token logins are in whole seconds.
    stack.clock.advanceSeconds(2)
    const second = await stack.logIn('bob')
    expectProblem(await readDealsBySession(), 401, 'invalid-session')
    await signIn(stack, 'bob')
    expectProblem(await readDeals(first.access), 401, 'login-ended')
    expectProblem(await refresh(first.refresh), 400, 'invalid_grant')
    expect((await readDeals(second.access)).status).toBe(200)
    const admin = (await stack.logIn('admin')).access
    const { body } = await stack.auth.send('/audit?limit=200', { token: admin })
    const displaced = (body.items as { outcome: string }[]).filter(({ outcome }) => outcome === 'displaced')
    expect(displaced).toMatchObject([
      { actor: 'bob', action: 'login.ended', target: session.id },
      { actor: 'bob', action: 'login.ended', target: decodeJwt(first.access).sid },
    ])
  })
})
