/** An auth server is killed while it changes things: each acknowledged change has its one entry in the audit log. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { createChainedLog } from '../../../auth-server/audit/chained-log.ts'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openEmbeddedEngine } from '../../../shared/platform/embedded/embedded.ts'
import { campaign } from '../../support/campaign.ts'
import type { Reply, Sent } from '../../support/clients/http-client.ts'
import { newVerifier } from '../../support/clients/sign-in/applications.ts'
import { startAuthProcess } from '../../support/processes/auth-process.ts'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { describeEmbedded, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type TestServer, testServer } from '../../support/worlds/stack.ts'

/** Servers that are killed, and their database when none of them runs. */
interface World {
  start(): Promise<{ readonly server: TestServer; readonly child: ChildServer }>
  readonly environment: Readonly<Record<string, string>>
  openDatabase(): Promise<{ readonly database: Database; close(): Promise<void> }>
}

/** What a server has acknowledged: the action of each request that changed something, by its id. */
type Acknowledged = Map<string, string>

const password = 'a long enough secret'

/** What `fetch` throws when its server is gone; anything else is an error of the test. */
function onlyGone(error: unknown): void {
  if (!(error instanceof TypeError)) throw error
}

/** Changes things until the server is gone. */
async function load(server: TestServer, acknowledged: Acknowledged): Promise<void> {
  const change = async (expected: string, path: string, sent: Sent): Promise<Reply> => {
    const reply = await server.send(path, sent)
    expect(reply.status, `${expected}: ${reply.text}`).toBeLessThan(300)
    acknowledged.set(String(reply.headers.get('x-request-id')), expected)
    return reply
  }
  const logIn = (username: string) => change('login.started', '/login', { json: { username, password } })
  // Of one user, a server remembers 1,000 logins that ended: so each round has a user of its own.
  const username = `made-${randomUUID()}`
  const admin = { username: 'admin', password: passwordOf('admin') }
  const token = String((await change('login.started', '/login', { json: admin })).body.access_token)
  await change('user.created', '/users', { token, json: { username, password } })
  const untilGone = async (work: () => Promise<unknown>) => {
    try {
      for (;;) await work()
    } catch (error) {
      onlyGone(error)
    }
  }
  const refresh = async () => {
    let { body } = await logIn(username)
    await untilGone(async () => {
      ;({ body } = await change('token.refreshed', '/refresh', { method: 'POST', token: String(body.refresh_token) }))
    })
  }
  const administer = async () => {
    const roles = [['viewer'], ['agent']]
    for (let turn = 0; ; turn += 1) {
      const json = { username: `made-${randomUUID()}`, password }
      if (turn % 5 === 0) await change('user.created', '/users', { token, json })
      await change('user.changed', '/users/dave', { token, method: 'PATCH', json: { roles: roles[turn % 2] } })
    }
  }
  const session = async () => {
    const { headers } = await change('session.started', '/sessions', { json: { username, password } })
    const cookie = String(headers.getSetCookie()[0]?.split(';')[0])
    await change('login.ended', '/sessions/current', { method: 'DELETE', headers: { cookie } })
  }
  const signIn = async () => {
    const redirect_uri = 'https://app.example/callback'
    const registered = { kind: 'public', firstParty: true, redirectUris: [redirect_uri], password: admin.password }
    const json = { name: `made-${randomUUID()}`, ...registered }
    const client_id = String((await change('client.created', '/clients', { token, json })).body.id)
    const { verifier, challenge } = newVerifier()
    const asked = { client_id, redirect_uri, response_type: 'code', code_challenge_method: 'S256' }
    const query = new URLSearchParams({ ...asked, code_challenge: challenge, scope: 'openid' })
    const ask = (expected: string, form: Record<string, string>) =>
      change(expected, '/oauth/token', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ client_id, ...form }).toString(),
      })
    const openSession = async () => {
      const { headers } = await change('session.started', '/sessions', { json: { username, password } })
      return String(headers.getSetCookie()[0]?.split(';')[0])
    }
    let cookie = await openSession()
    let turn = 0
    await untilGone(async () => {
      turn += 1
      if (turn % 4 === 0) {
        await change('login.ended', '/sessions/current', { method: 'DELETE', headers: { cookie } })
        cookie = await openSession()
      }
      const arrived = await server.send(`/oauth/authorize?${query}`, { headers: { cookie } })
      const code = new URL(String(arrived.headers.get('location'))).searchParams.get('code') ?? ''
      const exchange = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri }
      const { body } = await ask('client.login-started', exchange)
      await ask('token.refreshed', { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) })
    })
  }
  const clients = [refresh, refresh, () => logIn(username), administer, session, signIn]
  await Promise.all(clients.map((client) => untilGone(client)))
}

interface Counts {
  readonly families: number
  readonly sessions: number
  readonly refreshes: number
  readonly users: number
}

