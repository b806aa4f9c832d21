/**
 * A standby that lacks the last changes becomes the primary, and numbers of changes are assigned a second time: no
 * server honours what only the lost branch has known.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import type { Reply } from '../../support/clients/http-client.ts'
import { openSender, type SendWith } from '../../support/clients/scheme-clients/send-with.ts'
import { sessionClient } from '../../support/clients/scheme-clients/session.ts'
import { signedRequestClient } from '../../support/clients/scheme-clients/signed-request.ts'
import {
  askTokens,
  codeOf,
  exchange,
  registerClient,
  signedInBrowser,
} from '../../support/clients/sign-in/applications.ts'
import { eventually } from '../../support/eventually.ts'
import { findPostgresBinaries } from '../../support/processes/stores/postgres-server.ts'
import { type PromotablePostgres, startPromotablePostgres } from '../../support/processes/stores/promotable-postgres.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()
const canRun = binaries !== undefined && redisServerInstalled
const rounds = campaign({ short: 1, long: 10 })

describe.skipIf(!canRun)('after a promotion', () => {
  let postgres: PromotablePostgres
  let stack: Stack
  let admin: string
  /** Aborted: the last deal server reaches no auth server, also by what it had asked before. */
  let way = new AbortController()
  const tokens = new Map<string, string>()

  beforeAll(async () => {
    postgres = await startPromotablePostgres(binaries ?? '')
    // The password of the lost branch is wrong afterwards, in every round.
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: '1000/900', LOGIN_FAILURES_PER_ADDRESS: '1000/900' }
    const fetchUnlessCutOff: typeof fetch = (input, init) =>
      way.signal.aborted
        ? Promise.reject(new TypeError('fetch failed'))
        : fetch(input, { ...init, signal: AbortSignal.any([way.signal, ...(init?.signal ? [init.signal] : [])]) })
    stack = await openStack(() => openPostgresAndRedis(postgres.url), {
      dealServers: 2,
      environment,
      dealServer: (index) => (index === 1 ? { fetch: fetchUnlessCutOff } : {}),
    })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(async () => {
    await stack?.close()
    await postgres?.remove()
  })

  const change = async (username: string, json: object) => {
    const { status, text } = await stack.auth.send(`/users/${username}`, { method: 'PATCH', token: admin, json })
    if (status !== 200) throw new Error(`the change of ${username} was answered ${status}: ${text}`)
  }
  const read = { path: '/rest/v1/deals', sent: {} }
  const create = { path: '/rest/v1/deals/', sent: { json: { name: 'deal', price: 1 } } }
  const bearer =
    (username: string): SendWith =>
    (server, { path, sent }) =>
      server.send(path, { ...sent, token: String(tokens.get(username)) })
  /** What each deal server answers. */
  const statuses = async (send: SendWith, request: typeof read | typeof create) => {
    const replies = await Promise.all(stack.deals.map((server) => send(server, request)))
    return replies.map(({ status }) => status)
  }

  it.each(Array.from({ length: rounds }, (_, round) => round + 1))(
    'that lost changes, no server honours a right, a disabling, a session, a key, a password or a user of them (round %i)',
    async (round) => {
      if (round > 1) await postgres.renewStandby()
      admin = (await stack.logIn('admin')).access
      for (const username of ['bob', 'carol']) tokens.set(username, (await stack.logIn(username)).access)
      const [bob, carol] = [bearer('bob'), bearer('carol')]
      expect(await statuses(bob, create)).toEqual([403, 403])
      expect(await statuses(carol, read)).toEqual([200, 200])

      await postgres.cutStandbyOff()
      const lostUser = `lost-${round}`
      const password = 'a long enough passphrase'
      const { status } = await stack.auth.send('/users', {
        token: admin,
        json: { username: lostUser, password, roles: ['viewer'] },
      })
      expect(status).toBe(201)
      tokens.set(lostUser, (await stack.logIn(lostUser, password)).access)
      const session = await openSender(sessionClient, stack, 'bob')
      const key = await openSender(signedRequestClient, stack, 'bob')
      await change('bob', { roles: ['admin'] })
      await change('carol', { enabled: false })
      const renewed = await stack.auth.send('/users/alice/password', {
        method: 'PUT',
        token: admin,
        json: { newPassword: password },
      })
      expect(renewed.status).toBe(204)
      const basic: SendWith = (server, { path, sent }) => {
        const authorization = `Basic ${Buffer.from(`alice:${password}`).toString('base64')}`
        return server.send(path, { ...sent, headers: { authorization } })
      }
      expect((await basic(stack.auth, { path: '/me', sent: {} })).status).toBe(200)
      const lost = { session, key, basic, lostUser: bearer(lostUser) }
      for (const send of Object.values(lost)) expect(await statuses(send, read)).toEqual([200, 200])
      expect(await statuses(bob, create)).toEqual([201, 201])
      expect(await statuses(carol, read)).toEqual([401, 401])

      await postgres.promote()
      // As many changes of others as the lost branch had, and more: their numbers are used again.
      await eventually(() => change('dave', { roles: [] }))
      for (let count = 0; count < 4; count += 1) {
        for (const roles of [['viewer'], []]) await change('dave', { roles })
      }
      // What deal servers read before the promotion serves for the second that every change may take.
      await eventually(async () => expect(await statuses(bob, create)).toEqual([403, 403]))
      await eventually(async () => {
        const feed = { name: 'principal-feed', status: 'ok', required: false }
        for (const { send } of stack.deals) expect((await send('/readyz')).body.dependencies).toContainEqual(feed)
      })

      expect(await statuses(bob, create)).toEqual([403, 403])
      expect(await statuses(carol, read)).toEqual([200, 200])
      for (const [name, send] of Object.entries(lost)) {
        expect({ name, statuses: await statuses(send, read) }).toEqual({ name, statuses: [401, 401] })
      }
      expect((await basic(stack.auth, { path: '/me', sent: {} })).status).toBe(401)
      expect((await stack.logIn('alice')).access).toBeDefined()
      const { body } = await stack.auth.send('/users/bob', { token: admin })
      expect(body.roles).toEqual(['viewer'])
    },
  )

  const steps = ['authorize', 'exchange', 'refresh', 'sign out'] as const
  it.each(steps.flatMap((step) => [false, true].map((isLost) => ({ step, isLost }))))(
    'a sign-in goes on where it was before it: after $step, which was lost: $isLost',
    async ({ step: last, isLost }) => {
      await postgres.renewStandby()
      admin = (await stack.logIn('admin')).access
      await change('bob', { roles: ['viewer'], enabled: true })
      const client = await registerClient(stack)
      const browser = await signedInBrowser(stack, 'bob')
      const ask = async (asked: () => Promise<Reply>) => {
        const { status, body } = await asked()
        return status === 200 ? body : `${status} ${body.error}`
      }
      const login = { code: { code: '', verifier: '' }, access: '', refresh: '', former: '' }
      const keep = (body: unknown) => {
        if (typeof body === 'string') return body
        const { access_token, refresh_token } = body as Record<string, string>
        login.former = login.refresh
        login.access = String(access_token)
        login.refresh = String(refresh_token)
        return '200'
      }
      const refreshWith = (refresh_token: string) =>
        ask(() => askTokens(stack, client, { grant_type: 'refresh_token', refresh_token }))
      const statusOf = async (server: TestServer, path: string) =>
        login.access === '' ? 401 : (await server.send(path, { token: login.access })).status
      const isHonoured = async () => (await statusOf(stack.deal, '/rest/v1/deals')) === 200
      const run = {
        authorize: async () => {
          login.code = await codeOf(browser, client)
          return '200'
        },
        exchange: async () => keep(await ask(() => exchange(stack, client, login.code))),
        refresh: async () => keep(await refreshWith(login.refresh)),
        'sign out': async () => {
          const { reply } = await browser.go('/sessions/current', { _method: 'DELETE' })
          return reply.status === 204 ? '200' : `${reply.status}`
        },
      }
      const at = steps.indexOf(last)
      for (const step of steps.slice(0, at)) expect(await run[step]()).toBe('200')
      if (isLost) await postgres.cutStandbyOff()
      expect(await run[last]()).toBe('200')
      await postgres.promote()
      // Whoever asks now is told to come again, or gets what is right.
      expect([200, 401, 503]).toContain(await statusOf(stack.deal, '/rest/v1/deals'))
      expect([200, 401, 403, 503]).toContain(await statusOf(stack.auth, '/oauth/userinfo'))
      await eventually(() => change('dave', { roles: [] }))
      const goesOn = steps.slice(at + 1)
      if (isLost && last === 'exchange') {
        expect(await refreshWith(login.refresh)).toBe('400 invalid_grant')
        expect(await run.exchange()).toBe('200')
      }
      if (isLost && last === 'refresh') {
        // The token before it is not used up there, and goes on.
        expect(await refreshWith(login.refresh)).toBe('400 invalid_grant')
        expect(keep(await refreshWith(login.former))).toBe('200')
      }
      if (isLost && last === 'sign out') {
        // The session is there again, without its cookie, and so is the login: neither is there alone. What the deal
        // server read before the promotion serves for the second that every change may take.
        await eventually(async () => expect(await isHonoured()).toBe(true))
        expect(keep(await refreshWith(login.refresh))).toBe('200')
        await stack.auth.send('/users/bob/logout', { method: 'POST', token: admin })
      }
      for (const step of goesOn) expect({ step, answer: await run[step]() }).toEqual({ step, answer: '200' })
      expect(await refreshWith(login.refresh)).toBe('400 invalid_grant')
      await eventually(async () => expect(await isHonoured()).toBe(false))
      expect(await run.exchange()).toBe('400 invalid_grant')
    },
  )

  const kinds = ['lost the last changes', 'lost nothing'] as const
  it.each(Array.from({ length: rounds }, (_, round) => kinds.map((kind) => [kind, round + 1] as const)).flat())(
    'that %s, a server that reaches Redis and no auth server honours nothing that was revoked a second ago (round %i)',
    async (kind) => {
      way = new AbortController()
      await postgres.renewStandby()
      admin = (await stack.logIn('admin')).access
      for (const username of ['bob', 'carol', 'alice']) await change(username, { enabled: true })
      await change('bob', { roles: ['viewer'] })
      for (const username of ['bob', 'carol']) tokens.set(username, (await stack.logIn(username)).access)
      const [bob, carol] = [bearer('bob'), bearer('carol')]
      const isLossy = kind === 'lost the last changes'
      if (isLossy) {
        await postgres.cutStandbyOff()
        await change('bob', { roles: ['admin'] })
        expect(await statuses(bob, create)).toEqual([201, 201])
      }
      expect(await statuses(carol, read)).toEqual([200, 200])
      way.abort()
      await postgres.promote()
      await eventually(() => change('carol', { enabled: false }))
      const changedAt = performance.now()
      const alone = stack.deals[1] ?? stack.deal
      const isHonoured = async () =>
        (await bob(alone, create)).status === 201 || (await carol(alone, read)).status === 200
      while (performance.now() - changedAt < 1_500) await isHonoured()
      await eventually(async () => {
        const database = { name: 'database', status: 'ok', required: true }
        expect((await alone.send('/readyz')).body.dependencies).toContainEqual(database)
      })
      for (let count = 0; count < 100; count += 1) expect(await isHonoured()).toBe(false)
      way = new AbortController()
      await eventually(async () => {
        expect((await bob(alone, create)).status).toBe(403)
        expect((await carol(alone, read)).status).toBe(401)
      })
      await change('carol', { enabled: true })
    },
  )
})
