/** No request fails while keys rotate, and a revoked key takes its own tokens with it and no others. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { KeyUse } from '../../../auth-server/key-ring/keyring-file.ts'
import type { Step } from '../../../auth-server/key-ring/life-cycle.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { campaign, patienceMs } from '../../support/campaign.ts'
import { keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { watchHoldUps } from '../../support/held-up.ts'
import { type AuthProcess, startAuthProcess } from '../../support/processes/auth-process.ts'
import { type Operator, startOperator } from '../../support/processes/operators/operator.ts'
import { copyKeys } from '../../support/processes/own-keys.ts'
import { createBalancer } from '../../support/processes/proxies/balancer.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { type Call, heldUpForLongMs, kidOf, type Load, startLoad } from '../../support/worlds/rotation-load.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { createStuckDocuments, type DocumentState } from '../../support/worlds/stuck-documents.ts'

const uses: readonly KeyUse[] = ['jwt', 'key-signed']
const wanted = campaign({ short: 3_000, long: 100_000 })
const tokenTtlSeconds = 8
const secondsBehind = 60

/** Ten minutes of publication become two seconds, and a new key is made every two seconds that one has signed. */
const pace = { speed: 300, tokenLifeMs: tokenTtlSeconds * 1000, maxAgeMs: 2_000 }
/** Less than the time of publication, as the `max-age` of the documents is. */
const stuckMs = 800
const waysToBeStuck: readonly DocumentState[] = ['old', 'held', 'broken']

