/**
 * What a server rests on stands still: connections stay open, and nothing answers. Nobody waits long for it, and then
 * nobody waits at all.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import type { Reply } from '../../support/clients/http-client.ts'
import { digestClient } from '../../support/clients/scheme-clients/digest.ts'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { type AuthProcess, startAuthProcess } from '../../support/processes/auth-process.ts'
import { createBalancer } from '../../support/processes/proxies/balancer.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { describePostgresAndRedis, openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

/** A second and a half on a machine that does nothing else; the time-outs of single calls would add up to more. */
const waitedAtMostMs = 3_000
const list = '/rest/v1/deals?limit=1'
const basic = (username: string) => `Basic ${Buffer.from(`${username}:${passwordOf(username)}`).toString('base64')}`

let postgres: PostgresServer
let stack: Stack
let auth: AuthProcess
const balancer = createBalancer()

/** Asks one after the other: all of them are answered so, the first after a while, the others sooner. */
async function answers(statuses: readonly number[], ask: () => Promise<Reply>): Promise<void> {
  const allowed = allowHoldUps()
  const startedAt = performance.now()
  for (let count = 0; count < 6; count += 1) expect(statuses).toContain((await ask()).status)
  expect(performance.now() - startedAt).toBeLessThan(allowed(waitedAtMostMs))
}

describePostgresAndRedis('when everything stands still', () => {
  beforeAll(async () => {
    postgres = await PostgresServer.create(findPostgresBinaries() ?? '')
    stack = await openStack(() => openPostgresAndRedis(postgres.url), {
      hashing: 'costly',
      dealServer: () => ({ fetch: balancer.fetch }),
    })
    auth = await startAuthProcess(stack)
    balancer.spreadOver([auth.server.url])
  })
  afterAll(async () => {
    await auth.child.end('SIGKILL')
    await stack.close()
    await postgres.remove()
  })

  const readyAgain = () =>
    eventually(async () => {
      for (const server of [stack.auth, stack.deal]) expect((await server.send('/readyz')).status).toBe(200)
      expect((await stack.deal.send(list, { headers: { authorization: basic('alice') } })).status).toBe(200)
    })

  it('PostgreSQL: both servers say so within a second, and go on when it does', async () => {
    const { access: token } = await stack.logIn('carol')
    expect((await stack.deal.send(list, { token })).status).toBe(200)
    postgres.pause()
    await answers([503], () => stack.auth.send('/readyz'))
    await answers([503], () => stack.deal.send(list, { token }))
    await answers([503], () => stack.auth.send('/login', { json: { username: 'bob', password: passwordOf('bob') } }))
    await answers([503], () => auth.server.send('/readyz'))
    await answers([503], () => stack.deal.send(list, { headers: { authorization: basic('bob') } }))
    postgres.resume()
    await readyAgain()
  })

  it('Redis: everything goes on without it', async () => {
    const { access: token } = await stack.logIn('carol')
    expect((await stack.deal.send(list, { token })).status).toBe(200)
    stack.redis?.pause()
    await answers([200], () => stack.auth.send('/readyz'))
    await stack.logIn('bob')
    await answers([200], () => stack.deal.send(list, { token }))
    await answers([200], () => stack.deal.send('/readyz'))
    stack.redis?.resume()
    await readyAgain()
  })

  it.each(Array.from({ length: campaign({ short: 1, long: 10 }) }).flatMap(() => ['waits', 'has gone']))(
    'an auth server that takes a refresh up late, while its client %s: no login ends',
    async (client) => {
      const tokens = [(await stack.logIn('alice')).refresh]
      const refresh = async () => {
        const { status, body } = await stack.auth.send('/refresh', { method: 'POST', token: tokens.at(-1) ?? '' })
        expect(status).toBe(200)
        tokens.push(String(body.refresh_token))
      }
      process.kill(auth.child.pid, 'SIGSTOP')
      const leaving = new AbortController()
      const authorization = `Bearer ${tokens[0]}`
      const late = fetch(`${auth.server.url}/refresh`, {
        method: 'POST',
        headers: { authorization },
        signal: leaving.signal,
      }).then(
        ({ status }) => status,
        () => 'gone',
      )
      await refresh()
      await refresh()
      if (client === 'has gone') leaving.abort()
      process.kill(auth.child.pid, 'SIGCONT')
      expect(await late).toBe(client === 'waits' ? 400 : 'gone')
      await eventually(async () => expect((await auth.server.send('/readyz')).status).toBe(200))
      await refresh()
    },
  )

  it('one of two auth servers: first requests by Digest are answered all the same, within a second', async () => {
    balancer.spreadOver([auth.server.url, stack.auth.url])
    process.kill(auth.child.pid, 'SIGSTOP')
    const seen: { status: number; isQuick: boolean; problem: string }[] = []
    for (let round = 0; round < campaign({ short: 1, long: 5 }); round += 1) {
      const deal = await stack.addDealServer()
      for (const username of ['admin', 'alice', 'bob', 'carol']) {
        const authorize = await digestClient.open(stack, username)
        const { headers } = await authorize({ method: 'GET', url: deal.url + list })
        const allowed = allowHoldUps()
        const startedAt = performance.now()
        const { status, text } = await deal.send(list, { headers })
        const isQuick = performance.now() - startedAt < allowed(waitedAtMostMs)
        seen.push({ status, isQuick, problem: status === 200 ? '' : text })
      }
    }
    process.kill(auth.child.pid, 'SIGCONT')
    balancer.spreadOver([auth.server.url])
    await readyAgain()
    expect(seen).toEqual(seen.map(() => ({ status: 200, isQuick: true, problem: '' })))
  })

  it('the auth server: what is known goes on, the rest is refused', async () => {
    const { access: known } = await stack.logIn('carol')
    const { access: unknown } = await stack.logIn('bob')
    expect((await stack.deal.send(list, { token: known })).status).toBe(200)
    process.kill(auth.child.pid, 'SIGSTOP')
    // Records are in Redis, but for Basic the auth server must be asked.
    await answers([503], () => stack.deal.send(list, { headers: { authorization: basic('bob') } }))
    for (const token of [known, unknown]) await answers([200], () => stack.deal.send(list, { token }))
    process.kill(auth.child.pid, 'SIGCONT')
    await readyAgain()
  })
})
