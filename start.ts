/**
 * `npm start`: both servers in one process, with embedded defaults. Everything is real: a PostgreSQL engine in `data/`,
 * the same migrations, the same HTTP between the two servers. Only the cache is in this process, when REDIS_URL is not
 * set.
 */

import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { duringFirstStart, firstStart } from './auth-server/audit/first-start.ts'
import { readAuthConfig } from './auth-server/config.ts'
import { createKeyRing } from './auth-server/key-ring/create-key-ring.ts'
import { openKeyRing } from './auth-server/key-ring/key-ring.ts'
import { keyRingFileName } from './auth-server/key-ring/keyring-file.ts'
import { type AuthServer, createAuthServer } from './auth-server/server.ts'
import { parseSecretsKeys } from './auth-server/store/secrets-keys.ts'
import { ensureAnonymous } from './auth-server/users/create-user.ts'
import {
  createDemoApiKeys,
  createDemoUsers,
  createFirstAdmin,
  demoNeedsLoopback,
  demoUserProblems,
  holdsOnlyDemo,
  newDemoUsers,
} from './auth-server/wiring/bootstrap.ts'
import { authConsole } from './console/auth-console.ts'
import { dealConsole } from './console/deal-console.ts'
import { readDealConfig } from './deal-server/config.ts'
import { createDealServer, type DealServer } from './deal-server/server.ts'
import { createDemoDeals } from './deal-server/wiring/demo-deals.ts'
import { systemClock as clock } from './shared/platform/clock.ts'
import type { Database } from './shared/platform/database/database.ts'
import { migrateDatabase } from './shared/platform/database/migrate.ts'
import { prepareDatabase } from './shared/platform/database/prepare.ts'
import { placeOf, writeTextWhole } from './shared/platform/files/whole-file.ts'
import type { IdSource } from './shared/platform/ids.ts'
import type { Log } from './shared/platform/log/log.ts'
import { OperatorError, withFilesOf } from './shared/platform/operator-error.ts'
import { openPostgres } from './shared/platform/postgres/postgres.ts'
import { lockFolder } from './shared/platform/process/folder-lock.ts'
import { generatedSecret } from './shared/platform/process/generated-secrets.ts'
import { endWith, requireSettings } from './shared/platform/process/process.ts'
import { runServer, type ServerProcess } from './shared/platform/process/run-server.ts'
import { projectFolder } from './shared/platform/project-folder.ts'
import { sharedProblems } from './shared/protocol/problems/both-servers.ts'
import { isLoopbackHost, sharedPort } from './shared/server/settings/common-settings.ts'
import { warnOfWays } from './shared/server/settings/warn-of-ways.ts'

const usage = 'Usage: npm start [-- --no-demo]'
const unknown = process.argv.slice(2).filter((argument) => argument !== '--no-demo')
if (unknown.length > 0) endWith(2, `${usage}\nUnknown: ${unknown.join(' ')}`)
const withDemo = !process.argv.includes('--no-demo')

const auth = readAuthConfig('together')
const deal = readDealConfig('together')
const { dataDir } = auth.config
const demoFile = join(dataDir, 'demo.json')
const demoDraft = `${demoFile}.new`
const mode = 0o600
const hasDemo = withDemo || existsSync(demoFile)
const demoInProduction = {
  variable: '--no-demo',
  expected: 'must be given in production, and no demo data be in DATA_DIR',
}
const settingProblems = [
  ...auth.problems,
  ...deal.problems,
  ...sharedPort(['AUTH_PORT', auth.config.port], ['DEAL_PORT', deal.config.port]),
  ...(hasDemo && auth.config.production ? [demoInProduction] : []),
  ...(hasDemo && !isLoopbackHost(auth.config.host) ? [demoNeedsLoopback] : []),
]
let say: (step: string) => void = () => undefined

await runServer(
  {
    title: 'Keyhold',
    config: auth.config,
    settingProblems,
    servers: ['auth', 'deal'],
    ports: { AUTH_PORT: auth.config.port, DEAL_PORT: deal.config.port, METRICS_PORT: auth.config.metricsPort },
    problems: sharedProblems,
    prepare: prepareProcess,
  },
  startBoth,
)

