/**
 * PostgreSQL of the auth servers ends between the commit of a revocation and its publication. What is acknowledged all
 * the same is refused within a second by everybody who reaches Redis or an auth server, and others go on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { openCache } from '../../../shared/platform/redis/open-cache.ts'
import { campaign } from '../../support/campaign.ts'
import { type Sent, send } from '../../support/clients/http-client.ts'
import { makeService, type ServiceCredential } from '../../support/clients/service-client.ts'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'
import { type OpenCredential, openCredential, type Revocation, revocations } from '../../support/worlds/revocations.ts'
import {
  openStack,
  passwordOf,
  type Stack,
  startAuthServer,
  startDealServer,
  type TestServer,
} from '../../support/worlds/stack.ts'
import { startVerifyingServices } from '../../support/worlds/verifying-services.ts'
import { promisedMs } from '../../support/worlds/within-a-second.ts'

const rounds = campaign({ short: 1, long: 12 })
const list = '/rest/v1/deals?limit=1'
const schemes: readonly string[] = ['bearer', 'session', 'signed-request', 'basic']
const administrator = { authorization: `Basic ${Buffer.from(`admin:${passwordOf('admin')}`).toString('base64')}` }

/** What ends, as it does. */
type End = (backend: Backend, postgres: PostgresServer) => Promise<unknown>
const killed: End = (_backend, postgres) => postgres.kill()
const frozen: End = async (_backend, postgres) => postgres.pause()
const killedWithRedis: End = (backend, postgres) => Promise.all([postgres.kill(), backend.redis?.kill()])

/** What the change of a principal, or the end of a login, results in. */
const isChange = (result: unknown) => /"(principalVersion|is_ended)"/.test(JSON.stringify(result) ?? '')

/** A server that follows an auth server. */
interface Follower {
  readonly name: string
  readonly server: TestServer
}

/** Signs a request with a credential. */
type Signer = Pick<OpenCredential, 'sign' | 'scheme'>

/** Two auth servers over a PostgreSQL that ends, and servers that follow them and have another one. */
class World {
  readonly followers: Follower[] = []
  readonly #undo: (() => Promise<unknown>)[] = []
  readonly #backend: Backend
  readonly #postgres: PostgresServer
  #parts: { readonly stack: Stack; readonly otherUrl: string } | undefined
  #end: End | undefined
  #service: ServiceCredential | undefined
  #dealServers = 0
  readonly #closeServices: (() => Promise<unknown>)[] = []

  constructor(backend: Backend, postgres: PostgresServer) {
    this.#backend = backend
    this.#postgres = postgres
  }