describePostgresAndRedis(`${wanted} requests while keys rotate`, (openBackend) => {
  const balancer = createBalancer()
  const documents = createStuckDocuments(balancer.fetch)
  const late = { ...systemClock, now: () => systemClock.now() - secondsBehind * 1000 }
  const ownOf = [{ fetch: balancer.fetch }, { fetch: documents.fetch }, { fetch: balancer.fetch, clock: late }]
  const calls: Call[] = []
  const steps: Step[] = []
  /**
   * Calls that were answered 503 while servers lacked processor time: this process, or the auth server in another one.
   * A fault of the rotation fails far more.
   */
  const heldUp: Call[] = []
  const maxHeldUp = wanted / 300
  /** Which keys were revoked, and when that was acknowledged, on the monotonic clock. */
  const revoked = new Map<string, number>()
  /** From that to the refusal, for each server and key. */
  const latencies: number[] = []
  let heldUpMs: () => number
  let isOver = false
  let rounds = 0
  let keys: Awaited<ReturnType<typeof copyKeys>>
  let stack: Stack
  let other: AuthProcess
  let auths: readonly TestServer[]
  let operator: Operator
  let load: Load

  beforeAll(async () => {
    keys = await copyKeys()
    const ttl = String(tokenTtlSeconds)
    stack = await openStack(openBackend, {
      hashing: 'costly',
      dealServers: 3,
      dealServer: (index) => ownOf[index] ?? { fetch: balancer.fetch },
      logLevel: 'silent',
      environment: { KEYS_DIR: keys.directory, ACCESS_TOKEN_TTL: ttl, KEY_SIGNED_TOKEN_TTL: ttl },
    })
    other = await startAuthProcess(stack)
    auths = [stack.auth, other.server]
    balancer.spreadOver(auths.map(({ url }) => url))
    operator = startOperator({ directory: keys.directory, ...pace })
    heldUpMs = watchBoth()
    const note = (call: Call) => {
      calls.push(call)
      if (call.reply.status === 503 && heldUpMs() > heldUpForLongMs) heldUp.push(call)
    }
    load = startLoad({
      stack,
      auths,
      clientsPerScheme: 4,
      tokenTtlMs: tokenTtlSeconds * 1000,
      heldUpMs: () => heldUpMs(),
      note,
    })
  })
  afterAll(async () => {
    isOver = true
    await load.stop().catch(() => undefined)
    await operator.end()
    await other.child.end('SIGTERM')
    await stack.close()
    await keys.remove()
    process.stdout.write(report())
  })

  /** How long this process, or the auth server in another one, was held up at most. */
  function watchBoth(): () => number {
    const [own, others] = [watchHoldUps(), watchOther()]
    return () => Math.max(own(), others())
  }

  /** How long the auth server in another process took at most to say that it lives, the answer under way included. */
  function watchOther(): () => number {
    let slowestMs = 0
    let askedAt = performance.now()
    const tookMs = () => Math.max(slowestMs, performance.now() - askedAt)
    const ask = async () => {
      for (; !isOver; await sleep(50)) {
        askedAt = performance.now()
        await other.server.send('/healthz').catch(() => undefined)
        slowestMs = tookMs()
        askedAt = Number.POSITIVE_INFINITY
      }
    }
    void ask()
    return tookMs
  }

  const isGood = ({ reply }: Call) => reply.status === 200 || reply.status === 201
  const isOfRevoked = ({ kid = '', reply }: Call) => reply.status === 401 && revoked.has(kid)
  /**
   * What clients must be ready for at any time: a token that ended on the way, whose key may be gone by then; a nonce
   * that is to be replaced (RFC 7616 §3.3); servers without processor time.
   */
  const isTriedAgain = (call: Call) =>
    (call.isLate && /"(?:token-expired|invalid-token)"/.test(call.reply.text)) ||
    call.reply.text.includes('"stale-nonce"') ||
    heldUp.includes(call)
  const failed = () =>
    calls
      .filter((call) => !isGood(call) && !isOfRevoked(call) && !isTriedAgain(call))
      .map(
        ({ scheme, server, request, reply }) => `${scheme} ${nameOf(server)} ${request}: ${reply.status} ${reply.text}`,
      )
  const nameOf = (server: TestServer) => {
    const deal = stack.deals.indexOf(server)
    return deal < 0 ? `auth ${auths.indexOf(server)}` : `deal ${deal}`
  }
  const countOf = (what: Step['do']) => steps.filter((step) => step.do === what).length

  function report(): string {
    const total = (of: (call: Call) => string) => {
      const counts = new Map<string, number>()
      for (const call of calls) counts.set(of(call), (counts.get(of(call)) ?? 0) + 1)
      return [...counts].map(([name, count]) => `${name} ${count}`).join(', ')
    }
    const taken = (['generate', 'promote', 'remove'] as const).map((what) => `${what} ${countOf(what)}`).join(', ')
    return `key rotation: ${calls.length} requests\n  ${total(({ scheme }) => scheme)}\n  ${total(({ server }) => nameOf(server))}\n  steps: ${taken}\n  tried again: ${calls.filter(isTriedAgain).length}\n  revoked key refused after (ms): ${latencies.map(Math.round).join(' ')}\n`
  }

  /**
   * One look of the operator at the ring; when a key is made, one server's documents are stuck in some way for a while.
   */
  async function rotate(): Promise<void> {
    documents.become(waysToBeStuck[rounds % waysToBeStuck.length] ?? 'old')
    const done = await operator.rotate()
    steps.push(...done)
    const isNew = done.some((step) => step.do === 'generate')
    if (isNew) {
      rounds += 1
      await sleep(stuckMs)
    }
    documents.become('fresh')
    await sleep(isNew ? 1_000 : 250)
  }

  it('fails none of them', { timeout: patienceMs + wanted * 10 }, async () => {
    while (calls.length < wanted || countOf('remove') < 4) {
      await rotate()
      expect(load.failure()).toBeUndefined()
      if (stack.deals.length === 3 && calls.length >= wanted / 2) await stack.addDealServer()
      expect(failed()).toEqual([])
    }
    for (const what of ['generate', 'promote', 'remove'] as const)
      for (const use of uses)
        expect(steps.filter((step) => step.do === what && step.use === use).length).toBeGreaterThanOrEqual(2)
    expect(stack.deals).toHaveLength(4)
    expect(heldUp.length).toBeLessThanOrEqual(maxHeldUp)
  })

  /**
   * Within how many milliseconds a revocation is to be known: a second, and what the machine adds, which may have more
   * to do than this. The news takes four turns in processes that share it: to see the ring, to tell, to ask for the
   * keys, to give them.
   */
  const promisedMs = () => 1_000 + 4 * heldUpMs()

  /** How long after now a server refuses this credential, in milliseconds. */
  async function refusedAfter(server: TestServer, authorization: string): Promise<number> {
    const started = performance.now()
    for (;;) {
      const sentAt = performance.now()
      const path = auths.includes(server) ? '/me' : '/rest/v1/deals?limit=1'
      const { status, text } = await server.send(path, { headers: { authorization } })
      if (status === 401 || text.includes('"token-expired"')) return performance.now() - started
      expect(status, text).toBe(200)
      expect(sentAt - started).toBeLessThan(promisedMs())
      await sleep(20)
    }
  }

  const credentialOf = async (use: KeyUse): Promise<string> =>
    use === 'jwt'
      ? `Bearer ${(await stack.logIn('bob')).access}`
      : `KeySigned ${await keySignedToken(stack.auth, { username: 'bob' })}`

  /**
   * Revokes the key of this token, which every server then refuses within a second, and whatever clients have of that
   * key.
   */
  async function revoke(authorization: string): Promise<void> {
    const kid = kidOf(authorization) ?? ''
    const servers = [...stack.deals, ...auths]
    await operator.revoke(kid)
    const at = performance.now()
    revoked.set(kid, at)
    latencies.push(...(await Promise.all(servers.map((server) => refusedAfter(server, authorization)))))
    await sleep(1_000)
    const ofKey = calls.filter((call) => call.kid === kid)
    expect(ofKey.filter((call) => isGood(call) && call.sentAt > at + promisedMs())).toEqual([])
  }

  const ofBoth = <Result>(act: (use: KeyUse) => Promise<Result>) => Promise.all(uses.map(act))

  it('lets the tokens of a revoked key alone die, be it retired or active', async () => {
    heldUpMs = watchBoth()
    const made = await ofBoth((use) => operator.generate(use))
    await sleep(1_000)
    const former = await ofBoth(credentialOf)
    for (const { kid } of made) await operator.promote(kid)
    // Now some clients have tokens of the former keys, and some of these.
    await sleep(1_000)
    await Promise.all(former.map(revoke))
    // Nothing was made to take over from these: what does nobody has heard of.
    const latest = await ofBoth(credentialOf)
    expect(latest.map(kidOf)).toEqual(made.map(({ kid }) => kid))
    await Promise.all(latest.map(revoke))
    await sleep(500)
    expect(load.failure()).toBeUndefined()
    expect(failed()).toEqual([])
    expect(heldUp.length).toBeLessThanOrEqual(maxHeldUp)
    const refused = new Set(calls.filter(isOfRevoked).map(({ scheme }) => scheme))
    expect(refused).toEqual(new Set(['bearer', 'key-signed']))
  })
})
