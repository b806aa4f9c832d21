/** A PostgreSQL server of a test's own, to stop, kill and freeze. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'

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
  readonly #folder: string
  readonly #port: number
  readonly #binaries: string
  readonly #settings: Readonly<Record<string, string>>
  #server: ChildProcess | undefined

  private constructor(binaries: string, port: number, settings: Readonly<Record<string, string>>) {
    this.#binaries = binaries
    this.#settings = settings
    this.#port = port
    this.#folder = mkdtempSync(join(tmpdir(), 'keyhold-postgres-'))
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
  }

  /** Makes an empty cluster and starts it, with further settings. `remove` must be called in the end. */
  static async create(binaries: string, settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const server = new PostgresServer(binaries, await freePort(), settings)
    const { uid, gid } = owner()
    if (uid !== undefined && gid !== undefined) chownSync(server.#folder, uid, gid)
    const options = ['-D', server.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C']
    execFileSync(join(binaries, 'initdb'), options, { ...owner(), cwd: server.#folder, stdio: 'ignore' })
    await server.start()
    return server
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
    const own = { port: this.#port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' }
    const args = Object.entries({ ...own, ...this.#settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = spawn(join(this.#binaries, 'postgres'), ['-D', this.#data, ...args], {
      ...owner(),
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { LC_ALL: 'C' },
    })
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.stderr.on('data', (line) => String(line).includes('ready to accept connections') && resolve())
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
    const pid = this.#server?.pid
    if (pid === undefined || this.#server?.exitCode !== null) return
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
