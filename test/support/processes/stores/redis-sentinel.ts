/** A master, its replica and three Sentinels of a test's own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { eventually } from '../../eventually.ts'
import { freePort } from '../free-port.ts'
import { type RedisServer, startRedisServer } from './redis-server.ts'

/** Whether this machine can start Sentinels for tests. */
export const redisSentinelInstalled = spawnSync('redis-sentinel', ['--version']).status === 0

export interface WatchedRedis {
  readonly master: RedisServer
  readonly replica: RedisServer
  /** The Sentinels as a URL names them: `127.0.0.1:1,127.0.0.1:2,127.0.0.1:3`. */
  readonly sentinels: string
  /** The port of the master that the Sentinels name. */
  masterPort(): Promise<number>
  dispose(): Promise<void>
}

/**
 * Starts all of them; `password` is that of the Sentinels. The Sentinels replace a master that has been away for half a
 * second.
 */
export async function startWatchedRedis(name: string, password: string): Promise<WatchedRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'keyhold-sentinel-'))
  const undo: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })]
  const dispose = async () => {
    for (const step of undo.reverse()) await step()
  }
  try {
    const master = await startRedisServer()
    undo.push(() => master.dispose())
    const replica = await startRedisServer(['--replicaof', '127.0.0.1', String(master.port)])
    undo.push(() => replica.dispose())
    await linked(replica)
    const ports: number[] = []
    for (const index of [1, 2, 3]) {
      const port = await freePort()
      const file = join(directory, `${index}.conf`)
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `dir ${directory}`,
        `sentinel monitor ${name} 127.0.0.1 ${master.port} 2`,
        `sentinel down-after-milliseconds ${name} 500`,
        `sentinel failover-timeout ${name} 3000`,
        `requirepass ${password}`,
        `sentinel sentinel-pass ${password}`,
      ]
      await writeFile(file, `${lines.join('\n')}\n`)
      const child = spawn('redis-sentinel', [file], { stdio: 'ignore' })
      undo.push(() => ended(child))
      ports.push(port)
    }
    const ask = (port: number, ...args: string[]) => sentinel(port, password, args)
    for (const port of ports) await knowsOthers(() => ask(port, 'master', name))
    return {
      master,
      replica,
      sentinels: ports.map((port) => `127.0.0.1:${port}`).join(','),
      masterPort: async () => Number(((await ask(ports[0] ?? 0, 'get-master-addr-by-name', name)) as string[])[1]),
      dispose,
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function sentinel(port: number, password: string, args: string[]): Promise<unknown> {
  const options = { port, host: '127.0.0.1', retryStrategy: null, disconnectTimeout: 50, enableReadyCheck: false }
  const client = new Redis({ ...options, protocol: 2, password })
  client.on('error', () => undefined)
  try {
    return await client.call('SENTINEL', ...args)
  } finally {
    client.disconnect()
  }
}

const linked = (replica: RedisServer) =>
  eventually(async () =>
    expect(String(await replica.command('INFO', 'replication'))).toContain('master_link_status:up'),
  )

/** A failover needs Sentinels that know the replica, and each other. */
const knowsOthers = (ask: () => Promise<unknown>) =>
  eventually(async () => {
    const fields = ((await ask()) as unknown[]).map(String)
    const field = (name: string) => fields[fields.indexOf(name) + 1]
    expect([field('num-slaves'), field('num-other-sentinels')]).toEqual(['1', '2'])
  })
