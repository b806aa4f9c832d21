import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { redisRights } from '../../../../auth-server/cli/offline/redis-acl.ts'
import { freePort } from '../free-port.ts'

/** Whether this machine can start Redis servers for tests. */
export const redisServerInstalled = spawnSync('redis-server', ['--version']).status === 0

/** A Redis server of a test's own, with an empty directory of its own, on a free port of the loopback interface. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  /** The same as the user `keyhold`, who may no more than in Docker Compose. */
  readonly restrictedUrl: string
  /** Starts it again on the same port and directory: it loads the last dump. Resolves when it answers. */
  start(): Promise<void>
  /** Ends it without a dump; the last one that `command('SAVE')` wrote stays. */
  kill(): Promise<void>
  /** The process stands still, its connections stay open. */
  pause(): void
  resume(): void
  /** Runs one command on a connection of its own. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>
  /** Ends it and removes its directory. */
  dispose(): Promise<void>
}

const restrictedUser = ['--user', 'keyhold', 'on', '>restricted', ...redisRights.split(' ')]

/**
 * Starts a Redis server; `settings` are further command line arguments, such as `['--cluster-enabled', 'yes']`,
 * `operator` is a name and a password, with a colon between, where its default user may do nothing.
 */
export async function startRedisServer(settings: readonly string[] = [], operator = ''): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'keyhold-redis-'))
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', ...settings]
  if (operator === '') args.push(...restrictedUser)
  const login = operator && `${operator}@`
  let child: ChildProcess | undefined
  const server: RedisServer = {
    port,
    url: `redis://${login}127.0.0.1:${port}`,
    restrictedUrl: `redis://keyhold:restricted@127.0.0.1:${port}`,
    async start() {
      child = spawn('redis-server', [...args, '--repl-diskless-sync-delay', '0'], { stdio: 'ignore' })
      await answering(server.url)
    },
    async kill() {
      const running = child
      child = undefined
      if (running === undefined || running.exitCode !== null) return
      const exited = once(running, 'exit')
      running.kill('SIGKILL')
      await exited
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    command: (name, ...rest) => command(server.url, [name, ...rest.map(String)]),
    async dispose() {
      await server.kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
  await server.start().catch(async (error) => {
    await server.dispose()
    throw error
  })
  return server
}

async function command(url: string, [name = 'PING', ...args]: readonly string[]): Promise<unknown> {
  const client = new Redis(url, { retryStrategy: null, disconnectTimeout: 50 })
  client.on('error', () => undefined)
  try {
    return await client.call(name, ...args)
  } finally {
    client.disconnect()
  }
}

async function answering(url: string): Promise<void> {
  for (const end = Date.now() + 10_000; Date.now() < end; await sleep(10)) {
    const answer = await command(url, ['PING']).catch(() => undefined)
    if (answer === 'PONG') return
  }
  throw new Error('the Redis server did not start')
}
