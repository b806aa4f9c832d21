/**
 * The measured servers, in this process: an auth server and a deal server, composed as in production; and, as the
 * floor, the HTTP interface of the deal server with a fixed caller. The tables of both servers are in one database.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { readAuthConfig } from '../auth-server/config.ts'
import { createKeyRing } from '../auth-server/key-ring/create-key-ring.ts'
import { openKeyRing } from '../auth-server/key-ring/key-ring.ts'
import { createAuthServer } from '../auth-server/server.ts'
import { ensureAnonymous } from '../auth-server/users/create-user.ts'
import { allRights } from '../auth-server/users/rights.ts'
import { createExecuteCommand } from '../deal-server/commands/execute.ts'
import { readDealConfig } from '../deal-server/config.ts'
import { createDealApp } from '../deal-server/http/app.ts'
import { createDealServer } from '../deal-server/server.ts'
import { createDealRepository, type DealStore } from '../deal-server/store/deals.ts'
import { systemClock as clock } from '../shared/platform/clock.ts'
import { migrateDatabase } from '../shared/platform/database/migrate.ts'
import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorKeyOf } from '../shared/platform/http/pagination/cursors.ts'
import { listen } from '../shared/platform/http/server/listen.ts'
import { createIdSource } from '../shared/platform/ids.ts'
import { createLog, onceATurn } from '../shared/platform/log/log.ts'
import { createMetrics } from '../shared/platform/metrics/metrics.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import { openPostgres } from '../shared/platform/postgres/postgres.ts'
import { openCache } from '../shared/platform/redis/open-cache.ts'
import type { Authenticate, Caller } from '../shared/protocol/authentication/authenticate.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import { trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { sharedProblems } from '../shared/protocol/problems/both-servers.ts'
import { basicFields, keySignedFields, logIn, makeApiKey, sessionFields } from './credentials.ts'
import type { Environment } from './environment.ts'

/** The running servers. */
export type Servers = Awaited<ReturnType<typeof startServers>>

const ids = createIdSource(clock)
/** The log lines are written as in production, but to /dev/null. */
const log = createLog({ level: 'info', format: 'json' }, onceATurn(pino.destination('/dev/null')))
const user = { username: 'bench', password: ids.secret(24) }
const secrets = { SERVICE_SECRET: ids.secret(32), SECRETS_KEY: ids.secret(32) }
const metrics = createMetrics()
const migrationsOf = (server: string) => join(import.meta.dirname, '..', server, 'store/migrations')

