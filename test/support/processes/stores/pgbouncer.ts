/** PgBouncer of a test's own, before a PostgreSQL server on loopback that trusts its user. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../eventually.ts'
import { freePort } from '../free-port.ts'

/** Whether this machine can start PgBouncer for tests. */
export const pgbouncerInstalled = spawnSync('pgbouncer', ['--version']).status === 0

export interface PgBouncer {
  /** `127.0.0.1:port` */
  readonly host: string
  /** The same database, through the pooler, with the parameter that says so unless `parameters` are others. */
  pooled(url: string, parameters?: string): string
  dispose(): Promise<void>
}

/** What is set otherwise than in the configuration that `docs/operations.md` shows. */
export type PgBouncerSettings = Readonly<Record<string, string | number>>

/** Starts PgBouncer before the server of `serverUrl`, for all its databases. */
export async function startPgBouncer(serverUrl: string, settings: PgBouncerSettings = {}): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-pgbouncer-'))
  const port = await freePort()
  const { hostname, port: serverPort, username } = new URL(serverUrl)
  const all: PgBouncerSettings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(folder, 'users.txt'),
    pool_mode: 'transaction',
    default_pool_size: 4,
    max_client_conn: 500,
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const server = `* = host=${hostname} port=${serverPort || 5432}`
  writeFileSync(join(folder, 'pgbouncer.ini'), ['[databases]', server, '[pgbouncer]', ...lines, ''].join('\n'))
  writeFileSync(join(folder, 'users.txt'), `"${username}" ""\n`)
  const user = unprivileged()
  if (user.uid !== undefined && user.gid !== undefined) {
    for (const path of ['', 'pgbouncer.ini', 'users.txt']) chownSync(join(folder, path), user.uid, user.gid)
  }
  const child = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], { ...user, cwd: folder, stdio: 'ignore' })
  const dispose = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
    rmSync(folder, { recursive: true, force: true })
  }
  const listens = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy())).on('error', reject)
    })
  await eventually(listens).catch(async (error) => {
    await dispose()
    throw error
  })
  const host = `127.0.0.1:${port}`
  return {
    host,
    pooled: (url, parameters = 'pgbouncer=true') => {
      const own = new URL(url)
      own.host = host
      own.search = parameters
      return own.href
    },
    dispose,
  }
}

/** PgBouncer refuses to run as root: the user of PostgreSQL's package takes over. */
const unprivileged = (): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
