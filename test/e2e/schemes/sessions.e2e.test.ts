import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { cookieSetBy, forgottenCookie, formOf, signIn } from '../../support/clients/pages/sign-in.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack

const readDeals = (cookie: string) => stack.deal.send('/rest/v1/deals', { headers: { cookie } })
const me = (cookie: string) => stack.auth.send('/me', { headers: { cookie } })

describeBackends('cookie sessions', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
  })
  afterAll(() => stack.close())

  describe('beginning', () => {
    it('sets a cookie that no script can read, and answers with the public id alone', async () => {
      const { id, key, reply } = await signIn(stack, 'carol')
      expect(reply.body).toEqual({ id, user: 'carol', expiresAt: expect.stringMatching(/Z$/) })
      expect(cookieSetBy(reply)).toEqual({
        name: 'keyhold_session',
        value: key,
        attributes: ['Path=/', 'HttpOnly', 'SameSite=Lax'],
      })
      expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/)
      expect(reply.text).not.toContain(key)
      expect(reply.headers.get('cache-control')).toBe('no-store')
    })

    it('stores the hash of the key, never the key', async () => {
      const { id, key } = await signIn(stack, 'carol')
      const [row] = await stack.database.query<{ text: string }>(
        'select row_to_json(s)::text as text from auth.sessions s where s.id::text = $1',
        [id],
      )
      expect(row?.text).toContain(createHash('sha256').update(key).digest('base64url'))
      expect(row?.text).not.toContain(key)
    })

    it('takes an HTML form, in UTF-8', async () => {
      const { status, body } = await stack.auth.send(
        '/sessions',
        formOf({ username: 'carol', password: passwordOf('carol') }),
      )
      expect(status).toBe(201)
      expect(body.user).toBe('carol')
    })

    it('leads a form back to either server with 303', async () => {
      for (const return_to of [`${stack.auth.url}/docs#signed-in`, 'http://deals.test/docs?a=b', 'http://deals.test']) {
        const reply = await stack.auth.send(
          '/sessions',
          formOf({ username: 'carol', password: passwordOf('carol'), return_to }),
        )
        expect(reply.status).toBe(303)
        expect(reply.headers.get('location')).toBe(new URL(return_to).href)
        expect(cookieSetBy(reply)?.value).toMatch(/^.{43}$/)
      }
    })

    it.each([
      ['//evil.test'],
      ['https:evil.test'],
      ['https://evil.test/'],
      ['/docs'],
      ['docs'],
      [''],
      ['javascript:alert(1)'],
      ['http://deals.test.evil.test/'],
      ['http://deals.test:81/'],
      ['http://deals.test@evil.test/'],
      ['http://evil.test@deals.test/'],
      ['http://deals.test\\@evil.test/'],
      ['http:\\\\deals.test/'],
      ['HTTP://deals.test/'],
      ['http://DEALS.test/'],
      ['https://deals.test/'],
      [' http://deals.test/'],
      ['http://deals.test/\r\nset-cookie: a=b'],
      ['http://deals.test/\ta'],
    ])('refuses to lead back to %j, and sets nothing', async (return_to) => {
      const fields = { username: 'carol', password: passwordOf('carol'), return_to }
      const reply = await stack.auth.send('/sessions', formOf(fields))
      expectProblem(reply, 422, 'invalid-value')
      expect(reply.body.errors).toMatchObject([{ pointer: '/return_to' }])
      expect(cookieSetBy(reply)).toBeUndefined()
    })

    it.each([
      ['a field too many', 'username=carol&password=x&admin=1', 400],
      ['a field twice', 'username=carol&username=bob&password=x', 400],
      ['a field too few', 'username=carol', 400],
      ['a broken escape', 'username=carol&password=%zz', 400],
      ['what is not UTF-8', 'username=carol&password=%ff', 400],
    ])('refuses a form with %s', async (_what, body, status) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      expectProblem(await stack.auth.send('/sessions', { body, headers }), status, 'invalid-body')
    })

    it('never takes a key from the client, and ends the session it came with', async () => {
      const planted = `keyhold_session=${'A'.repeat(43)}`
      const json = { username: 'carol', password: passwordOf('carol') }
      const first = await signIn(stack, 'carol', { json, headers: { cookie: planted } })
      expect(first.key).not.toBe('A'.repeat(43))
      expectProblem(await me(planted), 401, 'invalid-session')
      const second = await signIn(stack, 'carol', { json, headers: { cookie: first.cookie } })
      expect(second.key).not.toBe(first.key)
      for (const reply of [await me(first.cookie), await readDeals(first.cookie)]) {
        expect(reply.status).toBe(401)
        expect(cookieSetBy(reply)).toEqual(forgottenCookie)
      }
      expect((await readDeals(second.cookie)).status).toBe(200)
      await stack.auth.send('/sessions', {
        json: { ...json, password: 'a wrong one' },
        headers: { cookie: second.cookie },
      })
      expect((await me(second.cookie)).status).toBe(200)
    })

    it('ignores other credentials', async () => {
      const json = { username: 'carol', password: passwordOf('carol') }
      const headers = { authorization: 'Bearer nonsense' }
      expect((await stack.auth.send('/sessions', { json, headers })).status).toBe(201)
    })
  })

  describe('lasting', () => {
    it('is one session on every server: what one sees keeps it alive at the others', async () => {
      const { cookie } = await signIn(stack, 'carol')
      const headers = { cookie }
      const [one, other] = stack.deals
      expect((await other?.send('/rest/v1/deals', { headers }))?.status).toBe(200)
      for (const server of [one, stack.auth, one]) {
        stack.clock.advanceSeconds(1200)
        expect((await server?.send(server === stack.auth ? '/me' : '/rest/v1/deals', { headers }))?.status).toBe(200)
      }
      stack.clock.advanceSeconds(1000)
      expect((await other?.send('/rest/v1/deals', { headers }))?.status).toBe(200)
    })
  })

  describe('among other credentials', () => {
    it('is refused beside a good token; the cookie stays when it is alive and goes when it is dead', async () => {
      const { access } = await stack.logIn('carol')
      const alive = await signIn(stack, 'carol')
      const dead = await signIn(stack, 'carol')
      await stack.auth.send(`/sessions/${dead.key}`, { method: 'DELETE' })
      for (const [path, server] of [['/me', stack.auth] as const, ['/rest/v1/deals', stack.deal] as const]) {
        const kept = await server.send(path, { token: access, headers: { cookie: alive.cookie } })
        expectProblem(kept, 400, 'several-credentials')
        expect(cookieSetBy(kept)).toBeUndefined()
        for (const cookie of [dead.cookie, 'keyhold_session=nonsense', 'keyhold_session=']) {
          const forgotten = await server.send(path, { token: access, headers: { cookie } })
          expectProblem(forgotten, 400, 'several-credentials')
          expect(cookieSetBy(forgotten)).toEqual(forgottenCookie)
        }
      }
    })

    it('goes beside a good token, too, when its user may not come any more, though its session lasts', async () => {
      const { cookie } = await signIn(stack, 'bob')
      expect((await readDeals(cookie)).status).toBe(200)
      const { access: token } = await stack.logIn('admin')
      const enable = (enabled: boolean) =>
        stack.auth.send('/users/bob', { method: 'PATCH', token, json: { enabled } }).then(({ status }) => status)
      expect(await enable(false)).toBe(200)
      const reply = await stack.deal.send('/rest/v1/deals', { token, headers: { cookie } })
      expect(await enable(true)).toBe(200)
      expectProblem(reply, 400, 'several-credentials')
      expect(cookieSetBy(reply)).toEqual(forgottenCookie)
    })
  })
})
