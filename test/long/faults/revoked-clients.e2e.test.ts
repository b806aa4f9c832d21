/**
 * API keys that two auth servers know well and that are revoked at one of them, under load: that one refuses at once,
 * the other one within a second, also when one of them is killed or frozen.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { type Reply, send } from '../../support/clients/http-client.ts'
import { basicOf, clientCredentials, type MadeKey, makeApiKey } from '../../support/clients/oauth-requests.ts'
import { signUrl } from '../../support/clients/signing.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { type AuthProcess, startAuthProcess } from '../../support/processes/auth-process.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { promisedMs } from '../../support/worlds/within-a-second.ts'

const rounds = campaign({ short: 9, long: 200 })
/** Connections of the load, at each server. */
const connections = 4
const owner = `Basic ${Buffer.from(`alice:${passwordOf('alice')}`).toString('base64')}`
const frozenForMs = 1_500

describePostgresAndRedis('a revoked API key at two auth servers under load', (openBackend) => {
  let stack: Stack
  let servers: [AuthProcess, AuthProcess]
  let busy: MadeKey
  let hasEnded = false
  const load: Promise<void>[] = []
  const delays: number[] = []

  beforeAll(async () => {
    const many = '100000/60'
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: many, LOGIN_FAILURES_PER_ADDRESS: many }
    stack = await openStack(openBackend, { hashing: 'costly', environment, logLevel: 'silent' })
    servers = await Promise.all([startAuthProcess(stack), startAuthProcess(stack)])
    busy = await newKey()
    for (const at of [0, 1] as const) for (let count = 0; count < connections; count += 1) load.push(keepBusy(at))
  })
  afterAll(async () => {
    hasEnded = true
    for (const { child } of servers) await child.end('SIGKILL')
    await Promise.all(load)
    await stack.close()
  })

  const newKey = async () => makeApiKey(stack, (await stack.logIn('alice')).access, { kind: 'hmac' })

  /** A token as an OAuth client, and a request that the key has signed: both are answered from memory. */
  const asClient = ({ id, secret }: MadeKey, { url }: TestServer): Promise<Reply> => {
    const form = new URLSearchParams(clientCredentials).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...basicOf(id, secret) }
    return send(`${url}/oauth/token`, { body: form, headers })
  }
  const asSigner = (key: MadeKey, { url }: TestServer): Promise<Reply> => {
    const timestamp = Math.floor(stack.clock.now() / 1000)
    return send(signUrl({ id: key.id, secret: key.secret }, { method: 'GET', url: `${url}/me` }, { timestamp }))
  }
  const ways = [asClient, asSigner]

  async function keepBusy(at: 0 | 1): Promise<void> {
    while (!hasEnded) await asClient(busy, servers[at].server).catch(() => sleep(20))
  }

  const untilKnown = async (key: MadeKey) => {
    for (const { server } of [...servers, ...servers])
      for (const ask of ways) expect(await ask(key, server)).toMatchObject({ status: 200 })
  }

  const revoke = async (key: MadeKey, { server }: AuthProcess) => {
    const reply = await server.send(`/api-keys/${key.id}`, { method: 'DELETE', headers: { authorization: owner } })
    expect(reply.status, reply.text).toBe(204)
  }

  /** Asks until the server refuses. What is sent later than promised must be refused. */
  async function refuses(key: MadeKey, server: TestServer, revokedAt: number): Promise<void> {
    for (const ask of ways) {
      const allowed = allowHoldUps()
      for (;;) {
        const sentAt = performance.now()
        const { status, text } = await ask(key, server)
        if (status === 401) break
        expect(status, text).toBe(200)
        expect(sentAt - revokedAt).toBeLessThanOrEqual(allowed(promisedMs))
        await sleep(5)
      }
      delays.push(performance.now() - revokedAt)
      expect((await ask(key, server)).status).toBe(401)
    }
  }

  type Trouble = 'none' | 'the first is killed' | 'the first is frozen' | 'the other is frozen'
  const troubles: readonly Trouble[] = ['the first is killed', 'the first is frozen', 'the other is frozen']
  const troubleIn = (round: number): Trouble =>
    round % 3 === 2 ? (troubles[Math.floor(round / 3) % troubles.length] ?? 'none') : 'none'

  const freeze = async ({ child: { pid } }: AuthProcess, until: () => Promise<unknown>) => {
    process.kill(pid, 'SIGSTOP')
    try {
      await until()
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  }

  async function carryOut(round: number, key: MadeKey): Promise<void> {
    const [at, place] = round % 2 === 0 ? [0, 1] : [1, 0]
    const [first, other] = [servers[at] as AuthProcess, servers[place] as AuthProcess]
    switch (troubleIn(round)) {
      case 'none': {
        await revoke(key, first)
        const revokedAt = performance.now()
        for (const ask of ways) expect((await ask(key, first.server)).status).toBe(401)
        return refuses(key, other.server, revokedAt)
      }
      case 'the first is killed': {
        await revoke(key, first)
        const revokedAt = performance.now()
        await Promise.all([first.child.end('SIGKILL'), refuses(key, other.server, revokedAt)])
        servers[at as 0 | 1] = await startAuthProcess(stack)
        return
      }
      case 'the first is frozen': {
        await revoke(key, first)
        const revokedAt = performance.now()
        await freeze(first, () => refuses(key, other.server, revokedAt))
        for (const ask of ways) expect((await ask(key, first.server)).status).toBe(401)
        return
      }
      case 'the other is frozen': {
        // What was sent to it meanwhile is the first that it looks at when it goes on.
        let sent: Promise<Reply>[] = []
        await freeze(other, async () => {
          await revoke(key, first)
          await sleep(frozenForMs)
          sent = ways.map((ask) => ask(key, other.server))
          await sleep(200)
        })
        for (const reply of await Promise.all(sent)) expect(reply.status, reply.text).toBe(401)
      }
    }
  }

  it('is refused at once by the one, and by the other within a second', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const key = await newKey()
      await untilKnown(key)
      await carryOut(round, key)
    }
    const sorted = delays.toSorted((a, b) => a - b)
    const at = (share: number) => `${sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(0)} ms`
    process.stdout.write(
      `from acknowledgement to refusal by the other: p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}\n`,
    )
    expect(delays.length).toBeGreaterThan(rounds)
  })
})
