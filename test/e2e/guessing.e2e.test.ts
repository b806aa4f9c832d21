import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeBackends } from '../support/backends.ts'
import { expectProblem } from '../support/http-client.ts'
import { openStack, passwordOf, type Stack } from '../support/stack.ts'

describeBackends('guessing passwords', (openBackend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await openStack(openBackend, {
      environment: { LOGIN_FAILURES_PER_ACCOUNT: '3/600', LOGIN_FAILURES_PER_ADDRESS: '50/600', TRUST_PROXY: '1' },
    })
  })
  afterAll(() => stack.close())

  const from = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })
  const logIn = (username: string, password: string, address: string) =>
    stack.auth.send('/login', { json: { username, password }, headers: from(address) })

  it('ends with 429 and Retry-After, for that account and that client alone', async () => {
    for (const password of ['wrong 1 password', 'wrong 2 password', 'wrong 3 password']) {
      expectProblem(await logIn('alice', password, '203.0.113.1'), 401, 'invalid-credentials')
    }
    const refused = await logIn('ALICE', passwordOf('alice'), '203.0.113.1')
    expectProblem(refused, 429, 'too-many-attempts')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(500)
    expect((await logIn('alice', passwordOf('alice'), '203.0.113.2')).status).toBe(200)
    expect((await logIn('bob', passwordOf('bob'), '203.0.113.1')).status).toBe(200)
  })

  it('counts wrong old passwords too', async () => {
    const { access: token } = await stack.logIn('carol')
    const change = (oldPassword: string) =>
      stack.auth.send('/users/carol/password', {
        ...{ method: 'PUT', token, headers: from('203.0.113.3') },
        json: { oldPassword, newPassword: 'a new long password' },
      })
    for (let time = 0; time < 3; time += 1) expectProblem(await change('not the password'), 403, 'wrong-password')
    expectProblem(await change(passwordOf('carol')), 429, 'too-many-attempts')
    expectProblem(await logIn('carol', passwordOf('carol'), '203.0.113.3'), 429, 'too-many-attempts')
  })

  it('lets many right logins at once pass', async () => {
    const logins = await Promise.all(Array.from({ length: 25 }, () => logIn('dave', passwordOf('dave'), '2001:db8::1')))
    expect(logins.map(({ status }) => status)).toEqual(logins.map(() => 200))
  })

  it('stops one client that tries many accounts', async () => {
    const statuses: number[] = []
    for (let at = 0; at < 52; at += 1) {
      const password = `wrong password ${at}`
      statuses.push((await logIn(`nobody-${at}`, password, `2001:db8:5::${at.toString(16)}`)).status)
    }
    expect(statuses).toEqual([...Array(50).fill(401), 429, 429])
    expect((await logIn('bob', passwordOf('bob'), '2001:db8:6::1')).status).toBe(200)
  })

  it.each(['/refresh', '/oauth/token'])(
    'counts failures of %s by address, and never refuses a refresh token that is right',
    async (path) => {
      const address = path === '/refresh' ? '203.0.113.20' : '203.0.113.21'
      const headers = { ...from(address), 'content-type': 'application/x-www-form-urlencoded' }
      const refresh = (refreshToken: string) =>
        path === '/refresh'
          ? stack.auth.send(path, { method: 'POST', token: refreshToken, headers: from(address) })
          : stack.auth.send(path, {
              ...{ method: 'POST', headers },
              body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken }).toString(),
            })
      const [live, dead] = [await stack.logIn('bob'), await stack.logIn('bob')]
      await stack.auth.send('/logout', { method: 'POST', token: dead.access, headers: from(address) })
      const statuses: number[] = []
      for (let at = 0; at < 52; at += 1) statuses.push((await refresh(at % 2 ? dead.refresh : 'junk')).status)
      expect(statuses).toEqual([...Array(50).fill(400), 429, 429])
      expect(Number((await refresh('junk')).headers.get('retry-after'))).toBeGreaterThan(400)
      expect((await refresh(live.refresh)).status).toBe(200)
      expectProblem(await logIn('bob', 'not the password', address), 429, 'too-many-attempts')
    },
  )
})
