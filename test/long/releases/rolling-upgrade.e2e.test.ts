import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openEvents } from '../../support/clients/event-client.ts'
import {
  answerOf,
  askTokens,
  exchange,
  newVerifier,
  registerClient,
  requestOf,
} from '../../support/clients/sign-in/applications.ts'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { releasedVersion, startReleased } from '../../support/processes/released.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { logIn, type TestServer, testServer } from '../../support/worlds/stack.ts'
import { wholeJourney, workOnDeal } from './journey.ts'

const children: ChildServer[] = []
const folder = mkdtempSync(join(tmpdir(), 'keyhold-rolling-'))
let backend: Backend
let environment: Readonly<Record<string, string>>
let password: string
let former: { auth: TestServer; deal: TestServer }
let present: { auth: TestServer; deal: TestServer }

const start = async (startServer: typeof startChild, name: 'auth' | 'deal', own: Readonly<Record<string, string>>) => {
  const port = await freePort()
  const ports = { [`${name.toUpperCase()}_PORT`]: String(port) }
  const child = startServer(`${name}-server/main.ts`, { environment: { ...environment, ...own, ...ports } })
  children.push(child)
  const server = testServer(port)
  await answering(`${server.url}/readyz`, child)
  return { server, child }
}

/** Commands without a pause at both deal servers in turn, for `ms`. Returns how many succeeded, and what did not. */
async function load(token: string, ms: number): Promise<{ deals: string[]; faults: string[] }> {
  const [deals, faults]: [string[], string[]] = [[], []]
  const servers = [former.deal, present.deal] as const
  const end = Date.now() + ms
  const worker = async (first: number) => {
    for (let turn = first; Date.now() < end; turn += 1) {
      const [one, other] = turn % 2 === 0 ? servers : [servers[1], servers[0]]
      const id = randomUUID()
      const path = `/rest/v1/deals/${id}`
      const replies = [
        await one.send('/rest/v1/deals', { token, json: { id, name: 'deal', price: turn } }),
        await other.send(`${path}/hold`, { method: 'PUT', token, json: { reason: 'load' } }),
        await one.send(`${path}/unhold`, { method: 'PUT', token, json: {} }),
        await other.send(path, { token }),
      ]
      faults.push(...replies.filter(({ status }) => status >= 300).map(({ text }) => text))
      deals.push(id)
    }
  }
  await Promise.all([0, 1, 2, 3].map(worker))
  return { deals, faults }
}

describePostgresAndRedis(`servers of ${releasedVersion} beside servers of the present code`, (openBackend) => {
  beforeAll(async () => {
    backend = await openBackend()
    const publicOrigin = `http://127.0.0.1:${await freePort()}`
    environment = {
      ...backend.environment,
      DATA_DIR: folder,
      KEYS_DIR: await preparedKeysDir(),
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
      DEAL_PUBLIC_ORIGIN: 'http://deals.test',
      AUTH_PUBLIC_ORIGIN: publicOrigin,
      ISSUER: publicOrigin,
      SERVICE_SECRET: 's'.repeat(43),
    }
    // As an upgrade does it: the former servers serve, then a present auth server migrates beside them.
    const formerAuth = await start(startReleased, 'auth', {})
    password = /password, shown only now: (\S+)/.exec(formerAuth.child.output())?.[1] ?? ''
    const formerDeal = await start(startReleased, 'deal', { AUTH_URL: formerAuth.server.url })
    former = { auth: formerAuth.server, deal: formerDeal.server }
    const presentAuth = await start(startChild, 'auth', {})
    const presentDeal = await start(startChild, 'deal', { AUTH_URL: presentAuth.server.url })
    present = { auth: presentAuth.server, deal: presentDeal.server }
  })
  afterAll(async () => {
    for (const child of children) await child.end('SIGKILL')
    await backend.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('serve the whole journey at any pair of servers', async () => {
    for (const { auth } of [former, present]) {
      for (const { deal } of [former, present]) await wholeJourney({ auth, deal, password })
    }
  })

  it('take commands on the same deals at once, fail none, and stream the same events in the same order', async () => {
    const { access: token } = await logIn(present.auth, 'admin', password)
    const streams = await Promise.all([former, present].map(({ deal }) => openEvents(deal, { token })))
    const { deals, faults } = await load(token, 2000)
    expect(faults).toEqual([])
    expect(deals.length).toBeGreaterThan(5)
    for (const stream of streams) await stream.until(({ events }) => events.length >= deals.length * 3)
    const [atFormer, atPresent] = streams.map(({ events }) => events.map(({ id, event, data }) => [id, event, data.id]))
    expect(atPresent).toEqual(atFormer)
    expect(atFormer?.length).toBe(deals.length * 3)
    const [{ events } = { events: [] }] = streams
    for (const id of deals) {
      const ofDeal = events.filter(({ data }) => JSON.stringify(data).includes(id)).map(({ event }) => event)
      expect(ofDeal).toEqual(['deal.created', 'deal.held', 'deal.unheld'])
    }
    for (const stream of streams) stream.close()
  })

  it('hear of a change of rights within a second, whichever auth server made it', async () => {
    const { access: admin } = await logIn(former.auth, 'admin', password)
    const ownPassword = 'a good long password'
    for (const [index, { auth }] of [former, present].entries()) {
      const username = `erin-${index}`
      const json = { username, password: ownPassword, roles: ['manager'] }
      expect((await auth.send('/users', { token: admin, json })).status).toBe(201)
      const { access: token } = await logIn(auth, username, ownPassword)
      for (const { deal } of [former, present]) await workOnDeal({ deal }, token)
      const change = { method: 'PATCH', token: admin, json: { roles: ['viewer'] } }
      expect((await auth.send(`/users/${username}`, change)).status).toBe(200)
      await sleep(1000)
      for (const { deal } of [former, present]) {
        const refused = await deal.send('/rest/v1/deals', { token, json: { name: 'deal', price: 1 } })
        expect([refused.status, refused.body.code]).toEqual([403, 'missing-right'])
      }
    }
  })

  it('take no refresh token of an application at a former server, where it would have all rights', async () => {
    const stack = { auth: present.auth, logIn: () => logIn(present.auth, 'admin', password) }
    const client = await registerClient(stack, { rights: ['deal.read'] })
    const session = await present.auth.send('/sessions', { json: { username: 'admin', password } })
    const { verifier, challenge } = newVerifier()
    const { headers } = await present.auth.send(
      `/oauth/authorize?${requestOf(client, { code_challenge: challenge })}`,
      {
        headers: {
          cookie: session.headers
            .getSetCookie()
            .map((line) => line.split(';', 1)[0])
            .join('; '),
        },
      },
    )
    const { code } = answerOf({ url: headers.get('location') ?? '' })
    const { body } = await exchange(stack, client, { code: code ?? '', verifier })
    const token = String(body.refresh_token)
    const refused = await former.auth.send('/refresh', { method: 'POST', token })
    expect(refused.status, refused.text).toBe(400)
    const form = { grant_type: 'refresh_token', refresh_token: token }
    expect((await askTokens(stack, client, form)).body).toMatchObject({ scope: 'openid deal.read' })
  })

  it('log no error', () => {
    for (const child of children) expect(child.output()).not.toMatch(/"level":[56]0/)
  })

  it('start again on the migrated database, as one step back demands', async () => {
    const { server: auth } = await start(startReleased, 'auth', {})
    const { server: deal } = await start(startReleased, 'deal', { AUTH_URL: auth.url })
    await wholeJourney({ auth, deal, password })
  })
})
