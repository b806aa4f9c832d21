/** Commits wait for a standby that is away: reads go on, writes are refused at once, and nothing doubles. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import type { Reply, Sent } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer, type Tokens } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()

/** The promise is 100 ms, and a request takes its time. */
const refusedWithinMs = 500
/** The first stuck write takes a second. */
const noticedWithinMs = 4_000
/** The promise is two seconds. */
const backWithinMs = 6_000
const maxStuck = 4

interface Timed extends Reply {
  readonly path: string
  readonly ms: number
}

describe.skipIf(binaries === undefined || !redisServerInstalled)('a primary without its standby', () => {
  let primary: PostgresServer
  let standby: PostgresServer
  let stack: Stack
  let alice: Tokens
  let admin: Tokens
  let deal: string
  let allowed: (ms: number) => number
  let stopReading: () => Promise<unknown> = async () => undefined

  beforeAll(async () => {
    primary = await PostgresServer.create(binaries ?? '', { synchronous_commit: 'remote_apply' })
    standby = await primary.makeStandby('b')
    await primary.query("alter system set synchronous_standby_names = 'ANY 1 (b)'")
    await primary.query('select pg_reload_conf()')
    stack = await openStack(() => openPostgresAndRedis(primary.url))
    alice = await stack.logIn('alice')
    admin = await stack.logIn('admin')
    const created = await create(randomUUID())
    deal = String(created.headers.get('location'))
  })

  beforeEach(() => {
    allowed = allowHoldUps()
  })
  afterEach(() => stopReading())
  afterAll(async () => {
    await standby?.stop()
    await primary?.query("alter system set synchronous_standby_names = ''")
    await primary?.query('select pg_reload_conf()')
    await stack?.close()
    await standby?.remove()
    await primary?.remove()
  })

  const ask = async (server: TestServer, path: string, sent: Sent = {}): Promise<Timed> => {
    const began = performance.now()
    const reply = await server.send(path, sent)
    return { ...reply, path, ms: performance.now() - began }
  }

  const create = (key: string) =>
    ask(stack.deal, '/rest/v1/deals', {
      token: alice.access,
      json: { name: key, price: 1234 },
      headers: { 'idempotency-key': key },
    })

  const dealWrites: readonly (() => Promise<Timed>)[] = [
    () => create(randomUUID()),
    () => ask(stack.deal, `${deal}/hold`, { method: 'PUT', token: alice.access, json: { reason: 'test' } }),
  ]

  const authWrites: readonly (() => Promise<Timed>)[] = [
    () => ask(stack.auth, '/login', { json: { username: 'bob', password: passwordOf('bob') } }),
    () => ask(stack.auth, '/refresh', { method: 'POST', token: alice.refresh }),
    () => ask(stack.auth, '/users/dave', { method: 'PATCH', token: admin.access, json: { enabled: false } }),
  ]

  const reads: readonly (() => Promise<Timed>)[] = [
    () => ask(stack.deal, deal, { token: alice.access }),
    () => ask(stack.deal, '/rest/v1/deals?limit=5', { token: alice.access }),
    () => ask(stack.deal, `${deal}/history`, { token: alice.access }),
    () => ask(stack.auth, '/me', { token: alice.access }),
    () => ask(stack.auth, '/users', { token: admin.access }),
    () => ask(stack.auth, '/.well-known/jwks.json'),
    () => ask(stack.deal, '/readyz'),
    () => ask(stack.auth, '/readyz'),
  ]

  /** How many sessions of the servers wait for the standby. */
  const stuck = async (): Promise<number> =>
    (await primary.query("select pid from pg_stat_activity where wait_event = 'SyncRep'")).length

  const writesAt = async (server: TestServer): Promise<unknown> => {
    const { status, body } = await server.send('/readyz')
    expect(status).toBe(200)
    const dependencies = body.dependencies as { name: string; status: string }[]
    return dependencies.find(({ name }) => name === 'database-writes')?.status
  }

  const expectRefused = (replies: readonly Timed[]) => {
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 503))
    for (const { headers, body } of replies) {
      expect(headers.get('retry-after')).toBe('1')
      expect(body).toMatchObject({ code: 'unavailable', detail: expect.stringContaining('confirms no write') })
    }
  }

  const expectQuick = (replies: readonly Timed[]) => {
    const times = replies.map(({ ms }) => ms).sort((a, b) => a - b)
    expect(times[Math.floor(times.length * 0.95)]).toBeLessThan(allowed(refusedWithinMs))
  }

  /** Asks in turn until it is stopped. All replies must be 200. */
  const startReading = () => {
    const replies: Timed[] = []
    let isOver = false
    const run = async (offset: number) => {
      for (let index = offset; !isOver; index += 1) {
        const read = reads[index % reads.length]
        if (read) replies.push(await read())
      }
    }
    const running = Promise.all([run(0), run(3), run(6)])
    const stop = async () => {
      isOver = true
      await running
      return replies
    }
    stopReading = stop
    return { stop }
  }

  const failed = (replies: readonly Timed[]) =>
    replies.filter(({ status }) => status !== 200).map(({ status, path, text }) => ({ status, path, text }))

  /** Refuses the first writes after a while and the others at once. Answers the greatest number of stuck sessions. */
  const loseQuorum = async (server: TestServer, writes: readonly (() => Promise<Timed>)[]): Promise<number> => {
    const first = await Promise.all([...writes, ...writes, ...writes, ...writes].map((write) => write()))
    expectRefused(first)
    for (const { ms } of first) expect(ms).toBeLessThan(allowed(noticedWithinMs))
    expect(await writesAt(server)).toBe('unavailable')
    expect((await server.send('/metrics')).text).toMatch(/keyhold_dependency_up\{[^}]*"database-writes"\} 0/)
    const later: Timed[] = []
    let most = await stuck()
    for (let round = 0; round < campaign({ short: 10, long: 200 }); round += 1) {
      later.push(...(await Promise.all(writes.map((write) => write()))))
      most = Math.max(most, await stuck())
    }
    expectRefused(later)
    expectQuick(later)
    return most
  }

  const writesReturn = async (server: TestServer): Promise<void> => {
    await standby.start()
    await eventually(async () => {
      const streaming = await primary.query("select from pg_stat_replication where state = 'streaming'")
      if (streaming.length === 0) throw new Error('the standby does not stream')
    })
    const began = performance.now()
    await eventually(async () => expect(await writesAt(server)).toBe('ok'))
    expect(performance.now() - began).toBeLessThan(allowed(backWithinMs))
  }

  it('refuses commands at once and reads on; a repeated command id replays what was stuck', async () => {
    expect(await writesAt(stack.deal)).toBe('ok')
    const reading = startReading()
    const keys = Array.from({ length: 12 }, () => randomUUID())
    await standby.stop()
    const early = await Promise.all(keys.map(create))
    expectRefused(early)
    expect(await loseQuorum(stack.deal, dealWrites)).toBeLessThanOrEqual(maxStuck)
    await writesReturn(stack.deal)
    const retried = await Promise.all(keys.map(create))
    expect(retried.map(({ status }) => status)).toEqual(keys.map(() => 201))
    const again = await Promise.all(keys.map(create))
    expect(again.map(({ body }) => body.id)).toEqual(retried.map(({ body }) => body.id))
    for (const key of keys) {
      const rows = await stack.database.query('select sequence from deals.events where command_id = $1', [key])
      expect(rows).toHaveLength(1)
      expect(await stack.database.query('select id from deals.deals where name = $1', [key])).toHaveLength(1)
    }
    const replies = await reading.stop()
    expect(replies.length).toBeGreaterThan(20)
    expect(failed(replies)).toEqual([])
  })

  it('refuses logins, refreshes and changes at once; deal servers go on checking credentials', async () => {
    const reading = startReading()
    await standby.stop()
    expect(await loseQuorum(stack.auth, authWrites)).toBeLessThanOrEqual(maxStuck)
    const wrong = await ask(stack.auth, '/login', { json: { username: 'bob', password: 'wrong' } })
    expectRefused([wrong])
    expectQuick([wrong])
    const basic = `Basic ${Buffer.from(`carol:${passwordOf('carol')}`).toString('base64')}`
    expect((await ask(stack.deal, deal, { headers: { authorization: basic } })).status).toBe(200)
    await writesReturn(stack.auth)
    const replies = await Promise.all(authWrites.map((write) => write()))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await ask(stack.auth, '/users/dave', { token: admin.access })).body).toMatchObject({ enabled: false })
    expect(failed(await reading.stop())).toEqual([])
  })
})
