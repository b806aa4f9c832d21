import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { cookieSetBy, signIn } from '../../support/clients/pages/sign-in.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describeOnce, openEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack

const readDeals = (cookie: string, headers: Record<string, string> = {}) =>
  stack.deal.send('/rest/v1/deals', { headers: { cookie, ...headers } })

describe('sessions of servers that clients see over HTTPS', () => {
  const attributes = ['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']
  beforeAll(async () => {
    const port = String(await freePort())
    const environment = {
      AUTH_PORT: port,
      AUTH_URL: `http://127.0.0.1:${port}`,
      AUTH_PUBLIC_ORIGIN: 'https://auth.test',
      DEAL_PUBLIC_ORIGIN: 'https://deals.test',
    }
    stack = await openStack(openEmbedded, { environment })
  })
  afterAll(() => stack.close())

  it('have a cookie that never leaves HTTPS and this host, on both servers', async () => {
    const { key, cookie, reply } = await signIn(stack, 'carol')
    expect(cookieSetBy(reply)).toEqual({ name: '__Host-keyhold_session', value: key, attributes })
    expect((await readDeals(cookie)).status).toBe(200)
    expect((await stack.auth.send('/me', { headers: { cookie } })).status).toBe(200)
    expectProblem(await readDeals(`keyhold_session=${key}`), 401, 'unauthenticated')
    const reply2 = await stack.auth.send('/sessions/current', { method: 'DELETE', headers: { cookie } })
    const expired = { name: '__Host-keyhold_session', value: '', attributes: [...attributes, 'Max-Age=0'] }
    expect(cookieSetBy(reply2)).toEqual(expired)
    expect(cookieSetBy(await readDeals(cookie))).toEqual(expired)
  })

  it('lead forms back to their public origins', async () => {
    const fields = { username: 'carol', password: passwordOf('carol') }
    const post = (return_to: string, origin: string) =>
      stack.auth.send('/sessions', {
        body: new URLSearchParams({ ...fields, return_to }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
      })
    expect((await post('https://deals.test/docs', 'https://auth.test')).status).toBe(303)
    expect((await post('https://deals.test/docs', 'http://deals.test')).status).toBe(403)
    expect((await post('http://deals.test/docs', 'https://deals.test')).status).toBe(422)
  })
})

describe('sessions behind a trusted proxy', () => {
  beforeAll(async () => {
    stack = await openStack(openEmbedded, { environment: { TRUST_PROXY: '1' } })
  })
  afterAll(() => stack.close())

  it('have the name that goes with the scheme that the proxy saw, when set and when read', async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
    const json = { username: 'carol', password: passwordOf('carol') }
    const { cookie, key } = await signIn(stack, 'carol', { json, headers: forwarded })
    expect(cookie).toMatch(/^__Host-keyhold_session=/)
    expect((await readDeals(cookie, forwarded)).status).toBe(200)
    expectProblem(await readDeals(`keyhold_session=${key}`, forwarded), 401, 'unauthenticated')
    const { body } = await stack.auth.send('/sessions', { headers: { cookie, ...forwarded } })
    expect((body.items as { address: string }[])[0]?.address).toBe('203.0.113.9')
  })

  it('take no credential that came over plain HTTP', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'http' }
    const json = { username: 'carol', password: passwordOf('carol') }
    expectProblem(await stack.auth.send('/sessions', { json, headers }), 403, 'insecure-transport')
    expectProblem(await readDeals('keyhold_session=x', headers), 403, 'insecure-transport')
    const sent = { method: 'DELETE', headers }
    expectProblem(await stack.auth.send(`/sessions/${'A'.repeat(43)}`, sent), 403, 'insecure-transport')
  })
})

describe('without the scheme session', () => {
  beforeAll(async () => {
    stack = await openStack(openEmbedded, { environment: { AUTH_SCHEMES: 'bearer' } })
  })
  afterAll(() => stack.close())

  it('there is no way in, a cookie is no credential, and token logins can be seen and ended', async () => {
    const json = { username: 'carol', password: passwordOf('carol') }
    expectProblem(await stack.auth.send('/sessions', { json }), 405, 'method-not-allowed')
    const cookie = `keyhold_session=${'A'.repeat(43)}`
    expectProblem(await readDeals(cookie), 401, 'unauthenticated')
    const { access: token } = await stack.logIn('carol')
    expect((await stack.deal.send('/rest/v1/deals', { token, headers: { cookie } })).status).toBe(200)
    const { body } = await stack.auth.send('/sessions', { token })
    expect(body.items).toMatchObject([{ kind: 'login', current: true }])
    expect((await stack.auth.send('/sessions/current', { token, method: 'DELETE' })).status).toBe(204)
    expectProblem(await stack.deal.send('/rest/v1/deals', { token }), 401, 'login-ended')
  })
})

describeOnce('what is left of sessions', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { SESSION_IDLE_TTL: '20', SESSION_MAX_TTL: '3600' } })
  })
  afterAll(() => stack.close())

  it('obeys the settings', async () => {
    const { cookie, reply } = await signIn(stack, 'carol')
    const life = Date.parse(String(reply.body.expiresAt)) - stack.clock.now()
    expect(life).toBeGreaterThan(3590_000)
    expect(life).toBeLessThanOrEqual(3600_000)
    stack.clock.advanceSeconds(15)
    expect((await readDeals(cookie)).status).toBe(200)
    stack.clock.advanceSeconds(21)
    expect((await readDeals(cookie)).status).toBe(401)
  })

  it('is remembered in the principal record until it would have expired, and counts among ended logins', async () => {
    const { id, key } = await signIn(stack, 'bob')
    await stack.auth.send(`/sessions/${key}`, { method: 'DELETE' })
    const alive = await signIn(stack, 'bob')
    await stack.database.query(
      `insert into auth.sessions (id, key_hash, user_id, username_folded, generation, created_at, last_used_at, expires_at,
         ended_at, ended_reason)
       select gen_random_uuid(), 'hash ' || n, user_id, username_folded, generation, created_at, last_used_at, expires_at,
         ended_at, ended_reason
       from auth.sessions, generate_series(1, 999) n where id::text = $1`,
      [id],
    )
    const refused = await stack.auth.send('/login', { json: { username: 'bob', password: passwordOf('bob') } })
    expectProblem(refused, 429, 'too-many-logins')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3000)
    const json = { username: 'bob', password: passwordOf('bob') }
    expectProblem(await stack.auth.send('/sessions', { json }), 429, 'too-many-logins')
    expect((await readDeals(alive.cookie)).status).toBe(200)
    stack.clock.advanceSeconds(3601)
    expect((await stack.auth.send('/sessions', { json })).status).toBe(201)
  })

  it('ends a stream of events, by logout and by idleness', async () => {
    const open = async () => {
      const session = await signIn(stack, 'carol')
      const response = await fetch(`${stack.deal.url}/rest/v1/events`, { headers: { cookie: session.cookie } })
      expect(response.status).toBe(200)
      return { ...session, ended: response.text().then(() => true) }
    }
    const [loggedOut, idle] = [await open(), await open()]
    await stack.auth.send(`/sessions/${loggedOut.key}`, { method: 'DELETE' })
    await loggedOut.ended
    expect(await Promise.race([idle.ended, sleep(100, false)])).toBe(false)
    stack.clock.advanceSeconds(21)
    await idle.ended
  })
})