/** What the rows say that happened, and what the entries say. */
const rowsSql = `select json_build_object(
    'families', (select count(*) from auth.login_families), 'sessions', (select count(*) from auth.sessions),
    'refreshes', (select coalesce(sum(counter), 0) from auth.login_families),
    'users', (select count(*) from auth.users where username like 'made-%')) as counts`
const countOf = (name: string) =>
  `(select count(*) from auth.audit_entries where action = '${name}' and outcome = 'succeeded' and request_id is not null)`
const entriesSql = `select json_build_object('families', ${countOf('login.started')} + ${countOf('client.login-started')},
    'sessions', ${countOf('session.started')}, 'refreshes', ${countOf('token.refreshed')},
    'users', ${countOf('user.created')}) as counts`

async function check(database: Database, world: World, acknowledged: Acknowledged): Promise<void> {
  const secretsKeys = parseSecretsKeys(world.environment.SECRETS_KEY ?? '')
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  await createChainedLog({ database, clock: systemClock, log, secretsKeys }).settle()
  expect((await verifyChain({ database, secretsKeys })).fault).toBeUndefined()
  const entries = await database.query<{ id: string; action: string; target: string | null }>(
    `select request_id as id, action, target from auth.audit_entries
      where request_id is not null and outcome = 'succeeded'`,
  )
  const once = new Set(entries.map(({ id, target, ...entry }) => `${id} ${entry.action} ${target}`))
  expect(once.size).toBe(entries.length)
  const found = new Set(entries.map((entry) => `${entry.id} ${entry.action}`))
  expect([...acknowledged].filter(([id, expected]) => !found.has(`${id} ${expected}`))).toEqual([])
  const [rows, told] = [
    await database.query<{ counts: Counts }>(rowsSql),
    await database.query<{ counts: Counts }>(entriesSql),
  ]
  expect(told[0]?.counts).toEqual(rows[0]?.counts)
}

/**
 * Kills one server after the other; some more while no entry has waited for the chain when its server was gone, if
 * `waiting` counts these.
 */
async function killAll(world: World, kills: number, waiting?: () => Promise<number>) {
  const acknowledged: Acknowledged = new Map()
  let waited = 0
  for (let kill = 0; kill < kills || (waiting && waited === 0 && kill < 10 * kills); kill += 1) {
    const { server, child } = await world.start()
    const before = acknowledged.size
    const loaded = load(server, acknowledged).catch(onlyGone)
    await expect.poll(() => acknowledged.size).toBeGreaterThan(before)
    await pause(600 + Math.random() * 400)
    await child.end('SIGKILL')
    await loaded
    waited += (await waiting?.()) ?? 0
  }
  const { database, close } = await world.openDatabase()
  try {
    await check(database, world, acknowledged)
  } finally {
    await close()
  }
  expect(acknowledged.size).toBeGreaterThan(kills)
  return waited
}

describePostgresAndRedis('an auth server that is killed between a change and the chain', (openBackend) => {
  it(
    'loses no entry, and has none twice',
    async () => {
      const stack = await openStack(openBackend, { hashing: 'costly' })
      const { database, environment } = stack
      const world: World = {
        environment,
        start: () => startAuthProcess(stack),
        openDatabase: async () => ({ database, close: async () => undefined }),
      }
      const waiting = async () => (await database.query('select 1 as waits from auth.audit_journal')).length
      expect(await killAll(world, campaign({ short: 3, long: 200 }), waiting)).toBeGreaterThan(0)
      await stack.close()
    },
    campaign({ short: 180_000, long: 3_600_000 }),
  )
})

describeEmbedded('a server that is killed between a change and the chain', () => {
  const folders: string[] = []
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  })

  it(
    'loses no entry, and has none twice',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'keyhold-kills-'))
      folders.push(folder)
      const environment = {
        DATA_DIR: folder,
        KEYS_DIR: await preparedKeysDir(),
        SECRETS_KEY: Buffer.alloc(32, 7).toString('base64url'),
        AUTH_PORT: String(await freePort()),
        DEAL_PORT: String(await freePort()),
        LOG_FORMAT: 'json',
        LOG_LEVEL: 'warn',
      }
      const world: World = {
        environment,
        start: async () => {
          const child = startChild('start.ts', { environment })
          await answering(`http://127.0.0.1:${environment.DEAL_PORT}/readyz`, child)
          return { server: testServer(Number(environment.AUTH_PORT)), child }
        },
        openDatabase: async () => {
          const engine = await openEmbeddedEngine(join(folder, 'postgres'))
          return { database: engine.database(), close: () => engine.close() }
        },
      }
      await killAll(world, campaign({ short: 2, long: 200 }))
    },
    campaign({ short: 180_000, long: 3_600_000 }),
  )
})