/** Starts the servers, with a user and all its credentials. */
export async function startServers({ database: { url }, redisUrl }: Environment) {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-bench-'))
  const variables = { ...secrets, AUTH_DATABASE_URL: url, DEAL_DATABASE_URL: url, REDIS_URL: redisUrl }
  const database = openPostgres(url)
  const cache = openCache({ redisUrl, clock, secrets: [secrets.SERVICE_SECRET] })
  const own = { KEYS_DIR: folder, MAX_LOGINS_PER_USER: '10000', TRUST_PROXY: '1' }
  const auth = await startAuth({ ...variables, ...own }, { database, cache })
  const deal = await startDeals({ ...variables, AUTH_PUBLIC_ORIGIN: auth.origin }, { database, cache })
  const accessToken = await logIn(auth.origin, user)
  return {
    database,
    /** The origin of the auth server. */
    authOrigin: auth.origin,
    authPort: auth.port,
    /** The setting HASH_CONCURRENCY. */
    hashConcurrency: auth.hashConcurrency,
    /** The port of the real deal server. */
    port: deal.port,
    /** The port of the same interface with the fixed caller. */
    fixedCallerPort: deal.fixedCallerPort,
    /** Listens with the fixed caller over another repository. */
    listenWithFixedCaller: deal.listenWithFixedCaller,
    /** Starts another deal server. */
    listenAnotherServer: deal.listenAnotherServer,
    /** The benchmark's user; its record is in the cache. */
    username: user.username,
    accessToken,
    /** A new access token. */
    logIn: () => logIn(auth.origin, user),
    /** The setting KEYS_DIR. */
    keysDir: folder,
    /** The parts with which a deal server follows the auth server. */
    follow: { ...deal.follow, authUrl: auth.origin, secret: secrets.SERVICE_SECRET, cache, clock, ids, log },
    /** Header fields of two key-signed tokens: with a user name only, and with all parts. */
    keySigned: {
      name: await keySignedFields(auth.origin, user, ['username']),
      everything: await keySignedFields(auth.origin, user, ['username', 'ip', 'password']),
    },
    /** Header fields of a session and of Basic. */
    session: await sessionFields(auth.origin, user),
    basic: basicFields(user),
    /** The API key for signed requests. */
    apiKey: await makeApiKey(auth.origin, accessToken),
    close: async () => {
      await deal.close()
      await auth.close()
      await Promise.all([database.close(), cache.close()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Shared = Pick<Parameters<typeof createDealServer>[1], 'database' | 'cache'>

async function startAuth(variables: Record<string, string>, shared: Shared) {
  const { config } = readAuthConfig('alone', variables)
  await createKeyRing(config.keysDir, { bits: config.keyBits, clock })
  const keyRing = await openKeyRing({ directory: config.keysDir, passphrase: undefined }, log)
  await migrateDatabase(shared.database, { migrationsFolder: migrationsOf('auth-server'), schema: 'auth' })
  await ensureAnonymous({ ...shared, clock, ids })
  const { serviceSecrets = [], secretsKeys = [] } = config
  const server = createAuthServer(config, { ...shared, clock, ids, log, keyRing, serviceSecrets, secretsKeys })
  server.start()
  await server.users.create({ ...user, roles: ['admin'] })
  const { publicOrigin: origin, publicOrigins } = config
  const place = { host: '127.0.0.1', port: 0, origin, publicOrigins, problems: sharedProblems, ids, log }
  const listening = await listen({ ...place, app: server.app })
  const close = async () => {
    await listening.drain({ lastRequestMs: 0, graceMs: 100 })
    await server.stop()
    await keyRing.close()
  }
  const { port } = listening
  return { origin: `http://127.0.0.1:${port}`, port, hashConcurrency: config.hashConcurrency, close }
}

async function startDeals(variables: Record<string, string>, shared: Shared) {
  const { config } = readDealConfig('alone', { ...variables, ISSUER: readAuthConfig('alone', {}).config.issuer })
  await migrateDatabase(shared.database, { migrationsFolder: migrationsOf('deal-server'), schema: 'deals' })
  const { publicOrigin: origin, publicOrigins } = config
  const place = { host: '127.0.0.1', port: 0, origin, publicOrigins, problems: sharedProblems, ids, log }
  const startServer = async () => {
    const server = createDealServer(config, { ...shared, clock, ids, log, serviceSecret: secrets.SERVICE_SECRET })
    await server.start()
    const { port, drain } = await listen({ ...place, app: server.app })
    const close = async () => {
      await drain({ lastRequestMs: 0, graceMs: 100 })
      await server.stop()
    }
    return { port, close }
  }
  const listenWithFixedCaller = async (repository: DealStore, authenticate: Authenticate = authenticateFixedCaller) => {
    const findAssignableUsers = () => Promise.resolve(new Map())
    const findUserId = () => Promise.resolve(undefined)
    const events = { open: () => Promise.resolve(undefined), canBegin: () => Promise.resolve(false) }
    const cursors = createCursors([cursorKeyOf(secrets.SERVICE_SECRET)])
    const counted = { cors: createCors(trustedOrigins(config), corsFields), observe: observeRequests(metrics, 'deal') }
    const { defaultCurrency } = config
    const executeCommand = createExecuteCommand({ repository, findAssignableUsers, clock, ids, defaultCurrency })
    const given = { openRoutes: [], authenticate, recheck, executeCommand, findUserId, events, cursors, ...counted }
    const { port, drain } = await listen({
      ...place,
      app: createDealApp(config, { ...given, reader: repository, clock, ids, log }),
    })
    return { port, close: () => drain({ lastRequestMs: 0, graceMs: 100 }) }
  }
  const server = await startServer()
  const open = await listenWithFixedCaller(createDealRepository(shared.database))
  const close = async () => {
    await Promise.all([server.close(), open.close()])
  }
  const { issuer, audience } = config
  const follow = { issuer, audience }
  return {
    port: server.port,
    fixedCallerPort: open.port,
    listenWithFixedCaller,
    listenAnotherServer: startServer,
    follow,
    close,
  }
}

const recheck = (caller: Caller) => Promise.resolve(caller)

const authenticateFixedCaller = (): Promise<Caller> => Promise.resolve(fixedCaller)

/** The user of the benchmark, as a caller. */
export const fixedCaller: Caller = {
  username: user.username,
  userId: ids.uuid(),
  rights: new Set(allRights),
  scheme: 'bearer',
  credential: { username: user.username, generation: undefined, loginId: undefined, expiresAt: undefined },
}
