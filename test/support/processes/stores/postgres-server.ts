/** A PostgreSQL server of a test's own, to stop, kill and freeze, to copy as a standby and to promote. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Row } from 'postgres'
import { eventually } from '../../eventually.ts'
import { freePort } from '../free-port.ts'

/** Whether `PostgresServer.encrypt` can make a certificate here. */
export const canMakeCertificates = (): boolean => output('openssl', 'version') !== undefined

/** The folder of PostgreSQL's programs, or undefined when they are not installed. */
export const findPostgresBinaries = (): string | undefined =>
  candidates().find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))

const candidates = (): string[] => {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const configured = output('pg_config', '--bindir')
  const inPath = (process.env.PATH ?? '').split(delimiter)
  return [...(configured ? [configured] : []), ...inPath, ...versions.map((version) => join(debian, version, 'bin'))]
}

const output = (command: string, ...args: string[]): string | undefined => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

export class PostgresServer {
  readonly url: string
  readonly port: number
  readonly #folder: string
  readonly #binaries: string
  readonly #settings: Readonly<Record<string, string>>
  #server: ChildProcess | undefined

  private constructor(binaries: string, port: number, settings: Readonly<Record<string, string>>) {
    this.#binaries = binaries
    this.#settings = settings
    this.port = port
    this.#folder = mkdtempSync(join(tmpdir(), 'keyhold-postgres-'))
    this.url = this.urlOf('postgres')
  }

  /**
   * Makes an empty cluster and starts it, with further settings. It may have standbys. `remove` must be called in the
   * end.
   */
  static async create(binaries: string, settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const server = new PostgresServer(binaries, await freePort(), settings)
    await server.#make('initdb', ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C.UTF-8'])
    return server
  }

  /**
   * Makes a standby of this server, with further settings of its own, and waits until it streams. `name` is what
   * `synchronous_standby_names` calls it. It follows the server until `cutOff` or `promote`; both must be removed.
   */
  async makeStandby(name = 'standby', settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const standby = new PostgresServer(this.#binaries, await freePort(), settings)
    const source = `host=127.0.0.1 port=${this.port} user=postgres application_name=${name}`
    await standby.#make('pg_basebackup', ['-d', source, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'])
    await standby.#follow().catch(async (error) => {
      await standby.remove()
      throw error
    })
    return standby
  }

  #follow(): Promise<void> {
    return eventually(async () => {
      const receivers = await this.query("select from pg_stat_wal_receiver where status = 'streaming'")
      if (receivers.length === 0) throw new Error('the standby does not stream')
    })
  }

  async #make(program: string, options: readonly string[]): Promise<void> {
    const { uid, gid } = owner()
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid)
    const args = ['-D', this.#data, ...options]
    execFileSync(join(this.#binaries, program), args, { ...owner(), cwd: this.#folder, stdio: 'ignore' })
    await this.start()
  }

  /**
   * Starts the server and waits until it takes connections. What a killed one leaves behind may stand in its way for a
   * moment.
   */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#startOnce()
      } catch (error) {
        if (attempt === 50) throw error
        await sleep(200)
      }
    }
  }

  async #startOnce(): Promise<void> {
    const own = { port: String(this.port), listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' }
    const args = Object.entries({ ...own, ...this.#settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = spawn(join(this.#binaries, 'postgres'), ['-D', this.#data, ...args], {
      ...owner(),
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { LC_ALL: 'C' },
    })
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.stderr.on('data', (line) => /ready to accept (read-only )?connections/.test(line) && resolve())
      server.once('exit', (code) => reject(new Error(`the PostgreSQL server of the test ended with ${code}`)))
    })
  }

  /** Offers TLS with a certificate nobody trusts, from the next start. */
  encrypt(): void {
    const args = [
      'req',
      '-new',
      '-x509',
      '-nodes',
      '-subj',
      '/CN=localhost',
      '-out',
      'server.crt',
      '-keyout',
      'server.key',
    ]
    execFileSync('openssl', args, { ...owner(), cwd: this.#data, stdio: 'ignore' })
    appendFileSync(join(this.#data, 'postgresql.conf'), 'ssl = on\n')
  }

  /** The address of a database of this server. */
  urlOf(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  /** Runs one statement on a connection of its own, as the superuser. */
  async query(statement: string, database = 'postgres'): Promise<Row[]> {
    const client = postgres(this.urlOf(database), { max: 1, onnotice: () => {} })
    try {
      return [...(await client.unsafe(statement))]
    } finally {
      await client.end()
    }
  }

  /** Changes settings that need no new start, and waits until sessions to come have them. */
  async configure(settings: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(settings)) await this.query(`alter system set ${name} = '${value}'`)
    await this.query('select pg_reload_conf()')
    await eventually(async () => {
      for (const [name, value] of Object.entries(settings)) {
        const [row] = await this.query(`select current_setting('${name}') as value`)
        if (row?.value !== value) throw new Error(`${name} is still ${row?.value}`)
      }
    })
  }

  /** Waits until this standby has what `primary` has written so far. */
  async catchUpWith(primary: PostgresServer): Promise<void> {
    const [written] = await primary.query('select pg_current_wal_lsn()::text as lsn')
    await eventually(async () => {
      const [row] = await this.query(`select pg_last_wal_replay_lsn() >= '${written?.lsn}' as done`)
      if (row?.done !== true) throw new Error('the standby is behind')
    })
  }

  /** What the primary writes from now on does not reach this standby. */
  async cutOff(): Promise<void> {
    await this.configure({ primary_conninfo: '' })
    await eventually(async () => {
      const receivers = await this.query('select from pg_stat_wal_receiver')
      if (receivers.length > 0) throw new Error('the standby still streams')
    })
  }

  /** Makes this standby a primary, with a timeline of its own, and waits until it takes writes. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)')
  }

  /** Shuts down as an administrator would: sessions are ended with 57P01. */
  async stop(): Promise<void> {
    await this.#end(() => this.#server?.kill('SIGINT'))
  }

  /** The server and all its sessions die without a word. */
  async kill(): Promise<void> {
    await this.#end(() => this.#signal('SIGKILL'))
  }

  /** Freezes the server and all its sessions: connections stay open, nothing answers. */
  pause(): void {
    this.#signal('SIGSTOP')
  }

  /** Ends what `pause` began. */
  resume(): void {
    this.#signal('SIGCONT')
  }

  /** Ends the server, in whatever state it is, and removes its data. */
  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  async #end(signal: () => void): Promise<void> {
    const server = this.#server
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    const ended = new Promise((resolve) => server.once('exit', resolve))
    signal()
    await ended
  }

  /** To the server first, so that it starts nothing more; its sessions have process groups of their own. */
  #signal(signal: NodeJS.Signals): void {
    const server = this.#server
    // The number of one that has ended may be that of another process.
    if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
    const { pid } = server
    const sessions = output('pgrep', '-P', String(pid))?.split('\n') ?? []
    for (const each of [pid, ...sessions.map(Number)]) {
      try {
        process.kill(each, signal)
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}

/** PostgreSQL refuses to run as root: the user that its package made takes over. */
const owner = (): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  return { uid: Number(output('id', '-u', 'postgres')), gid: Number(output('id', '-g', 'postgres')) }
}
