import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Sent } from '../../support/clients/http-client.ts'
import { cookieSetBy, forgottenCookie, formOf, signIn } from '../../support/clients/pages/sign-in.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string
let count = 0

const readDeals = (cookie: string) => stack.deal.send('/rest/v1/deals', { headers: { cookie } })
const me = (cookie: string) => stack.auth.send('/me', { headers: { cookie } })
const end = (key: string, headers: Record<string, string> = {}, sent: Sent = {}) =>
  stack.auth.send(`/sessions/${key}`, { method: 'DELETE', ...sent, headers })

/** A user whom no other test signs in, out or counts. */
async function createUser(): Promise<{ username: string; password: string }> {
  const json = { username: `guest-${++count}`, password: 'a password of a guest', roles: ['viewer'] }
  expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
  return json
}

const signInAs = (json: { username: string; password: string }) =>
  signIn(stack, json.username, { json: { username: json.username, password: json.password } })

describeBackends('cookie sessions', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  describe('ending', () => {
    const expectEnded = async (cookie: string) => {
      expect((await me(cookie)).status).toBe(401)
      for (const { send } of stack.deals) {
        expect((await send('/rest/v1/deals', { headers: { cookie } })).status).toBe(401)
      }
    }

    it('is done by the key alone, which is the credential', async () => {
      const { cookie, key } = await signIn(stack, 'carol')
      await readDeals(cookie)
      const reply = await end(key)
      expect(reply.status).toBe(204)
      expect(cookieSetBy(reply)).toBeUndefined()
      expect(reply.headers.get('clear-site-data')).toBeNull()
      await expectEnded(cookie)
      expect((await end(key)).status).toBe(204)
    })

    it('is done by the key beside the same cookie, which is then forgotten', async () => {
      const { cookie, key } = await signIn(stack, 'carol')
      for (let round = 0; round < 2; round += 1) {
        const reply = await end(key, { cookie })
        expect(reply.status).toBe(204)
        expect(cookieSetBy(reply)).toEqual(forgottenCookie)
      }
      await expectEnded(cookie)
    })

    it('takes one credential: no key beside another cookie or an Authorization field', async () => {
      const [mine, other] = [await signIn(stack, 'carol'), await signIn(stack, 'carol')]
      expectProblem(await end(mine.key, { cookie: other.cookie }), 400, 'several-credentials')
      expectProblem(await end(mine.key, { authorization: `Bearer ${admin}` }), 400, 'several-credentials')
      for (const query of ['?timestamp=1&apiKey=a&signature=b', '?a=b']) {
        const status = query.includes('signature') ? 400 : 204
        const { key } = await signIn(stack, 'carol')
        expect((await end(`${key}${query}`)).status).toBe(status)
      }
      expect((await me(mine.cookie)).status).toBe(200)
      await end(other.key)
      const besideDead = await end(mine.key, { cookie: other.cookie })
      expectProblem(besideDead, 400, 'several-credentials')
      expect(cookieSetBy(besideDead)).toEqual(forgottenCookie)
    })

    it('is done by the public id, by `current`, and by POST in place of DELETE', async () => {
      const ways = [
        (id: string, cookie: string) => end(id, { cookie }),
        (_id: string, cookie: string) => end('current', { cookie }),
        (_id: string, cookie: string) =>
          end('current', { cookie, 'x-http-method-override': 'DELETE' }, { method: 'POST' }),
        (id: string, cookie: string) =>
          stack.auth.send(`/sessions/${id}`, {
            ...formOf({ _method: 'DELETE' }),
            headers: { ...formOf({}).headers, cookie },
          }),
        (_id: string, cookie: string) =>
          stack.auth.send('/sessions/current', {
            ...formOf({ _method: 'delete' }),
            headers: { ...formOf({}).headers, cookie },
          }),
      ]
      for (const way of ways) {
        const { id, cookie } = await signIn(stack, 'carol')
        await readDeals(cookie)
        const reply = await way(id, cookie)
        expect(reply.status).toBe(204)
        expect(cookieSetBy(reply)).toEqual(forgottenCookie)
        expect(reply.headers.get('clear-site-data')).toBe('"cache", "storage"')
        await expectEnded(cookie)
      }
    })

    it('leads a form back, also out of a session that is over', async () => {
      const { cookie } = await signIn(stack, 'carol')
      const fields = formOf({ _method: 'DELETE', return_to: 'http://deals.test/docs#signed-out' })
      for (let round = 0; round < 2; round += 1) {
        const reply = await stack.auth.send('/sessions/current', { ...fields, headers: { ...fields.headers, cookie } })
        expect(reply.status).toBe(303)
        expect(reply.headers.get('location')).toBe('http://deals.test/docs#signed-out')
        expect(cookieSetBy(reply)).toEqual(forgottenCookie)
        expect(reply.headers.get('clear-site-data')).toBe('"cache", "storage"')
      }
      const { cookie: another } = await signIn(stack, 'carol')
      const foreign = formOf({ _method: 'DELETE', return_to: 'https://evil.test/' })
      const reply = await stack.auth.send('/sessions/current', {
        ...foreign,
        headers: { ...foreign.headers, cookie: another },
      })
      expectProblem(reply, 422, 'invalid-value')
      expect((await me(another)).status).toBe(200)
    })

    it('is refused for a POST that does not say that it means DELETE', async () => {
      const { key, cookie } = await signIn(stack, 'carol')
      for (const sent of [
        {},
        formOf({}),
        formOf({ _method: 'PUT' }),
        { headers: { 'x-http-method-override': 'PATCH' } },
      ]) {
        const reply = await stack.auth.send(`/sessions/${key}`, { ...sent, method: 'POST' })
        expectProblem(reply, 405, 'method-not-allowed')
        expect(reply.headers.get('allow')).toContain('DELETE')
      }
      expect((await me(cookie)).status).toBe(200)
    })

    it('knows no session of somebody else, nor one that does not exist', async () => {
      const [mine, other] = [await signIn(stack, 'carol'), await signIn(stack, 'bob')]
      for (const id of [other.id, '0192f0c0-0000-7000-8000-000000000000', 'nonsense', 'undefined', 'CURRENT']) {
        expectProblem(await end(id, { cookie: mine.cookie }), 404, 'not-found')
      }
      expectProblem(await end('B'.repeat(43)), 404, 'not-found')
      expect((await me(other.cookie)).status).toBe(200)
      expectProblem(await end('current'), 401, 'unauthenticated')
      expectProblem(await end(mine.id), 401, 'unauthenticated')
      expectProblem(await end('current', { cookie: `keyhold_session=${'C'.repeat(43)}` }), 401, 'invalid-session')
    })

    it('ends a token login by its id or as `current`', async () => {
      const user = await createUser()
      const { cookie } = await signInAs(user)
      const { access } = await stack.logIn(user.username, user.password)
      const { body } = await stack.auth.send('/sessions', { headers: { cookie } })
      const login = (body.items as { id: string; kind: string }[]).find(({ kind }) => kind === 'login')
      const reply = await end(String(login?.id), { cookie })
      expect(reply.status).toBe(204)
      expect(cookieSetBy(reply)).toBeUndefined()
      expectProblem(await stack.deal.send('/rest/v1/deals', { token: access }), 401, 'login-ended')
      const another = await stack.logIn(user.username, user.password)
      expect((await end('current', {}, { token: another.access })).status).toBe(204)
      expectProblem(await stack.deal.send('/rest/v1/deals', { token: another.access }), 401, 'login-ended')
    })
  })

  describe('lists', () => {
    it("show the caller's own sessions and token logins, the newest first, in pages", async () => {
      const user = await createUser()
      await signInAs(user)
      const { access } = await stack.logIn(user.username, user.password)
      const { id, cookie } = await signIn(stack, user.username, {
        json: { username: user.username, password: user.password },
        headers: { 'user-agent': 'a browser' },
      })
      const { body } = await stack.auth.send('/sessions', { headers: { cookie } })
      const items = body.items as Record<string, unknown>[]
      expect(items.map(({ kind, current }) => [kind, current])).toEqual([
        ['session', true],
        ['login', false],
        ['session', false],
      ])
      expect(items[0]).toEqual({
        id,
        kind: 'session',
        current: true,
        address: '127.0.0.1',
        userAgent: 'a browser',
        client: null,
        createdAt: expect.stringMatching(/Z$/),
        lastUsedAt: expect.stringMatching(/Z$/),
        expiresAt: expect.stringMatching(/Z$/),
      })
      const byToken = await stack.auth.send('/sessions', { token: access })
      expect((byToken.body.items as { current: boolean }[]).map(({ current }) => current)).toEqual([false, true, false])
      const first = await stack.auth.send('/sessions?limit=2', { headers: { cookie } })
      const second = await stack.auth.send(`/sessions?limit=2&cursor=${first.body.nextCursor}`, { headers: { cookie } })
      expect([...(first.body.items as unknown[]), ...(second.body.items as unknown[])]).toEqual(items)
      expect(second.body.nextCursor).toBeNull()
      expectProblem(await stack.auth.send('/sessions?cursor=x', { headers: { cookie } }), 400, 'invalid-cursor')
      expectProblem(await stack.auth.send('/sessions?a=b', { headers: { cookie } }), 400, 'invalid-parameter')
    })

    it('leave out what is dead', async () => {
      const user = await createUser()
      const idle = await signInAs(user)
      stack.clock.advanceSeconds(1801)
      const ended = await signInAs(user)
      await end(ended.key)
      const { cookie, id } = await signInAs(user)
      const { body } = await stack.auth.send('/sessions', { headers: { cookie } })
      expect((body.items as { id: string }[]).map((item) => item.id)).toEqual([id])
      expect(idle.id).not.toBe(id)
    })

    it('of others are for those with the right to', async () => {
      admin = (await stack.logIn('admin')).access
      const user = await createUser()
      const { cookie, id } = await signInAs(user)
      const path = `/users/${user.username}/sessions`
      const { body } = await stack.auth.send(path, { token: admin })
      expect(body.items).toMatchObject([{ id, kind: 'session', current: false }])
      expect((await stack.auth.send(`${path}/${id}`, { token: admin })).body).toEqual((body.items as unknown[])[0])
      for (const sent of [{}, { method: 'DELETE' }]) {
        const reply = await stack.auth.send(`${path}/${id}`, { ...sent, headers: { cookie } })
        expectProblem(reply, 403, 'missing-right')
        expect(reply.body.missingRight).toBe('session.manage')
      }
      expectProblem(await stack.auth.send(path, { headers: { cookie } }), 403, 'missing-right')
      expectProblem(await stack.auth.send('/users/nobody-here/sessions', { token: admin }), 404, 'not-found')
      const other = await signIn(stack, 'bob')
      for (const wrong of [other.id, 'nonsense', '0192f0c0-0000-7000-8000-000000000000']) {
        expectProblem(await stack.auth.send(`${path}/${wrong}`, { token: admin }), 404, 'not-found')
        expectProblem(await stack.auth.send(`${path}/${wrong}`, { token: admin, method: 'DELETE' }), 404, 'not-found')
      }
      for (let round = 0; round < 2; round += 1) {
        expect((await stack.auth.send(`${path}/${id}`, { token: admin, method: 'DELETE' })).status).toBe(204)
      }
      expect((await readDeals(cookie)).status).toBe(401)
      expect((await me(other.cookie)).status).toBe(200)
    })
  })
})
