import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { pollMs } from '../campaign.ts'
import { type Reply, type Sent, send } from '../clients/http-client.ts'
import { allowHoldUps } from '../held-up.ts'
import { type AuthProcess, startAuthProcess } from '../processes/auth-process.ts'
import { type Operator, startOperator } from '../processes/operators/operator.ts'
import { copyKeys } from '../processes/own-keys.ts'
import { createBalancer } from '../processes/proxies/balancer.ts'
import type { OpenBackend } from '../stores/backends.ts'
import { type OpenCredential, openCredential, type Revocation, revocations } from './revocations.ts'
import { logIn, openStack, passwordOf, type Stack, type TestServer } from './stack.ts'
import { promisedMs } from './within-a-second.ts'

/** Of a scheme that no key of the ring is behind. */
const administrator = {
  authorization: `Basic ${Buffer.from(`admin:${passwordOf('admin')}`).toString('base64')}`,
}
const list = '/rest/v1/deals?limit=1'

interface Sample {
  readonly revocation: string
  readonly ms: number
}

const percentile = (sorted: readonly number[], share: number): string =>
  `${sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(0)} ms`

function line(title: string, samples: readonly Sample[]): string {
  const sorted = samples.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const [p50, p99, maximum] = [0.5, 0.99, 1].map((share) => percentile(sorted, share))
  return `  ${title.padEnd(20)} ${String(sorted.length).padStart(5)} samples: p50 ${p50}, p99 ${p99}, maximum ${maximum}\n`
}

/** Servers that are measured. */
export interface MeasuredServers {
  readonly servers: readonly TestServer[]
  close(): Promise<void>
}

/** An auth server, another one that can be killed, and three servers, with what was measured on these. */
export class RevocationWorld {
  readonly samples: Sample[] = []
  readonly #balancer = createBalancer()
  #unavailable = 0
  #keys: Awaited<ReturnType<typeof copyKeys>> | undefined
  #stack: Stack | undefined
  #measured: MeasuredServers | undefined
  #other: AuthProcess | undefined
  #operator: Operator | undefined

  get stack(): Stack {
    if (!this.#stack) throw new TypeError('the world is not open')
    return this.#stack
  }

  /** Measures three deal servers, or the servers that `start` starts. They answer `GET /rest/v1/deals` by a right. */
  async open(openBackend: OpenBackend, start?: (stack: Stack) => Promise<MeasuredServers>): Promise<void> {
    this.#keys = await copyKeys()
    const { directory } = this.#keys
    const many = '100000/60'
    const environment = { KEYS_DIR: directory, LOGIN_FAILURES_PER_ACCOUNT: many, LOGIN_FAILURES_PER_ADDRESS: many }
    const dealServer = () => ({ fetch: this.#balancer.fetch })
    this.#stack = await openStack(openBackend, {
      hashing: 'costly',
      dealServers: start ? 1 : 3,
      dealServer,
      environment,
      logLevel: 'silent',
    })
    this.#measured = await start?.(this.#stack)
    this.#operator = startOperator({ directory, speed: 1, tokenLifeMs: 1_800_000, maxAgeMs: 86_400_000 })
  }

  /** From now on everybody talks to the other auth server; deal servers to both. */
  async startOther(): Promise<void> {
    this.#other = await startAuthProcess(this.stack)
    this.#balancer.spreadOver([this.stack.auth.url, this.#other.server.url])
  }

  /** From now on the first one is on its own. */
  async killOther(): Promise<void> {
    const other = this.#other
    this.#other = undefined
    await other?.child.end('SIGKILL')
  }

  get #servers(): readonly TestServer[] {
    return this.#measured?.servers ?? this.stack.deals
  }

