/** The measured servers: compiled, each a process of its own, as in production. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { systemClock as clock } from '../../shared/platform/clock.ts'
import { createIdSource } from '../../shared/platform/ids.ts'
import type { Settings } from '../runner/settings.ts'
import { forCallers, logIn, makeUsers, type User } from './credentials.ts'
import type { Environment } from './environment.ts'
import { type Running, startServer } from './processes.ts'

/** The folder of the project. */
export const root = join(import.meta.dirname, '../..')
const ids = createIdSource(clock)

/** The auth server and a deal server, with the callers of the benchmark, all of them administrators. */
export interface Keyhold {
  readonly auth: Running
  readonly deal: Running
  /** The origin of the auth server. */
  readonly authOrigin: string
  /** The first caller, and its access token. */
  readonly user: User
  readonly accessToken: string
  readonly users: readonly User[]
  /** The access token of a caller. */
  tokenOf(caller: number): string
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
  /** Further environment variables. */
  readonly variables?: Readonly<Record<string, string>>
  /** The folder of the build; `dist/` when left out. */
  readonly build?: string
}

/** Compiles the servers into `dist/`, as users do before they run them. */
export async function build(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts/build.mjs')])
}

/** Starts both servers, and creates so many users. */
export async function startKeyhold(
  environment: Environment,
  { callers, jwtAlg }: Pick<Settings, 'callers' | 'jwtAlg'>,
): Promise<Keyhold> {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const variables = await variablesFor(environment, folder, jwtAlg)
  const start = startersFor(environment, variables)
  const auth = await startServer({ command: commandOf('auth'), port: Number(variables.AUTH_PORT), variables })
  const deal = await startServer({ command: commandOf('deal'), port: Number(variables.DEAL_PORT), variables })
  const authOrigin = `http://127.0.0.1:${auth.port}`
  const admin = { username: 'admin', password: readFileSync(variables.FIRST_PASSWORD_FILE, 'utf8').trim() }
  const token = await logIn(authOrigin, admin)
  const users = await makeUsers(authOrigin, { token, prefix: 'bench', count: callers })
  const [user = admin] = users
  const tokenOf = await forCallers(users, (one) => logIn(authOrigin, one))
  return {
    auth,
    deal,
    authOrigin,
    user,
    accessToken: tokenOf(0),
    users,
    tokenOf,
    variables,
    ...start,
    keysDir: variables.KEYS_DIR,
    logIn: () => logIn(authOrigin, user),
    close: async () => {
      await Promise.all([auth.stop(), deal.stop()])
    },
  }
}

/** The settings of both servers: those of production, with files in `folder`. */
async function variablesFor({ databases, redisUrl, newPort }: Environment, folder: string, jwtAlg: string) {
  const keysDir = join(folder, 'keys')
  mkdirSync(keysDir, { mode: 0o700 })
  return {
    NODE_ENV: 'production',
    JWT_ALG: jwtAlg,
    // The administrator of the benchmark logs in by password alone.
    SECOND_FACTOR_ROLES: 'none',
    AUTH_PORT: String(await newPort()),
    DEAL_PORT: String(await newPort()),
    AUTH_DATABASE_URL: databases.auth.url,
    DEAL_DATABASE_URL: databases.deals.url,
    REDIS_URL: redisUrl,
    SERVICE_SECRET: ids.secret(32),
    SECRETS_KEY: ids.secret(32),
    KEYS_DIR: keysDir,
    DATA_DIR: folder,
    FIRST_PASSWORD_FILE: join(folder, 'password'),
    MAX_LOGINS_PER_USER: '10000',
    TRUST_PROXY: '1',
  }
}

/** Starts further servers beside the first ones. */
function startersFor({ newPort }: Environment, variables: Readonly<Record<string, string>>) {
  const authOrigin = `http://127.0.0.1:${variables.AUTH_PORT}`
  const startAuthServer: Keyhold['startAuthServer'] = async (options = {}) => {
    const port = await newPort()
    const own = { AUTH_PORT: String(port), AUTH_PUBLIC_ORIGIN: authOrigin, ISSUER: authOrigin, ...options.variables }
    return startServer({ command: commandOf('auth', options), port, variables: { ...variables, ...own } })
  }
  const startDealServer: Keyhold['startDealServer'] = async (options = {}) => {
    const port = await newPort()
    const { databaseUrl } = options
    const database = databaseUrl !== undefined && { DEAL_DATABASE_URL: databaseUrl }
    const own = { DEAL_PORT: String(port), ...database, ...options.variables }
    return startServer({ command: commandOf('deal', options), port, variables: { ...variables, ...own } })
  }
  return { startAuthServer, startDealServer }
}

const commandOf = (server: 'auth' | 'deal', { nodeOptions = [], build = 'dist' }: StartOptions = {}): string[] => [
  process.execPath,
  ...nodeOptions,
  resolve(root, build, `${server}-server/main.js`),
]