/** Until the servers are ready, a person reads what they do. Only warnings are between these lines. */
async function prepareProcess(log: Log): Promise<void> {
  if (log.isLevelEnabled('info')) say = (step) => void process.stdout.write(`${step} …\n`)
  if (auth.config.log.level === 'info') log.level = 'warn'
  warnOfWays(log, {
    databases: {
      AUTH_DATABASE_URL: auth.config.databaseUrl,
      DEAL_DATABASE_URL: deal.config.databaseUrl,
    },
    redisUrl: auth.config.redisUrl,
  })
  const unlock = await withFilesOf('DATA_DIR', dataDir, () => lockFolder(dataDir))
  process.on('exit', () => void unlock())
}

async function startBoth(serverProcess: ServerProcess): Promise<() => Promise<void>> {
  const secretsKeys = auth.config.secretsKeys ?? [await generatedSecret(dataDir, 'secrets-key')]
  // Refuses texts that are no keys before the database is opened.
  parseSecretsKeys(secretsKeys.join(','))
  const keyRing = await openRing(serverProcess)
  const databases = await openDatabases()
  await migrate(databases, serverProcess)
  const [serviceSecret] = serverProcess.serviceSecrets
  const authServer = createAuthServer(auth.config, {
    ...serverProcess,
    database: databases.auth,
    tracing: await serverProcess.openTracing('auth'),
    keyRing,
    secretsKeys,
    console: authConsole,
  })
  const dealServer = createDealServer(deal.config, {
    ...serverProcess,
    database: databases.deal,
    tracing: await serverProcess.openTracing('deal'),
    serviceSecret,
    console: dealConsole,
  })
  await serveBoth(serverProcess, { authServer, dealServer })
  return async () => {
    await dealServer.stop()
    await authServer.stop()
    await Promise.all([keyRing, databases.auth, databases.deal].map((part) => part.close()))
    await databases.closeEngine()
  }
}

interface Servers {
  readonly authServer: AuthServer
  readonly dealServer: DealServer
}

async function serveBoth({ listen, ids, log }: ServerProcess, { authServer, dealServer }: Servers): Promise<void> {
  requireSettings(await prepareDatabase('AUTH_DATABASE_URL', () => demoUserProblems(auth.config, authServer)))
  await authServer.prepare()
  authServer.start()
  const newDemo = await prepareDatabase('AUTH_DATABASE_URL', () => createFirstUsers(authServer, ids))
  await listen(auth.config, authServer.app)
  await dealServer.start()
  await listen(deal.config, dealServer.app)
  if (newDemo) await completeDemo(newDemo, { authServer, dealServer, ids })
  process.stdout.write(welcome())
  log.level = auth.config.log.level
}

/** The databases of both servers: those of the settings, or embedded ones. */
async function openDatabases() {
  const { databaseUrl: authUrl } = auth.config
  const { databaseUrl: dealUrl } = deal.config
  const needsEngine = authUrl === undefined || dealUrl === undefined
  // Imported on demand: this package is missing where only built servers are installed.
  const embedded = needsEngine ? await import('./shared/platform/embedded/embedded.ts') : undefined
  say(needsEngine ? `Opening the database in ${dataDir}` : 'Preparing the databases')
  const engine = await embedded?.openEmbeddedEngine(join(dataDir, 'postgres'))
  const open = (url: string | undefined): Database => {
    if (url !== undefined) return openPostgres(url)
    if (!engine) throw new TypeError('the engine is open whenever a database has no URL')
    return engine.database()
  }
  return { auth: open(authUrl), deal: open(dealUrl), closeEngine: async () => engine?.close() }
}

async function migrate(
  databases: { readonly auth: Database; readonly deal: Database },
  { ids }: ServerProcess,
): Promise<void> {
  const migrationsOf = (server: string) => join(projectFolder, server, 'store/migrations')
  await prepareDatabase('AUTH_DATABASE_URL', async () => {
    await migrateDatabase(databases.auth, { migrationsFolder: migrationsOf('auth-server'), schema: 'auth' })
    await ensureAnonymous({ database: databases.auth, clock, ids })
  })
  await prepareDatabase('DEAL_DATABASE_URL', () =>
    migrateDatabase(databases.deal, { migrationsFolder: migrationsOf('deal-server'), schema: 'deals' }),
  )
}

