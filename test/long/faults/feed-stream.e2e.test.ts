/** Deal servers without Redis: the change feed is a stream of the auth server, and memory goes on to answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import type { Reply } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import {
  describeEmbedded,
  describePostgresAndRedis,
  type OpenBackend,
  openWithoutRedis,
} from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const dealServers = 2
const users = campaign({ short: 8, long: 60 })
/** Two attempts must fit in the time of `eventually`. */
const seconds = campaign({ short: 2, long: 8 })
const clients = campaign({ short: 4, long: 20 })

/** Users who can read, with their tokens, on a stack whose questions to the auth server are counted. */
class World {
  readonly tokens: string[] = []
  /** Requests of the deal servers to the auth server, by their path. */
  questions: string[] = []
  statuses = new Map<number, number>()
  stack!: Stack

  async open(openBackend: OpenBackend): Promise<void> {
    const counted: typeof fetch = (input, init) => {
      this.questions.push(new URL(String(input)).pathname)
      return fetch(input, init)
    }
    this.stack = await openStack(openBackend, {
      dealServers,
      dealServer: () => ({ fetch: counted }),
      logLevel: 'silent',
    })
    const { access: token } = await this.stack.logIn('admin')
    for (let count = 0; count < users; count += 1) {
      const json = { username: `reader-${count}`, password: `password of reader ${count}`, roles: ['viewer'] }
      expect((await this.stack.auth.send('/users', { token, json })).status).toBe(201)
      this.tokens.push((await this.stack.logIn(json.username, json.password)).access)
    }
  }

  read(server: number, user: number): Promise<Reply> {
    const deal = this.stack.deals[server]
    if (!deal) throw new Error('unreachable')
    return deal.send('/rest/v1/deals?limit=1', { token: this.tokens[user] as string })
  }

  /** Reads as every user at every server until `isOver`. Answers the requests a second. */
  async load(isOver: () => boolean): Promise<number> {
    this.statuses = new Map()
    let [turn, began] = [0, performance.now()]
    const client = async () => {
      while (!isOver()) {
        const at = turn++
        const { status } = await this.read(at % dealServers, Math.floor(at / dealServers) % users)
        this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: clients }, client))
    return (turn / (performance.now() - began)) * 1000
  }

  async knowAll(): Promise<void> {
    for (let server = 0; server < dealServers; server += 1)
      for (let user = 0; user < users; user += 1) expect((await this.read(server, user)).status).toBe(200)
  }

  /** Answers how often each deal server asks the auth server in a second of load, in which nobody is refused. */
  async questionsUnderLoad(title: string, during: () => Promise<unknown> = async () => undefined): Promise<number> {
    this.questions = []
    const end = performance.now() + seconds * 1000
    const [rate] = await Promise.all([this.load(() => performance.now() > end), during()])
    const each = this.questions.length / dealServers / seconds
    process.stdout.write(
      `${title}: ${rate.toFixed(0)} requests a second, ${each.toFixed(2)} questions a server and second\n`,
    )
    expect([...this.statuses.keys()]).toEqual([200])
    return each
  }

  /** A machine that is busy with something else may make a line late, and records are asked for once. */
  expectFewQuestions = (title: string) =>
    eventually(async () => expect(await this.questionsUnderLoad(title)).toBeLessThan(1))

  /** Disables a user under load, and waits until all servers refuse. */
  async expectRevoked(user: number): Promise<void> {
    const { access: token } = await this.stack.logIn('admin')
    const disabling = { method: 'PATCH', token, json: { enabled: false } }
    let isOver = false
    const load = this.load(() => isOver)
    try {
      expect((await this.stack.auth.send(`/users/reader-${user}`, disabling)).status).toBe(200)
      const refused = (_server: unknown, at: number) => withinASecond(() => this.read(at, user), { from: 200, to: 401 })
      await Promise.all(this.stack.deals.map(refused))
    } finally {
      isOver = true
      await load
    }
    await this.stack.auth.send(`/users/reader-${user}`, { ...disabling, json: { enabled: true } })
    this.tokens[user] = (await this.stack.logIn(`reader-${user}`, `password of reader ${user}`)).access
    await eventually(() => this.knowAll())
  }
}

describePostgresAndRedis('deal servers whose Redis is stopped under load', (openBackend) => {
  const world = new World()
  beforeAll(() => world.open(openBackend))
  afterAll(() => world.stack.close())

  it('ask for no record that they know, from the moment on when Redis goes away', async () => {
    await world.knowAll()
    await sleep(1_000)
    const atTheStop = await world.questionsUnderLoad('Redis is stopped', async () => {
      await sleep(500)
      await world.stack.redis?.kill()
    })
    expect(atTheStop * seconds).toBeLessThanOrEqual(users)
    await world.expectFewQuestions('Redis is away')
  })

  it('refuse within a second who was disabled meanwhile', () => world.expectRevoked(1))

  it('need no question to return to Redis', async () => {
    await world.stack.redis?.start()
    await world.expectFewQuestions('Redis is back')
    await world.expectRevoked(2)
  })
})

describeEmbedded('deal servers without Redis on purpose', () => {
  const world = new World()
  beforeAll(() => world.open(openWithoutRedis))
  afterAll(() => world.stack.close())

  it('ask for no record that they know', async () => {
    await sleep(1_000)
    await world.knowAll()
    await world.expectFewQuestions('REDIS_URL=none')
  })
})
