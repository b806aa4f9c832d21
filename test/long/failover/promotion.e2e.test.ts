/**
 * A standby that lacks the last changes becomes the primary, and numbers of changes are assigned a second time: no
 * server honours what only the lost branch has known.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { openSender, type SendWith } from '../../support/clients/scheme-clients/send-with.ts'
import { sessionClient } from '../../support/clients/scheme-clients/session.ts'
import { signedRequestClient } from '../../support/clients/scheme-clients/signed-request.ts'
import { eventually } from '../../support/eventually.ts'
import { findPostgresBinaries } from '../../support/processes/stores/postgres-server.ts'
import { type PromotablePostgres, startPromotablePostgres } from '../../support/processes/stores/promotable-postgres.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

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
