import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { askTokens, originOf, registerClient, signedInBrowser } from '../../support/clients/sign-in/applications.ts'
import { Browser, hiddenFields } from '../../support/clients/sign-in/browser.ts'
import {
  answerOn,
  askDevice,
  beginOn,
  commandLine,
  pageOf,
  poll,
  type TestDevice,
} from '../../support/clients/sign-in/devices.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack

describeBackends('a device', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { TRUST_PROXY: '1' } })
  })
  afterAll(() => stack.close())

  const dealsWith = async (token: unknown) => (await stack.deal.send('/rest/v1/deals', { token: String(token) })).status
  const errorOf = async (reply: Promise<Reply>) => {
    const { status, body } = await reply
    expect(status).toBe(400)
    return body.error
  }
  const asAdmin = async (path: string, json: object, method: string) => {
    const { access: token } = await stack.logIn('admin')
    expect((await stack.auth.send(path, { token, json, method })).status).toBeLessThan(300)
  }
  const allowed = async (username: string, begun: TestDevice, browser?: Browser) => {
    const arrival = await answerOn(browser ?? (await signedInBrowser(stack, username)), begun, 'allow')
    expect(arrival.reply.text).toContain('The device is connected')
    return begun
  }

  it('signs a person in by oauth4webapi: a code, a page in a browser, polls, claims, deals, a refresh', async () => {
    const client = await registerClient(stack, { name: 'the set-top box' })
    const issuer = new URL(stack.auth.url)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const { body: metadata } = await stack.auth.send('/.well-known/openid-configuration')
    const own = (url: unknown) => stack.auth.url + new URL(String(url)).pathname
    const server: oauth.AuthorizationServer = {
      ...(metadata as object),
      issuer: String(metadata.issuer),
      token_endpoint: own(metadata.token_endpoint),
      device_authorization_endpoint: own(metadata.device_authorization_endpoint),
    }
    expect(metadata.grant_types_supported).toContain('urn:ietf:params:oauth:grant-type:device_code')
    const device = { client_id: client.id }
    const asked = await oauth.deviceAuthorizationRequest(
      server,
      device,
      oauth.None(),
      { scope: 'openid profile' },
      insecure,
    )
    const begun = await oauth.processDeviceAuthorizationResponse(server, device, asked)
    rememberSecret(begun.device_code)
    expect(begun).toMatchObject({ expires_in: 600, interval: 5 })
    expect(begun.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    expect(new URL(begun.verification_uri).pathname).toBe('/account/device')
    const ask = async () => {
      const reply = await oauth.deviceCodeGrantRequest(server, device, oauth.None(), begun.device_code, insecure)
      return oauth.processDeviceCodeResponse(server, device, reply)
    }
    await expect(ask()).rejects.toMatchObject({ error: 'authorization_pending' })

    const browser = new Browser(await originOf(stack))
    const signIn = await browser.go(
      new URL(begun.verification_uri_complete ?? '', issuer).pathname +
        new URL(begun.verification_uri_complete ?? '').search,
    )
    expect(signIn.url).toContain('/account/sign-in?')
    const page = await browser.signIn(signIn, 'alice', passwordOf('alice'))
    for (const text of ['the set-top box', begun.user_code, '127.0.0.1', 'alice', 'only if you began this yourself'])
      expect(page.reply.text).toContain(text)
    expect(page.reply.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const session = await stack.logIn('alice')
    stack.clock.advanceSeconds(5)
    await expect(ask()).rejects.toMatchObject({ error: 'authorization_pending' })
    await browser.go('/oauth/device/decision', { ...hiddenFields(page.reply.text), decision: 'allow' })
    stack.clock.advanceSeconds(5)
    const tokens = await ask()
    for (const secret of [tokens.access_token, tokens.refresh_token ?? '', tokens.id_token ?? ''])
      rememberSecret(secret)
    const claims = decodeJwt(tokens.access_token)
    expect(claims).toMatchObject({ client_id: client.id, sub: 'alice', amr: ['pwd'] })
    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({
      aud: client.id,
      sid: claims.sid,
      auth_time: claims.auth_time,
    })
    expect(Number(claims.iat) - Number(claims.auth_time)).toBeGreaterThanOrEqual(10)
    expect(await dealsWith(tokens.access_token)).toBe(200)
    const refresh = (refresh_token: unknown) =>
      askTokens(stack, client, { grant_type: 'refresh_token', refresh_token: String(refresh_token) })
    await browser.go('/sessions/current', { _method: 'DELETE' })
    const refreshed = await refresh(tokens.refresh_token)
    expect(refreshed.status).toBe(200)
    expect(await dealsWith(refreshed.body.access_token)).toBe(200)
    const { body: list } = await stack.auth.send('/sessions?limit=100', { token: session.access })
    expect(list.items).toContainEqual(
      expect.objectContaining({ id: claims.sid, client: { id: client.id, name: 'the set-top box' } }),
    )
    const ended = await stack.auth.send(`/sessions/${claims.sid}`, { token: session.access, method: 'DELETE' })
    expect(ended.status).toBe(204)
    expect(await dealsWith(refreshed.body.access_token)).toBe(401)
  })

  it('of the command line acts for its user, refreshes by its name alone, and is no client that can be changed', async () => {
    const { body } = await poll(stack, await allowed('bob', await beginOn(stack)))
    expect(decodeJwt(String(body.access_token))).toMatchObject({ client_id: 'keyhold-cli', sub: 'bob' })
    expect(decodeJwt(String(body.access_token))).not.toHaveProperty('scope')
    const token = String(body.access_token)
    const { body: own } = await stack.auth.send('/sessions', { token })
    const named = { id: 'keyhold-cli', name: 'Keyhold command line' }
    expect(own.items).toContainEqual(expect.objectContaining({ current: true, client: named }))
    expectProblem(
      await stack.auth.send('/refresh', { method: 'POST', token: String(body.refresh_token) }),
      400,
      'invalid_grant',
    )
    const grant = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
    expect(await errorOf(askTokens(stack, await registerClient(stack), grant))).toBe('invalid_grant')
    const refreshed = await askTokens(stack, commandLine, grant)
    expect(refreshed.status).toBe(200)
    const { access } = await stack.logIn('admin')
    const ofAdmin = (path: string, more = {}) => stack.auth.send(path, { token: access, ...more })
    expect((await ofAdmin('/clients')).text).not.toContain('keyhold-cli')
    expectProblem(await ofAdmin('/clients/keyhold-cli', { method: 'DELETE' }), 404, 'not-found')
    const { body: told } = await stack.auth.send('/oauth/introspect', {
      token: access,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: String(refreshed.body.refresh_token) }).toString(),
    })
    expect(told).toMatchObject({ active: true, client_id: 'keyhold-cli', username: 'bob' })
    const asked = new URLSearchParams({
      response_type: 'code',
      client_id: 'keyhold-cli',
      redirect_uri: 'http://127.0.0.1/',
    })
    expectProblem(await stack.auth.send(`/oauth/authorize?${asked}`), 400, 'invalid-authorization-request')
    await stack.auth.send('/logout', { method: 'POST', token: String(refreshed.body.refresh_token) })
    expect(await dealsWith(refreshed.body.access_token)).toBe(401)
  })

  it('that polls too fast waits five seconds longer each time', async () => {
    const begun = await beginOn(stack)
    expect(await errorOf(poll(stack, begun))).toBe('authorization_pending')
    stack.clock.advanceSeconds(2)
    expect(await errorOf(poll(stack, begun))).toBe('slow_down')
    stack.clock.advanceSeconds(6)
    expect(await errorOf(poll(stack, begun))).toBe('slow_down')
    stack.clock.advanceSeconds(15)
    expect(await errorOf(poll(stack, begun))).toBe('authorization_pending')
  })

  it('that was refused, or that nobody answers in time, gets nothing', async () => {
    const browser = await signedInBrowser(stack, 'bob')
    const refused = await beginOn(stack)
    expect((await answerOn(browser, refused, 'refuse')).reply.text).toContain('The device was refused')
    expect(await errorOf(poll(stack, refused))).toBe('access_denied')
    const late = await beginOn(stack)
    await allowed('bob', late, browser)
    stack.clock.advanceSeconds(601)
    expect(await errorOf(poll(stack, late))).toBe('expired_token')
    expect((await pageOf(browser, (await beginOn(stack)).userCode)).reply.status).toBe(200)
    expect((await pageOf(browser, late.userCode)).reply.status).toBe(400)
  })

  it('gets one login, however often and at once it polls, and is answered once', async () => {
    const browser = await signedInBrowser(stack, 'carol')
    const begun = await beginOn(stack)
    const answers = await Promise.all([1, 2].map(() => answerOn(browser, begun, 'allow')))
    expect(answers.filter(({ reply }) => reply.text.includes('The device is connected'))).toHaveLength(1)
    expect((await answerOn(browser, begun, 'refuse')).reply.status).toBe(400)
    const replies = await Promise.all([1, 2, 3, 4].map(() => poll(stack, begun)))
    const given = replies.filter(({ status }) => status === 200)
    expect(given).toHaveLength(1)
    expect(await errorOf(poll(stack, begun))).toBe('invalid_grant')
    expect(await dealsWith(given[0]?.body.access_token)).toBe(200)
    const rows =
      await stack.database.query(`select 1 from auth.login_families f join auth.device_requests d on d.id = f.id
      where d.state = 'taken' and f.username_folded = 'carol'`)
    expect(rows).toHaveLength(1)
  })

  it('gets nothing when the session that allowed it has ended, or its user may not any more', async () => {
    const client = await registerClient(stack, { needsRight: 'deal.read' })
    const between: [string, (browser: Browser) => Promise<unknown>][] = [
      ['signed out', (browser) => browser.go('/sessions/current', { _method: 'DELETE' })],
      ['logged out everywhere', () => asAdmin('/users/carol/logout', {}, 'POST')],
      ['without the right', () => asAdmin('/users/carol', { roles: [] }, 'PATCH')],
      ['disabled', () => asAdmin('/users/carol', { enabled: false }, 'PATCH')],
    ]
    for (const [what, change] of between) {
      await asAdmin('/users/carol', { enabled: true, roles: ['manager'] }, 'PATCH')
      const browser = await signedInBrowser(stack, 'carol')
      const begun = await allowed('carol', await beginOn(stack, client), browser)
      await change(browser)
      expect(await errorOf(poll(stack, begun)), what).toBe('invalid_grant')
    }
    await asAdmin('/users/carol', { enabled: true, roles: [] }, 'PATCH')
    const browser = await signedInBrowser(stack, 'carol')
    const refused = await answerOn(browser, await beginOn(stack, client), 'allow')
    expect(refused.reply.status).toBe(403)
    expect(refused.reply.text).toContain('deal.read')
  })

  it('gets tokens when the user who allowed it has signed in again since, and none when another user has', async () => {
    const again = async (username: string) => {
      const browser = await signedInBrowser(stack, 'alice')
      const begun = await allowed('alice', await beginOn(stack), browser)
      await browser.go('/sessions', { username, password: passwordOf(username) })
      return poll(stack, begun)
    }
    const { status, body } = await again('alice')
    expect({ status, sub: decodeJwt(String(body.access_token)).sub }).toEqual({ status: 200, sub: 'alice' })
    expect(await dealsWith(body.access_token)).toBe(200)
    expect(await errorOf(again('bob'))).toBe('invalid_grant')
  })

  it('of another party gets a consent, what it asked for, and ends with the consent', async () => {
    const client = await registerClient(stack, {
      name: 'the scanner',
      kind: 'confidential',
      firstParty: false,
      rights: ['deal.read'],
    })
    expect((await askDevice(stack, { ...client, secret: 'wrong' })).body.error).toBe('invalid_client')
    expect((await askDevice(stack, client, { scope: 'deal.hold' })).body.error).toBe('invalid_scope')
    expect((await askDevice(stack, client, { resource: 'https://none.example' })).body.error).toBe('invalid_target')
    const begun = await beginOn(stack, client, { scope: 'openid deal.read' })
    const browser = await signedInBrowser(stack, 'alice')
    expect((await pageOf(browser, begun.userCode)).reply.text).toContain('belongs to another party')
    const foreign = { ...begun, client: await registerClient(stack) }
    expect(await errorOf(poll(stack, foreign))).toBe('invalid_grant')
    const { body } = await poll(stack, await allowed('alice', begun, browser))
    expect(decodeJwt(String(body.access_token))).toMatchObject({ scope: 'deal.read', client_id: client.id })
    const { access: token } = await stack.logIn('alice')
    const { body: list } = await stack.auth.send('/consents', { token })
    expect(list.items).toMatchObject([{ clientId: client.id, rights: ['deal.read'], scopes: ['openid'] }])
    expect((await stack.auth.send(`/consents/${client.id}`, { token, method: 'DELETE' })).status).toBe(204)
    expect(await dealsWith(body.access_token)).toBe(401)
  })

  it('is allowed by a session alone, on this site alone', async () => {
    const { userCode } = await beginOn(stack)
    const { access: token } = await stack.logIn('alice')
    const path = `/oauth/device/request?user_code=${userCode}`
    expectProblem(await stack.auth.send(path), 401, 'unauthenticated')
    expectProblem(await stack.auth.send(path, { token }), 401, 'unauthenticated')
    const post = (headers: Record<string, string>) =>
      stack.auth.send('/oauth/device/decision', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ user_code: userCode, decision: 'allow' }).toString(),
      })
    expectProblem(await post({ authorization: `Bearer ${token}` }), 401, 'unauthenticated')
    expectProblem(await post({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }), 403, 'cross-site')
  })

  it('is found by few tries: wrong codes lock the page for their user, and no password', async () => {
    const browser = await signedInBrowser(stack, 'bob')
    const begun = await beginOn(stack)
    const typed = begun.userCode.toLowerCase().replace('-', ' ')
    expect((await pageOf(browser, typed)).reply.status).toBe(200)
    const statuses: number[] = []
    for (let count = 0; count < 12; count += 1) statuses.push((await pageOf(browser, 'BBBB-BBBB')).reply.status)
    expect(statuses.at(0)).toBe(400)
    expect(statuses.at(-1)).toBe(429)
    expect((await pageOf(browser, begun.userCode)).reply.status).toBe(429)
    expect((await signedInBrowser(stack, 'alice').then((other) => pageOf(other, begun.userCode))).reply.status).toBe(
      200,
    )
    await stack.logIn('bob')
  })

  it('that begins without end fills no table: a hundred wait for one address', async () => {
    stack.clock.advanceSeconds(601)
    const replies: Reply[] = []
    for (let count = 0; count < 102; count += 1) replies.push(await askDevice(stack, commandLine))
    for (const { body } of replies) if (body.device_code) rememberSecret(String(body.device_code))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(100)
    const last = replies.at(-1)
    expect(last).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } })
    expect(last?.headers.get('retry-after')).toBe('60')
    stack.clock.advanceSeconds(601)
    expect((await askDevice(stack, commandLine)).status).toBe(200)
  })

  it('of an IPv6 network shares its bounds: a hundred for 64 bits, 800 for 48, 10,000 for all', async () => {
    stack.clock.advanceSeconds(601)
    const statusFrom = async (address: string) => {
      const { status, body } = await stack.auth.send('/oauth/device_authorization', {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-forwarded-for': address,
          'x-forwarded-proto': 'https',
        },
        body: 'client_id=keyhold-cli',
      })
      if (body.device_code) rememberSecret(String(body.device_code))
      return status
    }
    const fill = async (count: number, address: string) => {
      const now = new Date(stack.clock.now()).toISOString()
      await stack.database.query(`insert into auth.device_requests
        (id, user_code_hash, client_id, scopes, created_at, expires_at, interval, state, client_address)
        select gen_random_uuid(), gen_random_uuid()::text, 'keyhold-cli', '{}', '${now}',
          '${now}'::timestamptz + interval '600 s', 5, 'pending', ${address} from generate_series(1, ${count}) n`)
    }
    await fill(99, "'2001:db8:1:2::' || to_hex(n)")
    expect(await statusFrom('2001:db8:1:2:f00::1')).toBe(200)
    expect(await statusFrom('2001:db8:1:2:f00::2')).toBe(429)
    await fill(699, "'2001:db8:1:' || to_hex(16 + n % 16) || '::' || to_hex(n)")
    expect(await statusFrom('2001:db8:1:3::1')).toBe(200)
    expect(await statusFrom('2001:db8:1:4::1')).toBe(429)
    expect(await statusFrom('2001:db8:2::1')).toBe(200)
    await fill(9_198, "'fe80::' || to_hex(n) || '%eth0'")
    expect(await statusFrom('203.0.113.9')).toBe(200)
    expect(await statusFrom('203.0.113.10')).toBe(429)
  })
})
