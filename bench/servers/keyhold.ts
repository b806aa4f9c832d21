/** The measured servers: compiled, each a process of its own, as in production. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import { createIdSource } from '../../shared/platform/ids.ts'
import { logIn, makeUsers, type User } from './credentials.ts'
import type { Environment } from './environment.ts'
import { type Running, startServer } from './processes.ts'

/** The folder of the project. */
export const root = join(import.meta.dirname, '../..')
const ids = createIdSource(clock)

/** The auth server and a deal server, with an administrator of the benchmark. */
export interface Keyhold {
  readonly auth: Running
  readonly deal: Running
  /** The origin of the auth server. */
  readonly authOrigin: string
  readonly user: User
  readonly accessToken: string
  /** The folder of the key ring. */
  readonly keysDir: string
  /** Environment variables of both servers, the ports included. */
  readonly variables: Readonly<Record<string, string>>
  /** A new access token of the user. */
  logIn(): Promise<string>
  /** Starts another auth server on the same database and key ring. */
  startAuthServer(options?: StartOptions): Promise<Running>
  /** Starts another deal server. */
  startDealServer(options?: StartOptions & { readonly databaseUrl?: string }): Promise<Running>
  close(): Promise<void>
}

/** How a server is started. */
export interface StartOptions {
  /** Options of Node.js. */
  readonly nodeOptions?: readonly string[]
}

/** Compiles the servers into `dist/`, as users do before they run them. */
export async function build(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts/build.mjs')])
}

/** Starts both servers and creates the user. */
export async function startKeyhold({ databases, redisUrl, newPort }: Environment): Promise<Keyhold> {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-bench-'))
  const keysDir = join(folder, 'keys')
  mkdirSync(keysDir, { mode: 0o700 })
  const passwordFile = join(folder, 'password')
  const [authPort, dealPort] = [await newPort(), await newPort()]
  const variables = {
    NODE_ENV: 'production',
    AUTH_PORT: String(authPort),
    DEAL_PORT: String(dealPort),
    AUTH_DATABASE_URL: databases.auth.url,
    DEAL_DATABASE_URL: databases.deals.url,
    REDIS_URL: redisUrl,
    SERVICE_SECRET: ids.secret(32),
    SECRETS_KEY: ids.secret(32),
    KEYS_DIR: keysDir,
    DATA_DIR: folder,
    FIRST_PASSWORD_FILE: passwordFile,
    MAX_LOGINS_PER_USER: '10000',
    TRUST_PROXY: '1',
  }
  const command = (server: string, { nodeOptions = [] }: StartOptions = {}) => [
    process.execPath,
    ...nodeOptions,
    join(root, `dist/${server}-server/main.js`),
  ]
  const auth = await startServer({ command: command('auth'), port: authPort, variables })
  const authOrigin = `http://127.0.0.1:${authPort}`
  const startAuthServer = async (options: StartOptions = {}) => {
    const port = await newPort()
    const own = { ...variables, AUTH_PORT: String(port), AUTH_PUBLIC_ORIGIN: authOrigin, ISSUER: authOrigin }
    return startServer({ command: command('auth', options), port, variables: own })
  }
  const startDealServer: Keyhold['startDealServer'] = async (options = {}) => {
    const port = await newPort()
    const { databaseUrl = databases.deals.url } = options
    const own = { ...variables, DEAL_PORT: String(port), DEAL_DATABASE_URL: databaseUrl }
    return startServer({ command: command('deal', options), port, variables: own })
  }
  const deal = await startServer({ command: command('deal'), port: dealPort, variables })
  const admin = { username: 'admin', password: readFileSync(passwordFile, 'utf8').trim() }
  const token = await logIn(authOrigin, admin)
  const [user = admin] = await makeUsers(authOrigin, { token, prefix: 'bench', count: 1 })
  return {
    ...{ auth, deal, authOrigin, user, keysDir, variables, startAuthServer, startDealServer },
    accessToken: await logIn(authOrigin, user),
    logIn: () => logIn(authOrigin, user),
    close: async () => {
      await Promise.all([auth.stop(), deal.stop()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
