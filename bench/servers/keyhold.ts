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
  /** The access token of the first caller. */
  readonly accessToken: string
  readonly users: readonly User[]
  /** The access token of a caller. */
  tokenOf(caller: number): string
  /** The URL of the database of deals. */
  readonly dealDatabase: string
  /** Starts another auth server on the same database and key ring. */
  startAuthServer(): Promise<Running>
  /** Starts another deal server. */
  startDealServer(): Promise<Running>
  close(): Promise<void>
}

/** Compiles the servers into `dist/`, as users do before they run them. */
export async function build(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts/build.mjs')])
}

/** Starts both servers of a build, and creates their callers. */
export async function startKeyhold(
  environment: Environment,
  { callers, jwtAlg }: Pick<Settings, 'callers' | 'jwtAlg'>,
  buildFolder: string,
): Promise<Keyhold> {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const variables = await variablesFor(environment, folder, jwtAlg)
  const authOrigin = `http://127.0.0.1:${variables.AUTH_PORT}`
  const start = (server: 'auth' | 'deal', port: number, further: Readonly<Record<string, string>> = {}) => {
    const command = [process.execPath, resolve(root, buildFolder, `${server}-server/main.js`)]
    return startServer({ command, port, variables: { ...variables, ...further } })
  }
  const auth = await start('auth', Number(variables.AUTH_PORT))
  const deal = await start('deal', Number(variables.DEAL_PORT))
  const admin = { username: 'admin', password: readFileSync(variables.FIRST_PASSWORD_FILE, 'utf8').trim() }
  const token = await logIn(authOrigin, admin)
  const users = await makeUsers(authOrigin, { token, prefix: 'bench', count: callers })
  const tokenOf = await forCallers(users, (one) => logIn(authOrigin, one))
  return {
    auth,
    deal,
    authOrigin,
    accessToken: tokenOf(0),
    users,
    tokenOf,
    dealDatabase: variables.DEAL_DATABASE_URL,
    startAuthServer: async () => {
      const port = await environment.newPort()
      return start('auth', port, { AUTH_PORT: String(port), AUTH_PUBLIC_ORIGIN: authOrigin, ISSUER: authOrigin })
    },
    startDealServer: async () => {
      const port = await environment.newPort()
      return start('deal', port, { DEAL_PORT: String(port) })
    },
    close: async () => {
      await Promise.all([auth.stop(), deal.stop()])
    },
  }
}

/** The settings of both servers: those of production, with databases of their own and files in `folder`. */
async function variablesFor({ newDatabase, redisUrl, newPort }: Environment, folder: string, jwtAlg: string) {
  const keysDir = join(folder, 'keys')
  mkdirSync(keysDir, { mode: 0o700 })
  return {
    NODE_ENV: 'production',
    JWT_ALG: jwtAlg,
    // The administrator of the benchmark logs in by password alone.
    SECOND_FACTOR_ROLES: 'none',
    AUTH_PORT: String(await newPort()),
    DEAL_PORT: String(await newPort()),
    AUTH_DATABASE_URL: (await newDatabase()).url,
    DEAL_DATABASE_URL: (await newDatabase()).url,
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