  /** One credential of each scheme that is concerned, which every server has accepted. */
  async openKnownEverywhere({ schemes }: Revocation): Promise<OpenCredential[]> {
    const stack = {
      ...this.stack,
      auth: this.#auth,
      logIn: (name: string) => logIn(this.#auth, name, passwordOf(name)),
    }
    const credentials: OpenCredential[] = []
    for (const scheme of schemes) {
      const credential = await openCredential(stack, scheme)
      for (const server of [...this.#servers, ...this.#servers]) await this.#untilAccepted(server, credential)
      credentials.push(credential)
    }
    return credentials
  }

  /** When it was acknowledged, on the monotonic clock. */
  async carryOut(revocation: Revocation, credentials: readonly OpenCredential[]): Promise<number> {
    await revocation.carryOut(this.#ports(credentials))
    return performance.now()
  }

  async undo(revocation: Revocation, credentials: readonly OpenCredential[]): Promise<void> {
    await revocation.undo?.(this.#ports(credentials))
  }

  /** Asks until every server refuses every credential, and some more times. */
  async measure(
    { name, status }: Revocation,
    { credentials, at }: { readonly credentials: readonly OpenCredential[]; readonly at: number },
  ): Promise<void> {
    const pairs = this.#servers.flatMap((server) => credentials.map((credential) => ({ server, credential })))
    const measured = pairs.map(async ({ server, credential }) => {
      const ms = await this.#firstRefusal(() => this.#ask(server, credential), { status, at })
      this.samples.push({ revocation: name, ms })
      for (let count = 0; count < 3; count += 1) {
        expect((await this.#ask(server, credential)).status).toBeOneOf([status, 503])
      }
    })
    await Promise.all(measured)
  }

  /** What was measured, in lines. */
  report(title: string): string {
    const names = revocations.map(({ name }) => name)
    const of = (name: string) => this.samples.filter(({ revocation }) => revocation === name)
    const lines = names.map((name) => line(name, of(name)))
    const total = line('all', this.samples)
    return `${title}, from acknowledgement to refusal\n${lines.join('')}${total}  answers 503: ${this.#unavailable}\n`
  }

  async close(): Promise<void> {
    await this.#measured?.close()
    await this.#operator?.end()
    await this.killOther()
    await this.#stack?.close()
    await this.#keys?.remove()
  }

  /** The auth server that everybody talks to. */
  get #auth(): TestServer {
    return this.#other?.server ?? this.stack.auth
  }

  #ports(credentials: readonly OpenCredential[]) {
    if (!this.#operator) throw new TypeError('the world is not open')
    const administer = async (path: string, sent: Sent): Promise<void> => {
      const { status, text } = await this.#auth.send(path, { ...sent, headers: administrator })
      if (status !== 200 && status !== 204) throw new Error(`${path} answered ${status}: ${text}`)
    }
    return { administer, auth: this.#auth, operator: this.#operator, credentials }
  }

  async #ask(server: TestServer, credential: OpenCredential): Promise<Reply> {
    // A service demands to be named where a URL is signed.
    const audience = credential.scheme === 'signed-request' ? '&audience=deals' : ''
    const { url, headers } = await credential.sign({ method: 'GET', url: server.url + list + audience })
    const reply = await send(url, { headers })
    if (reply.status === 503) this.#unavailable += 1
    if (reply.body.code !== 'stale-nonce') return reply
    await credential.renew()
    return this.#ask(server, credential)
  }

  async #untilAccepted(server: TestServer, credential: OpenCredential): Promise<void> {
    const started = performance.now()
    for (;;) {
      const { status, text } = await this.#ask(server, credential)
      if (status === 200) return
      if (performance.now() - started > pollMs) throw new Error(`${credential.scheme} answers ${status}: ${text}`)
      await sleep(20)
    }
  }

  /** Milliseconds from `at` to the answer that refuses. Whatever is sent later than promised must be refused. */
  async #firstRefusal(
    ask: () => Promise<Reply>,
    { status, at }: { readonly status: number; readonly at: number },
  ): Promise<number> {
    const allowed = allowHoldUps()
    for (;;) {
      const sentAt = performance.now()
      const reply = await ask()
      if (reply.status === status) return performance.now() - at
      expect(reply.status).toBeOneOf([200, 503])
      if (reply.status === 200) expect(sentAt - at).toBeLessThanOrEqual(allowed(promisedMs))
      expect(sentAt - at).toBeLessThanOrEqual(5 * allowed(promisedMs))
      await sleep(5)
    }
  }
}
