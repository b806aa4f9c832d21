/**
 * An operator's shell: built servers in production, a PostgreSQL and a Redis of their own, and the words of
 * docs/operations.md.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../free-port.ts'
import { preparedKeysDir } from '../prepared-keys.ts'
import { productionPackages } from '../production-packages.ts'
import { findPostgresBinaries, PostgresServer } from '../stores/postgres-server.ts'
import { redisServerInstalled, startRedisServer } from '../stores/redis-server.ts'

const root = join(import.meta.dirname, '../../../..')
const execute = promisify(execFile)
const binaries = findPostgresBinaries() ?? ''
const hasPostgres = ['initdb', 'psql', 'pg_dump', 'pg_restore'].every((name) => existsSync(join(binaries, name)))

/** Why there can be no such shell here; undefined when there can. */
export const missingForOperators = hasPostgres
  ? redisServerInstalled
    ? undefined
    : 'redis-server is not installed'
  : 'the programs of PostgreSQL are not installed'

/** Where the servers are on the page, by name. */
const portsOnPage = { auth: 4000, 'deal-1': 4001, 'deal-2': 4002, 'auth-2': 4003 }

export interface OperatorShell {
  /** Settings are in `<folder>/auth` and `<folder>/deal`, logs in `<folder>/<server>.log`. */
  readonly folder: string
  /**
   * Runs a script with the words, in `folder`; the servers that it starts end with it. Resolves to all that it printed.
   * @throws Error when it fails
   */
  run(script: string): Promise<string>
  /** Ends everything and removes the folder. */
  close(): Promise<void>
}

/** Builds the servers, and starts an empty PostgreSQL and an empty Redis. */
export async function openOperatorShell(): Promise<OperatorShell> {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-operations-'))
  const [postgres, redis] = await Promise.all([
    PostgresServer.create(binaries),
    startRedisServer(),
    execute(process.execPath, ['scripts/build.mjs', join(folder, 'dist')], { cwd: root }),
  ])
  // What is in the image and nothing else: so these servers show that they need no more.
  for (const path of productionPackages().filter((path) => existsSync(join(root, 'node_modules', path)))) {
    const link = join(folder, 'node_modules', path)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(join(root, 'node_modules', path), link)
  }
  const databases = postgres.url.replace(/\/postgres$/, '')
  const ports: [string, number, number][] = []
  for (const [name, onPage] of Object.entries(portsOnPage)) ports.push([name, onPage, await freePort()])
  await writeSettings(folder, {
    databases,
    redis: redis.restrictedUrl,
    ports: new Map(ports.map(([name, , port]) => [name, port])),
  })
  const portOf = `port_of() { case $1 in ${ports.map(([name, , port]) => `${name}) echo ${port};;`).join(' ')} esac; }`
  const words = readFileSync(join(import.meta.dirname, 'operations-shell.sh'), 'utf8')
  const env = {
    PATH: `${binaries}:${process.env.PATH}`,
    HOME: folder,
    FOLDER: folder,
    POSTGRES: databases,
    REDIS: redis.url,
  }
  const run: OperatorShell['run'] = async (script) => {
    const here = ports
      .reduce((text, [, onPage, port]) => text.replaceAll(`127.0.0.1:${onPage}`, `127.0.0.1:${port}`), script)
      .replaceAll('/var/lib/keyhold', join(folder, 'var'))
    const file = join(folder, 'script.sh')
    writeFileSync(file, [words, portOf, 'exec 2>&1', here].join('\n'))
    const { stdout } = await execute('bash', [file], { env, maxBuffer: 16_777_216 }).catch((error) => {
      throw new Error(`the script ended with ${error.code}:\n${error.stdout}`)
    })
    return stdout
  }
  await run('psql -q -d "$POSTGRES/postgres" -c "create database auth" -c "create database deals"; mkdir var')
  const close = async () => {
    await redis.dispose()
    await postgres.remove()
    rmSync(folder, { recursive: true, force: true })
  }
  return { folder, run, close }
}

interface Surroundings {
  readonly databases: string
  readonly redis: string
  readonly ports: ReadonlyMap<string, number>
}

async function writeSettings(folder: string, { databases, redis, ports }: Surroundings) {
  const keys = join(folder, 'keys')
  cpSync(await preparedKeysDir(), keys, { recursive: true })
  const secret = () => randomBytes(32).toString('base64url')
  const common = {
    REDIS_URL: redis,
    SERVICE_SECRET: secret(),
    AUTH_PUBLIC_ORIGIN: `http://127.0.0.1:${ports.get('auth')}`,
    DEAL_PUBLIC_ORIGIN: `http://127.0.0.1:${ports.get('deal-1')}`,
  }
  const own = {
    auth: {
      AUTH_DATABASE_URL: `${databases}/auth`,
      SECRETS_KEY: secret(),
      KEYS_DIR: keys,
      FIRST_PASSWORD_FILE: join(folder, 'var', 'first-password'),
    },
    deal: { DEAL_DATABASE_URL: `${databases}/deals` },
  }
  for (const [kind, settings] of Object.entries(own)) {
    mkdirSync(join(folder, kind))
    for (const [name, value] of Object.entries({ ...common, ...settings }))
      writeFileSync(join(folder, kind, name), value)
  }
}