async function openRing({ log }: ServerProcess) {
  const { keysDir: directory, newKeys, operator = null } = auth.config
  if (!existsSync(join(directory, keyRingFileName))) say(`Making keys in ${directory}`)
  await createKeyRing(directory, { ...newKeys, clock, by: { operator, reason: firstStart } })
  return openKeyRing({ directory, passphrase: newKeys.passphrase }, log)
}

/**
 * Creates the first users on an empty database: the demo users, whose list for scripts is the answer, or one admin. A
 * draft of the list is written first. A draft without a list shows that a start was interrupted; the next start
 * completes it, unless the database was replaced by one with other users.
 */
async function createFirstUsers(authServer: AuthServer, ids: IdSource): Promise<Demo | undefined> {
  const first = <Made>(make: () => Promise<Made>) => duringFirstStart(authServer.audit, auth.config.operator, make)
  const isEmpty = await authServer.users.isEmpty()
  const hasDraftAlone = existsSync(demoDraft) && !existsSync(demoFile)
  const wasCutOff = hasDraftAlone && (await holdsOnlyDemo(authServer.users))
  if (!withDemo) {
    await rm(demoDraft, { force: true })
    if (isEmpty) {
      await first(() => createFirstAdmin({ users: authServer.users, ids, config: auth.config }))
      return undefined
    }
  }
  if (withDemo && (isEmpty || wasCutOff)) {
    say('Making the demo users')
    const users = newDemoUsers(ids)
    await writeDraft({ users, apiKeys: [] })
    await first(() => createDemoUsers(users, authServer))
    const apiKeys = await first(() => createDemoApiKeys(authServer.apiKeys))
    return { users, apiKeys }
  }
  if (existsSync(demoFile)) await writeDemo(await readDemo())
  return undefined
}

/** Makes the demo deals, which need both servers, and then the list of the demo. */
async function completeDemo(
  demo: Demo,
  { authServer, dealServer, ids }: Servers & { readonly ids: IdSource },
): Promise<void> {
  say('Making the demo deals')
  const alice = await authServer.users.read('alice')
  if (alice) {
    const user = { username: alice.username, userId: alice.id }
    await prepareDatabase('DEAL_DATABASE_URL', () => createDemoDeals(user, { ...dealServer, ids, clock }))
  }
  await writeDemo(demo)
}

interface Demo {
  readonly users: unknown
  readonly apiKeys: unknown
}

async function readDemo(): Promise<Demo> {
  try {
    return JSON.parse(await readFile(demoFile, 'utf8'))
  } catch {
    throw new OperatorError(`${demoFile} is not the list that a start has written: put it back, or delete it`)
  }
}

/** Writes the list of demo users and API keys, with the present addresses of the servers. */
async function writeDemo(demo: Demo): Promise<void> {
  await withFilesOf('DATA_DIR', demoFile, async () => writeTextWhole(await placeOf(demoFile), textOf(demo), { mode }))
  await rm(demoDraft, { force: true })
}

async function writeDraft(demo: Demo): Promise<void> {
  await withFilesOf('DATA_DIR', demoDraft, () => writeFile(demoDraft, textOf(demo), { mode }))
}

function textOf({ users, apiKeys }: Demo): string {
  const demo = { authUrl: auth.config.publicOrigin, dealUrl: deal.config.publicOrigin, users, apiKeys }
  return `${JSON.stringify(demo, null, 2)}\n`
}

function welcome(): string {
  const { publicOrigin: authUrl } = auth.config
  const { publicOrigin: dealUrl } = deal.config
  const lines = [
    '',
    'Keyhold is running.',
    `  auth server  ${authUrl}`,
    `  deal server  ${dealUrl}`,
    `  console      ${dealUrl}/console`,
    `  API to try   ${dealUrl}/docs`,
  ]
  if (!existsSync(demoFile)) return [...lines, '', ''].join('\n')
  const read = `node -p 'JSON.parse(require("fs").readFileSync(0)).access_token'`
  return [
    ...lines,
    `  demo users   ${demoFile}`,
    '',
    'Try it:',
    `  TOKEN=$(curl -s ${authUrl}/login -H 'Content-Type: application/json' -d '{"username":"alice","password":"alice-demo-password"}' | ${read})`,
    `  curl -s ${dealUrl}/rest/v1/deals/ -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"name":"deal123","price":1234}'`,
    `  curl -s ${dealUrl}/rest/v1/deals -H "Authorization: Bearer $TOKEN"`,
    '',
    '',
  ].join('\n')
}
