/**
 * One auth server and some deal servers in this process, on sockets, as `start.ts` and the two `main.ts` put them
 * together.
 */
import { readAuthConfig } from '../../../auth-server/config.ts'
import { openKeyRing } from '../../../auth-server/key-ring/key-ring.ts'
import { createAuthServer } from '../../../auth-server/server.ts'
import { ensureAnonymous } from '../../../auth-server/users/create-user.ts'
import { createDemoUsers, demoPassword, newDemoUsers } from '../../../auth-server/wiring/bootstrap.ts'
import type { AuthResources } from '../../../auth-server/wiring/parts.ts'
import { authConsole } from '../../../console/auth-console.ts'
import { dealConsole } from '../../../console/deal-console.ts'
import { readDealConfig } from '../../../deal-server/config.ts'
import type { EventStreamsOptions } from '../../../deal-server/events/event-streams.ts'
import { createDealServer, type DealResources } from '../../../deal-server/server.ts'
import type { WebhookTuning } from '../../../deal-server/webhooks/webhooks.ts'
import { reportForgeries } from '../../../shared/platform/cache/report-forgeries.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openCertificate } from '../../../shared/platform/http/server/certificate.ts'
import { listen } from '../../../shared/platform/http/server/listen.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { createLog, type Log } from '../../../shared/platform/log/log.ts'
import { observeCertificate } from '../../../shared/platform/metrics/certificate-metrics.ts'
import { createMetrics, type Metrics, type ServerName } from '../../../shared/platform/metrics/metrics.ts'
import { openTracing } from '../../../shared/platform/tracing/opentelemetry/open-tracing.ts'
import { sharedProblems } from '../../../shared/protocol/problems/both-servers.ts'
import type { Endpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { type Exchange, type Reply, type Sent, secretsIn, send } from '../clients/http-client.ts'
import { exchangeWith } from '../clients/in-process.ts'
import { routesOf } from '../clients/openapi.ts'
import { freePort } from '../processes/free-port.ts'
import { preparedKeysDir } from '../processes/prepared-keys.ts'
import type { RedisServer } from '../processes/stores/redis-server.ts'
import type { Backend, OpenBackend } from '../stores/backends.ts'
import { withDemoUsers } from '../stores/demo-users.ts'
import { migrateBoth } from '../stores/migrate-both.ts'
import { grantLaterRights } from './later-rights.ts'
import { createMovableClock, type MovableClock } from './movable-clock.ts'

/** One server that listens. */
export interface TestServer {
  readonly port: number
  readonly url: string
  /** Sends a request to a path of this server. */
  send(path: string, sent?: Sent): Promise<Reply>
}

/** The two tokens of a login. */
export interface Tokens {
  readonly access: string
  readonly refresh: string
}

export interface Stack {
  readonly auth: TestServer
  /** The first deal server, for tests that need one. */
  readonly deal: TestServer
  readonly deals: readonly TestServer[]
  /** Starts one more deal server, which `deals` has from then on. */
  addDealServer(): Promise<TestServer>
  readonly clock: MovableClock
  /** To look into, beside the servers. */
  readonly database: Database
  readonly redis: RedisServer | undefined
  /** The settings the servers were given. */
  readonly environment: Readonly<Record<string, string>>
  readonly logLines: readonly string[]
  /** What the servers serve. */
  readonly served: Served
  /** Logs a user in; by default with the password that demo users have. */
  logIn(username: string, password?: string): Promise<Tokens>
  /** Closes everything. @throws Error when a log line holds a secret that was sent or received */
  close(): Promise<void>
}

/**
 * The routes of the servers, as `METHOD path` in Hono's syntax, and what the auth server's endpoints say of themselves.
 */
export interface Served {
  readonly auth: readonly string[]
  readonly deal: readonly string[]
  readonly endpoints: readonly Endpoint[]
}

export interface StackOptions {
  readonly dealServers?: number
  /** What a deal server has of its own, by its place among `deals`. */
  readonly dealServer?: (index: number) => OwnResources
  /** Further settings. */
  readonly environment?: Readonly<Record<string, string>>
  /** `silent` for suites that send so much that logging would take most of their time. */
  readonly logLevel?: 'trace' | 'silent'
  /** Requests by `send` do not go through sockets (`in-process.ts`). */
  readonly inProcess?: boolean
  /** Hashes cost as in production: for suites about that, and where a server in a process of its own hashes too. */
  readonly hashing?: 'costly'
  /** Times and sizes of event streams other than the usual ones. */
  readonly eventStreams?: Partial<EventStreamsOptions>
  /** Times and sizes of webhooks other than the usual ones. */
  readonly webhooks?: WebhookTuning
}

/** What one deal server may have otherwise than the others. */
export type OwnResources = Partial<Pick<DealResources, 'clock' | 'fetch'>>

/** What all servers of a stack share; `environment` has the port of each. */
export interface Common {
  readonly backend: Pick<Backend, 'mode' | 'openDatabase' | 'openCache'>
  readonly clock: MovableClock
  readonly log: Log
  readonly environment: Readonly<Record<string, string>>
  readonly eventStreams?: Partial<EventStreamsOptions>
  readonly webhooks?: WebhookTuning
  readonly inProcess?: boolean
  readonly hashing?: Pick<AuthResources, 'hashParameters'>
}

/** A server that runs. */
export interface StartedServer {
  readonly server: TestServer
  readonly routes: readonly string[]
  close(): Promise<void>
}

/** Undoes a step of the start; the last one first. */
type Undo = () => Promise<unknown>

/** Tests keep connections for their next request, which nobody has to wait for. */
const atOnce = { lastRequestMs: 0, graceMs: 1_000 }

const serviceSecret = 'service secret of the tests with 32 characters or more'
const secretsKey = Buffer.alloc(32, 7).toString('base64url')

const cheapHashing: Pick<AuthResources, 'hashParameters'> = { hashParameters: { memoryKib: 64, passes: 1, lanes: 1 } }

/** The password of a demo user. */
export const passwordOf = demoPassword

/** The Digest secret of a demo user in a stack: the same in whichever process the stack runs. */
export const digestSecretOf = (username: string): string => `Digest secret of ${username} in tests`

/** Starts a stack with the demo's users in it. */
export async function openStack(openBackend: OpenBackend, options: StackOptions = {}): Promise<Stack> {
  const backend = await openBackend()
  const undo: Undo[] = [() => backend.close()]
  const logLines: string[] = []
  const clock = createMovableClock()
  const environment = {
    ...backend.environment,
    AUTH_PORT: String(await freePort()),
    // Clients of several deal servers see one origin.
    DEAL_PUBLIC_ORIGIN: 'http://deals.test',
    KEYS_DIR: await preparedKeysDir(),
    SERVICE_SECRET: serviceSecret,
    SECRETS_KEY: secretsKey,
    ...options.environment,
  }
  const log = createLog(
    { level: options.logLevel ?? 'trace', format: 'json' },
    { write: (line) => void logLines.push(line) },
  )
  const common: Common = {
    backend,
    clock,
    log,
    environment,
    eventStreams: options.eventStreams ?? {},
    webhooks: options.webhooks ?? {},
    inProcess: options.inProcess ?? false,
    hashing: options.hashing === 'costly' ? {} : cheapHashing,
  }
  const database = backend.openDatabase()
  undo.push(() => database.close())
  await migrateBoth(database)
  const started = <Started extends StartedServer>(server: Started): Started => {
    undo.push(server.close)
    return server
  }
  const startedAuth = started(await startAuthServer(common))
  const { server: auth } = startedAuth
  const deals: TestServer[] = []
  let dealRoutes: readonly string[] = []
  const addDealServer = async () => {
    const settings = { DEAL_PORT: String(await freePort()), ...environment }
    const own = options.dealServer?.(deals.length)
    const { server, routes } = started(await startDealServer({ ...common, environment: settings }, own))
    deals.push(server)
    dealRoutes = routes
    return server
  }
  while (deals.length < (options.dealServers ?? 1)) await addDealServer()
  const [deal] = deals
  if (!deal) throw new TypeError('a stack has at least one deal server')
  const logInAt = (username: string, password = passwordOf(username)) => logIn(auth, username, password)
  await grantLaterRights({ auth, logIn: logInAt })
  return {
    auth,
    deal,
    deals,
    addDealServer,
    clock,
    database,
    environment,
    logLines,
    served: { auth: startedAuth.routes, deal: dealRoutes, endpoints: startedAuth.endpoints },
    redis: backend.redis,
    logIn: logInAt,
    close: async () => {
      for (const step of undo.reverse()) await step()
      const leaked = secretsIn(logLines.join(''))
      if (leaked.length > 0) throw new Error(`secrets in the log: ${leaked.join(' ')}`)
    },
  }
}

/** An auth server that runs. */
export interface StartedAuthServer extends StartedServer {
  readonly endpoints: readonly Endpoint[]
}

/** Starts one auth server, and makes the demo's users when they are not there. */
export async function startAuthServer(common: Common): Promise<StartedAuthServer> {
  const { backend, clock, log, environment, hashing = cheapHashing } = common
  const { config, problems } = readAuthConfig(backend.mode, environment)
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  const keyRing = await openKeyRing({ directory: config.keysDir, passphrase: undefined }, log)
  const [database, cache, ids] = [
    backend.openDatabase(),
    backend.openCache(config.serviceSecrets),
    createIdSource(clock),
  ]
  await ensureAnonymous({ database, clock, ids })
  const metrics = metricsOf(log, clock, 'auth')
  const certificate = await openCertificate(config.tls, { log })
  observeCertificate(metrics, 'auth', certificate)
  const secrets = { serviceSecrets: config.serviceSecrets ?? [], secretsKeys: config.secretsKeys ?? [] }
  const tracing = await openTracing(config.tracing, {
    service: 'keyhold-auth',
    version: '0',
    instance: ids.uuid(),
    log,
  })
  const server = createAuthServer(config, {
    database,
    cache,
    clock,
    ids,
    log,
    metrics,
    tracing,
    keyRing,
    console: authConsole,
    ...secrets,
    ...hashing,
  })
  await server.prepare()
  const users = newDemoUsers(ids).map((user) => ({ ...user, digestSecret: digestSecretOf(user.username) }))
  await withDemoUsers(
    { database, decidedBy: JSON.stringify([secrets.secretsKeys, hashing]) },
    {
      start: server.start,
      publish: () => server.digestSecrets.renew('dave', digestSecretOf('dave')),
      create: () => createDemoUsers(users, server),
    },
  )
  const listening = await listen({
    app: server.app,
    host: config.host,
    port: config.port,
    origin: config.publicOrigin,
    publicOrigins: config.publicOrigins,
    problems: sharedProblems,
    ids,
    log,
    certificate,
  })
  const close = async () => {
    await listening.drain(atOnce)
    await server.stop()
    await tracing?.close()
    await Promise.all([keyRing.close(), database.close(), cache.close()])
  }
  const exchange = common.inProcess ? exchangeWith(server.app) : undefined
  const { endpoints } = server
  return {
    server: testServer(listening.port, config.tls && 'https', exchange),
    routes: routesOf(server.app),
    endpoints,
    close,
  }
}

/** Starts one deal server. */
export async function startDealServer(common: Common, own: OwnResources = {}): Promise<StartedServer> {
  const { backend, log, environment, eventStreams = {}, webhooks = {} } = common
  const { clock = common.clock, ...others } = own
  const { config, problems } = readDealConfig(backend.mode, environment)
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  const [database, cache, ids] = [
    backend.openDatabase(),
    backend.openCache(config.serviceSecrets),
    createIdSource(clock),
  ]
  const metrics = metricsOf(log, clock, 'deal')
  const certificate = await openCertificate(config.tls, { log })
  observeCertificate(metrics, 'deal', certificate)
  const [serviceSecret = ''] = config.serviceSecrets ?? []
  const tracing = await openTracing(config.tracing, {
    service: 'keyhold-deal',
    version: '0',
    instance: ids.uuid(),
    log,
  })
  const server = createDealServer(config, {
    database,
    cache,
    clock,
    ids,
    log,
    metrics,
    tracing,
    serviceSecret,
    eventStreams,
    webhooks,
    console: dealConsole,
    ...others,
  })
  await server.start()
  const listening = await listen({
    app: server.app,
    host: config.host,
    port: config.port,
    origin: config.publicOrigin,
    publicOrigins: config.publicOrigins,
    problems: sharedProblems,
    ids,
    log,
    certificate,
  })
  const close = async () => {
    await listening.drain(atOnce)
    await server.stop()
    await tracing?.close()
    await Promise.all([database, cache].map((part) => part.close()))
  }
  const exchange = common.inProcess ? exchangeWith(server.app) : undefined
  return {
    server: testServer(listening.port, config.tls && 'https', exchange),
    routes: routesOf(server.app),
    close,
  }
}

/** The metrics of a server's process, with what it counts beside the server. */
function metricsOf(log: Log, clock: Clock, server: ServerName): Metrics {
  const metrics = createMetrics()
  reportForgeries({ log, clock }).observe(metrics, server)
  return metrics
}

/** A server of this machine that listens on `port`. */
export const testServer = (port: number, protocol: 'http' | 'https' = 'http', exchange?: Exchange): TestServer => {
  const url = `${protocol}://127.0.0.1:${port}`
  return { port, url, send: (path, sent) => send(url + path, sent, exchange) }
}

/** @throws Error when the login is refused */
export async function logIn(auth: TestServer, username: string, password: string): Promise<Tokens> {
  const { status, body, text } = await auth.send('/login', { json: { username, password } })
  if (status !== 200) throw new Error(`login answered ${status}: ${text}`)
  return { access: String(body.access_token), refresh: String(body.refresh_token) }
}