  get #opened() {
    return this.#parts ?? expect.unreachable('the world is open')
  }

  get stack(): Stack {
    return this.#opened.stack
  }

  async open(): Promise<void> {
    const { url } = this.#postgres
    const environment = { ...this.#backend.environment, AUTH_DATABASE_URL: url }
    const ofAuth = { ...this.#backend, environment, openDatabase: () => this.#ending(openPostgres(url)) }
    const many = { LOGIN_FAILURES_PER_ACCOUNT: '100000/60', LOGIN_FAILURES_PER_ADDRESS: '100000/60' }
    const stack = await openStack(async () => ofAuth, { environment: many, logLevel: 'silent' })
    this.#undo.push(() => stack.close())
    const { auth, clock } = stack
    const own = { AUTH_PORT: String(await freePort()), AUTH_PUBLIC_ORIGIN: auth.url, ISSUER: auth.url }
    const other = await startAuthServer({
      backend: { ...ofAuth, openDatabase: () => openPostgres(url) },
      clock,
      log: createLog({ level: 'silent', format: 'json' }),
      environment: { ...stack.environment, ...own },
    })
    this.#undo.push(other.close)
    this.#parts = { stack, otherUrl: other.server.url }
    const ofDeals = this.#backend.openDatabase()
    await migrateBoth(ofDeals)
    await ofDeals.close()
    await this.#addDealServer('a deal server with Redis', other.server.url, this.#backend.openCache)
    await this.#addDealServer('a deal server at the other auth server', other.server.url)
    await this.#addDealServer('a deal server at the same auth server', auth.url)
    this.#service = await makeService(stack)
    await this.renewServices()
  }

  /**
   * Services open their streams again every minute, for which they need PostgreSQL: one that does so as it ends hears
   * nothing more (docs/revocation.md#while-postgresql-is-away). New ones do not before a case is over.
   */
  async renewServices(): Promise<void> {
    const service = this.#service ?? expect.unreachable('the world is open')
    for (const close of this.#closeServices.splice(0)) await close()
    this.followers.splice(this.#dealServers)
    this.followers.push(...(await this.addServices(service, this.#closeServices)))
  }

  async #addDealServer(name: string, authUrl: string, ownCache?: Backend['openCache']): Promise<void> {
    const { clock, environment } = this.stack
    const withoutRedis: Backend['openCache'] = (secrets = []) => openCache({ redisUrl: 'none', clock, secrets })
    const { server, close } = await startDealServer({
      backend: { ...this.#backend, openCache: ownCache ?? withoutRedis },
      clock,
      log: createLog({ level: 'silent', format: 'json' }),
      environment: { ...environment, AUTH_URL: authUrl, DEAL_PORT: String(await freePort()) },
    })
    this.#undo.push(close)
    this.followers.push({ name, server })
    this.#dealServers = this.followers.length
  }

  /** A service at each auth server, which `undo` closes. */
  async addServices(service: ServiceCredential, undo = this.#undo): Promise<Follower[]> {
    const added: Follower[] = []
    for (const [place, authServer] of [
      ['the other', this.#opened.otherUrl],
      ['the same', this.stack.auth.url],
    ] as const) {
      const { services, verifier, close } = await startVerifyingServices({ authServer, service, audience: 'deals' })
      undo.push(close)
      await verifier.ready()
      const [server] = services
      if (server) added.push({ name: `a service at ${place} auth server`, server })
    }
    return added
  }

  /** Carries it out, and ends PostgreSQL right after the commit. */
  async endAtCommit(carryOut: () => Promise<unknown>, end: End): Promise<void> {
    this.#end = end
    await carryOut().finally(() => expect(this.#end, 'there was no commit').toBeUndefined())
  }

  /** Everything works again. */
  async restart(): Promise<void> {
    this.#postgres.resume()
    await this.#postgres.kill()
    await this.#postgres.start()
    const { redis } = this.#backend
    const answer = await redis?.command('PING').catch(() => undefined)
    if (answer !== 'PONG') await redis?.start()
  }

  async close(): Promise<void> {
    for (const undo of [...this.#closeServices, ...this.#undo.reverse()]) await undo()
  }

  /** Reports the commit of a change when PostgreSQL has ended. */
  #ending(database: Database): Database {
    const ended = async <Result>(work: Promise<Result>): Promise<Result> => {
      const result = await work
      if (!isChange(result)) return result
      const end = this.#end
      this.#end = undefined
      await end?.(this.#backend, this.#postgres)
      return result
    }
    const { transaction, write } = database
    database.transaction = (work) => ended(transaction.call(database, work)) as never
    database.write = (text, parameters) => ended(write.call(database, text, parameters)) as never
    return database
  }
}

describePostgresAndRedis('when PostgreSQL ends right after the commit of a revocation', (openBackend) => {
  let backend: Backend
  let postgres: PostgresServer
  let world: World

  beforeAll(async () => {
    backend = await openBackend()
    postgres = await PostgresServer.create(findPostgresBinaries() ?? '')
    world = new World(backend, postgres)
    await world.open()
  })
  afterEach(() => world.restart())
  afterAll(async () => {
    await world.close()
    await postgres.remove()
    await backend.close()
  })

  const administer = async (path: string, sent: Sent): Promise<void> => {
    const { status, text } = await world.stack.auth.send(path, { ...sent, headers: administrator })
    if (status !== 200 && status !== 204) throw new Error(`${path} answered ${status}: ${text}`)
  }
  const statusOf = async ({ server }: Follower, signer: Signer): Promise<number> => {
    const { url, headers } = await signer.sign({
      method: 'GET',
      url: `${server.url}${list}${signer.scheme === 'signed-request' ? '&audience=deals' : ''}`,
    })
    return (await send(url, { headers })).status
  }
  const untilAccepted = async (followers: readonly Follower[], signers: readonly Signer[]) => {
    for (const follower of followers)
      for (const signer of signers) await eventually(async () => expect(await statusOf(follower, signer)).toBe(200))
  }
  const bearerOf = async (username: string): Promise<Signer> => {
    const { access } = await eventually(() => world.stack.logIn(username))
    const sign = async ({ url }: { readonly url: string }) => ({ url, headers: { authorization: `Bearer ${access}` } })
    return { scheme: 'bearer', sign }
  }

  /** Who accepts what is sent later than promised after now. */
  const acceptedLate = async (followers: readonly Follower[], signers: readonly Signer[]): Promise<string[]> => {
    const at = performance.now()
    const accepted = new Set<string>()
    const watch = async (follower: Follower, signer: Signer) => {
      const allowed = allowHoldUps()
      for (let sentAt = at; sentAt - at < 2_000; sentAt = performance.now()) {
        const status = await statusOf(follower, signer)
        if (status === 200 && sentAt - at > allowed(promisedMs)) accepted.add(`${follower.name}: ${signer.scheme}`)
        await sleep(20)
      }
    }
    await Promise.all(followers.flatMap((follower) => signers.map((signer) => watch(follower, signer))))
    return [...accepted]
  }

  /** How much longer than it should take this process to rest, and Redis to answer, in milliseconds. */
  const longestStall = async (isOver: () => boolean): Promise<number> => {
    const cache = backend.openCache()
    let longestMs = 0
    while (!isOver()) {
      const startedAt = performance.now()
      await sleep(10)
      await cache.ping().catch(() => undefined)
      longestMs = Math.max(longestMs, performance.now() - startedAt - 10)
    }
    await cache.close()
    return longestMs
  }

  /** Who refuses until `isOver`, and how. A 503 is left out where this machine was too busy for streams to go on. */
  const refusedUntil = async (isOver: () => boolean, signer: Signer): Promise<string[]> => {
    const refused = new Map<string, number>()
    const watch = async (follower: Follower) => {
      while (!isOver()) {
        const status = await statusOf(follower, signer)
        if (status !== 200) refused.set(`${status} by ${follower.name}`, status)
        await sleep(50)
      }
    }
    const [stallMs] = await Promise.all([longestStall(isOver), ...world.followers.map(watch)])
    return [...refused].flatMap(([text, status]) => (status === 503 && stallMs >= 200 ? [] : [text]))
  }

  const open = async ({ schemes: all }: Revocation): Promise<OpenCredential[]> => {
    const chosen = all.filter((scheme) => schemes.includes(scheme))
    const opened = await eventually(() => Promise.all(chosen.map((scheme) => openCredential(world.stack, scheme))))
    await untilAccepted(world.followers, opened)
    return opened
  }
  const named = (name: string) => revocations.find((one) => one.name === name) ?? expect.unreachable(name)
  const times = Array.from({ length: rounds })
  // The first ones stand for the others: a change of a user, of logins, of the catalogue.
  const names = [
    'a right taken away',
    'own logout',
    'a role loses a right',
    'API key revoked',
    'disabled',
    'session ended',
    'password changed',
    'logout everywhere',
  ].slice(0, campaign({ short: 3, long: 8 }))
  const kinds: [string, string, End][] = [
    ...names.map((name): [string, string, End] => [name, 'dies', killed]),
    ['a right taken away', 'freezes', frozen],
  ]

  it.each(times.flatMap(() => kinds))('%s, and it %s', async (name, _how, end) => {
    const revocation = named(name)
    await eventually(() => world.renewServices())
    const [credentials, bystander] = [await open(revocation), await bearerOf('alice')]
    // Followers whose streams were in vain pause for so long.
    await sleep(2_500)
    // After that: what a follower read before the first line of its stream, it reads again.
    await untilAccepted(world.followers, [bystander])
    const ports = { administer, auth: world.stack.auth, operator: undefined as never, credentials }
    let isOver = false
    const others = refusedUntil(() => isOver, bystander)
    await world.endAtCommit(() => revocation.carryOut(ports), end)
    const accepted = await acceptedLate(world.followers, credentials)
    isOver = true
    const refused = await others
    await world.restart()
    await eventually(() => revocation.undo?.(ports))
    expect(accepted).toEqual([])
    // The catalogue concerns everybody: all may have to wait, and nobody has lost anything.
    const isForAll = name === 'a role loses a right'
    expect(refused.filter((text) => !isForAll || !text.startsWith('503'))).toEqual([])
  })

  it('a service that is deleted', async () => {
    const service = await eventually(() => makeService(world.stack))
    const [followers, bystander] = [await world.addServices(service), await bearerOf('alice')]
    await untilAccepted(followers, [bystander])
    await world.endAtCommit(() => administer(`/services/${service.id}`, { method: 'DELETE' }), killed)
    expect(await acceptedLate(followers, [bystander])).toEqual([])
  })

  it('is 503 when Redis dies too, and nobody believes what he knows for longer than a second', async () => {
    const revocation = named('a right taken away')
    const credentials = await open(revocation)
    const ports = { administer, auth: world.stack.auth, operator: undefined as never, credentials }
    await expect(world.endAtCommit(() => revocation.carryOut(ports), killedWithRedis)).rejects.toThrow('answered 503')
    expect(await acceptedLate(world.followers, credentials)).toEqual([])
    await world.restart()
    await eventually(() => revocation.undo?.(ports))
  })
})
