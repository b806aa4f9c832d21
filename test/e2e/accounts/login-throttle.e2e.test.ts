import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { postForm } from '../../support/clients/oauth-requests.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { basic, from, limits, logInAt } from './login-attempts.ts'

describeBackends('guessing passwords', (openBackend) => {
  let stack: Stack
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: limits })
  })
  afterAll(() => stack.close())

  const logIn = logInAt(() => stack)

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

  const routes = (): (readonly [TestServer, string])[] => [
    [stack.auth, '/me'],
    [stack.deal, '/rest/v1/deals'],
  ]
  it('tells one who is locked out nothing by Basic, though the server remembers the right password of another', async () => {
    const [owner, guesser] = ['198.51.100.1', '198.51.100.2']
    const right = passwordOf('admin')
    for (let guess = 0; guess < 3; guess += 1) {
      for (const [server, path] of routes()) {
        expect((await server.send(path, basic('admin', right, owner))).status).toBe(200)
      }
      const [server, path] = routes()[guess % 2] ?? [stack.auth, '/me']
      expectProblem(await server.send(path, basic('admin', `guess ${guess}`, guesser)), 401, 'invalid-credentials')
    }
    for (const password of [right, 'another guess', right, right]) {
      for (const [server, path] of routes()) {
        expect((await server.send(path, basic('admin', right, owner))).status).toBe(200)
        expectProblem(await server.send(path, basic('admin', password, guesser)), 429, 'too-many-attempts')
      }
    }
  })

  describe('a locked account', () => {
    const address = '203.0.113.30'
    let serial = 0

    /** Makes a user, and locks the account at both servers from one address. */
    async function lock() {
      const { access: token } = await stack.logIn('admin')
      const [username, password] = [`locked-${++serial}`, 'the first password of the user']
      const create = { username, password, roles: ['viewer'] }
      expect((await stack.auth.send('/users', { token, json: create })).status).toBe(201)
      const { access } = await stack.logIn(username, password)
      await fail(username)
      return { token, username, password, access }
    }

    async function fail(username: string) {
      for (let time = 0; time < 3; time += 1) await logIn(username, 'not the password', address)
      expectProblem(await logIn(username, 'not the password', address), 429, 'too-many-attempts')
    }

    async function expectOpen(username: string, password: string) {
      expect((await logIn(username, password, address)).status).toBe(200)
      for (const [server, target] of routes())
        expect((await server.send(target, basic(username, password, address))).status).toBe(200)
    }

    const lockOf = (username: string, token: string) => stack.auth.send(`/users/${username}/lock`, { token })
    const unlock = (username: string, token: string) =>
      stack.auth.send(`/users/${username}/lock`, { method: 'DELETE', token })

    it('says the time in words, and to an administrator when it ends', async () => {
      const { token, username, password } = await lock()
      const refused = await logIn(username, password, address)
      expectProblem(refused, 429, 'too-many-attempts')
      expect(refused.body.detail).toMatch(/ Try again in 10 minutes\.$/)
      const { status, body } = await lockOf(username, token)
      expect(status).toBe(200)
      const inSeconds = (Date.parse(String(body.lockedUntil)) - stack.clock.now()) / 1000
      expect(inSeconds).toBeGreaterThan(500)
      expect(inSeconds).toBeLessThanOrEqual(601)
      expect((await lockOf('dave', token)).body).toEqual({ lockedUntil: null })
      expectProblem(await lockOf('nobody-of-that-name', token), 404, 'not-found')
    })

    it('is unlocked by an administrator, and its logins go on', async () => {
      const { token, username, password, access } = await lock()
      expect((await unlock(username, token)).status).toBe(204)
      expect((await lockOf(username, token)).body).toEqual({ lockedUntil: null })
      await expectOpen(username, password)
      expect((await stack.auth.send('/me', { token: access })).status).toBe(200)
      const { body } = await stack.auth.send('/audit?action=user.unlocked&limit=1', { token })
      expect(body.items).toMatchObject([{ actor: 'admin', target: username, outcome: 'succeeded' }])
      // The limits hold as before.
      await fail(username)
      expectProblem(await unlock('nobody-of-that-name', token), 404, 'not-found')
    })

    it('is not unlocked by whoever lacks a right of the user, nor by a logout', async () => {
      const { token, username, password } = await lock()
      const helper = { username: `helper-${serial}`, password: 'the password of a helper', rights: ['user.manage'] }
      expect((await stack.auth.send('/users', { token, json: helper })).status).toBe(201)
      const { access } = await stack.logIn(helper.username, helper.password)
      expectProblem(await unlock(username, access), 403, 'missing-right')
      const { access: ofViewer } = await stack.logIn('alice')
      expectProblem(await unlock(username, ofViewer), 403, 'missing-right')
      expectProblem(await lockOf(username, ofViewer), 403, 'missing-right')
      expect((await stack.auth.send(`/users/${username}/logout`, { method: 'POST', token })).status).toBe(204)
      expectProblem(await logIn(username, password, address), 429, 'too-many-attempts')
    })

    it.each(['an administrator', 'a one-time link'])('is open again with a new password by %s', async (by) => {
      const { token, username } = await lock()
      const newPassword = 'the second password of the user'
      const set = async () => {
        if (by === 'an administrator')
          return stack.auth.send(`/users/${username}/password`, { method: 'PUT', token, json: { newPassword } })
        const link = await stack.auth.send(`/users/${username}/password-reset`, { method: 'POST', token })
        return stack.auth.send('/password-resets', { json: { code: link.body.code, newPassword } })
      }
      expect((await set()).status).toBe(204)
      await expectOpen(username, newPassword)
      await fail(username)
    })
  })

  it('counts wrong old passwords too', async () => {
    const { access: token } = await stack.logIn('carol')
    const change = (oldPassword: string) =>
      stack.auth.send('/users/carol/password', {
        method: 'PUT',
        token,
        headers: from('203.0.113.3'),
        json: { oldPassword, newPassword: 'a new long password' },
      })
    for (let time = 0; time < 3; time += 1) expectProblem(await change('not the password'), 403, 'wrong-password')
    expectProblem(await change(passwordOf('carol')), 429, 'too-many-attempts')
    expectProblem(await logIn('carol', passwordOf('carol'), '203.0.113.3'), 429, 'too-many-attempts')
  })

  it.each(['/refresh', '/oauth/token'])(
    'counts failures of %s by address, and never refuses a refresh token that is right',
    async (path) => {
      const address = path === '/refresh' ? '203.0.113.20' : '203.0.113.21'
      const refresh = (refreshToken: string) =>
        path === '/refresh'
          ? stack.auth.send(path, { method: 'POST', token: refreshToken, headers: from(address) })
          : postForm(stack, path, { grant_type: 'refresh_token', refresh_token: refreshToken }, from(address))
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

  it('ends for all clients together, but not where the owner has logged in', async () => {
    const [home, elsewhere] = ['2001:db8:99:1::1', '192.0.2.77']
    expect((await logIn('bob', passwordOf('bob'), home)).status).toBe(200)
    for (let at = 0; at < 12; at += 1) await logIn('bob', `wrong password ${at}`, `192.0.2.${Math.floor(at / 3)}`)
    expectProblem(await logIn('bob', passwordOf('bob'), elsewhere), 429, 'too-many-attempts')
    for (const [server, path] of routes()) {
      const refused = await server.send(path, basic('bob', passwordOf('bob'), elsewhere))
      expectProblem(refused, 429, 'too-many-attempts')
      expect((await server.send(path, basic('bob', passwordOf('bob'), '2001:db8:99:1::2'))).status).toBe(200)
    }
  })
})
