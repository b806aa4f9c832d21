/**
 * Reads on two standbys that lag behind by different times: nobody sees older than he has seen or written. The token
 * goes to and fro in `Keyhold-Seen`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { redisServerInstalled } from '../../support/processes/stores/redis-server.ts'
import { type Backend, openPostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const binaries = findPostgresBinaries()
const canRun = binaries !== undefined && redisServerInstalled
const rounds = campaign({ short: 60, long: 10_000 })
const walkRounds = campaign({ short: 2, long: 50 })

/** A client that keeps the token as the contract says. */
class Client {
  token: string | undefined
  readonly #stack: Stack
  readonly #access: string

  constructor(stack: Stack, access: string) {
    this.#stack = stack
    this.#access = access
  }

  /** Sends to the deal server of this place. */
  async send(server: number, path: string, sent: { method?: string; json?: object } = {}) {
    const headers: Record<string, string> = this.token === undefined ? {} : { 'Keyhold-Seen': this.token }
    const reply = await this.#stack.deals[server % 2]?.send(path, { token: this.#access, headers, ...sent })
    if (!reply) throw new Error('unreachable')
    const token = reply.headers.get('keyhold-seen')
    if (token !== null && token > (this.token ?? '')) this.token = token
    return reply
  }
}

describe.skipIf(!canRun)('reads from replicas', () => {
  let primary: PostgresServer
  let standbys: PostgresServer[] = []
  let stack: Stack
  let access: string

  beforeAll(async () => {
    primary = await PostgresServer.create(binaries ?? '')
    const delays = ['0', '40ms']
    standbys = await Promise.all(
      delays.map((delay, index) => primary.makeStandby(`standby${index}`, { recovery_min_apply_delay: delay })),
    )
    const open = async (): Promise<Backend> => {
      const backend = await openPostgresAndRedis(primary.url)
      const { DEAL_DATABASE_URL: url = '' } = backend.environment
      const hosts = standbys.map(({ port }) => `127.0.0.1:${port}`).join(',')
      const readUrl = url.replace(/127\.0\.0\.1:\d+/, hosts)
      return { ...backend, environment: { ...backend.environment, DEAL_READ_URL: readUrl } }
    }
    stack = await openStack(open, { dealServers: 2, logLevel: 'silent' })
    access = (await stack.logIn('alice', undefined)).access
  }, 60_000)
  afterAll(async () => {
    await stack?.close()
    for (const server of [...standbys, primary]) await server?.remove()
  })

  /** Reads by their place, over both servers. */
  const counts = async (): Promise<Record<string, number>> => {
    const found: Record<string, number> = {}
    for (const { send } of stack.deals) {
      const { text } = await send('/metrics')
      for (const [, labels = '', value] of text.matchAll(/^keyhold_reads_total\{(.*)\} (\d+)$/gm)) {
        const place = /from="(\w+)"/.exec(labels)?.[1]
        const why = /reason="([\w-]+)"/.exec(labels)?.[1]
        found[`${place} ${why}`] = (found[`${place} ${why}`] ?? 0) + Number(value)
      }
    }
    return found
  }
  const create = async (client: Client, name: string): Promise<string> => {
    const { status, text } = await client.send(0, '/rest/v1/deals/', { json: { name, price: 1 } })
    expect(status, text).toBe(201)
    return JSON.parse(text).id
  }
  const rename = async (client: Client, id: string, name: string, server = 0): Promise<number> => {
    const reply = await client.send(server, `/rest/v1/deals/${id}/rename`, { method: 'PUT', json: { newName: name } })
    expect(reply.status, reply.text).toBe(200)
    return JSON.parse(reply.text).version
  }

  it('show each write to its writer at once, and never go back', { timeout: rounds * 200 + 20_000 }, async () => {
    const client = new Client(stack, access)
    const id = await create(client, 'read your writes')
    let [stale, backwards] = [0, 0]
    for (let round = 0; round < rounds; round += 1) {
      const written = await rename(client, id, `round ${round}`, round)
      let seen = written
      for (const server of [round, round + 1]) {
        const { status, text } = await client.send(server, `/rest/v1/deals/${id}`)
        expect(status, text).toBe(200)
        const { version } = JSON.parse(text)
        if (version < written) stale += 1
        if (version < seen) backwards += 1
        seen = version
      }
    }
    expect({ stale, backwards }).toEqual({ stale: 0, backwards: 0 })
    const found = await counts()
    // Each place was needed: a check that refuses or accepts everything would show here.
    expect(found['primary behind'], JSON.stringify(found)).toBeGreaterThan(0)
    expect(found['replica fresh'], JSON.stringify(found)).toBeGreaterThan(0)
  })

  it('never go back for a reader of what others write', async () => {
    const [writer, reader] = [new Client(stack, access), new Client(stack, access)]
    const id = await create(writer, 'watched')
    await reader.send(0, `/rest/v1/deals/${id}`)
    let isWriting = true
    const writing = (async () => {
      for (let round = 0; round < Math.min(rounds, 150); round += 1) await rename(writer, id, `round ${round}`, round)
      isWriting = false
    })()
    type Body = { version: number; items: readonly { id: string; version: number; dealVersion: number }[] }
    const ways: readonly (readonly [path: string, versionIn: (body: Body) => number | undefined])[] = [
      [`/rest/v1/deals/${id}`, ({ version }) => version],
      [`/rest/v1/deals/${id}/history?limit=200`, ({ items }) => items.at(-1)?.dealVersion],
      ['/rest/v1/deals/?limit=200', ({ items }) => items.find((deal) => deal.id === id)?.version],
    ]
    let seen = 1
    for (let read = 0; isWriting; read += 1) {
      const [path, versionIn] = ways[read % ways.length] ?? ['', () => undefined]
      const { status, text } = await reader.send(read, path)
      expect(status, text).toBe(200)
      const now = versionIn(JSON.parse(text)) ?? 0
      expect(now, path).toBeGreaterThanOrEqual(seen)
      seen = now
    }
    await writing
  })

  it('walk through each deal once while names change', async () => {
    const client = new Client(stack, access)
    const ids: string[] = []
    for (let made = 0; made < 12; made += 1) ids.push(await create(client, `walk ${made}`))
    for (let round = 0; round < walkRounds; round += 1) {
      const found: string[] = []
      let path = '/rest/v1/deals/?sort=name&limit=3'
      for (let page = 0; path !== ''; page += 1) {
        const { status, text, headers } = await client.send(page, path)
        expect(status, text).toBe(200)
        found.push(...JSON.parse(text).items.map(({ id }: { id: string }) => id))
        const next = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
        path = next === undefined ? '' : next.replace(/^https?:\/\/[^/]*/, '')
        // Each deal goes to the other end of the list, some of them by another client.
        const other = page % 2 === 0 ? client : new Client(stack, access)
        const id = ids[(page * 5 + round) % ids.length] ?? ''
        await rename(other, id, `${page % 2 === 0 ? 'a' : 'z'} ${round} ${page} ${id}`, page)
      }
      expect(found.filter((id) => ids.includes(id)).sort()).toEqual([...ids].sort())
      expect(new Set(found).size).toBe(found.length)
    }
  })

  it('go to the primary without a token, and say so for a text that is none', async () => {
    const before = await counts()
    for (let read = 0; read < 5; read += 1) await stack.deal.send('/rest/v1/deals/', { token: access })
    const after = await counts()
    expect(after['primary no-token']).toBe((before['primary no-token'] ?? 0) + 5)
    expect(after['replica fresh']).toBe(before['replica fresh'])
    const bad = { token: access, headers: { 'Keyhold-Seen': 'yesterday' } }
    expectProblem(await stack.deal.send('/rest/v1/deals/', bad), 400, 'malformed-request')
  })

  it('fail for nobody when a replica dies, and go on when it is back', async () => {
    const client = new Client(stack, access)
    const id = await create(client, 'outage')
    const readFor = async (ms: number) => {
      for (const end = Date.now() + ms; Date.now() < end; ) {
        const { status, text } = await client.send(0, `/rest/v1/deals/${id}`)
        expect(status, text).toBe(200)
      }
    }
    const reading = readFor(1_000)
    await standbys[0]?.kill()
    await reading
    const { status, text } = await stack.deal.send('/readyz')
    expect(status).toBe(200)
    const states = JSON.parse(text).dependencies.filter(({ name }: { name: string }) => /^replica/.test(name))
    expect(states.map(({ status: state }: { status: string }) => state).sort()).toEqual(['ok', 'unavailable'])
    await standbys[0]?.start()
    const before = (await counts())['replica fresh'] ?? 0
    await eventually(async () => {
      await readFor(50)
      expect((await counts())['replica fresh']).toBeGreaterThan(before)
    })
  })

  it('show nothing of a replica that is promoted', async () => {
    const client = new Client(stack, access)
    const id = await create(client, 'promotion')
    await Promise.all(standbys.map((standby) => standby.catchUpWith(primary)))
    for (const standby of standbys) await standby.promote()
    const { 'replica fresh': before } = await counts()
    // The promoted server goes on by itself, beyond every position of the primary.
    for (const standby of standbys) {
      await standby.query('create table filler as select i, md5(i::text) from generate_series(1, 20000) i')
    }
    for (let round = 0; round < 5; round += 1) {
      const version = await rename(client, id, `after ${round}`, round)
      const { text } = await client.send(round, `/rest/v1/deals/${id}`)
      expect(JSON.parse(text).version).toBe(version)
    }
    expect((await counts())['replica fresh']).toBe(before)
  })
})
