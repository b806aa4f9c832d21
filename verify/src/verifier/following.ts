/**
 * Follows the auth server as a service: asks what the service is there, and makes the authentication from the answer.
 * When the auth server refuses the credential of the service, everything that is held is forgotten, and nothing is
 * verified until it is accepted again. The question is repeated each minute, when the catalogue of rights has changed,
 * and when the auth database is another one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { createUnsharedCache } from '../../../shared/platform/cache/unshared-cache.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import type { Log } from '../../../shared/platform/log/log.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { createAudience } from '../../../shared/protocol/authentication/audience.ts'
import { createCrossSiteRule } from '../../../shared/protocol/authentication/cross-site.ts'
import { questionOf } from '../../../shared/protocol/internal-api/exchange.ts'
import { type ServiceDescription, serviceExchange } from '../../../shared/protocol/internal-api/service.ts'
import { catalogueName } from '../../../shared/protocol/principal/catalogue.ts'
import { askedChecks } from '../asked/asked-checks.ts'
import { type AuthClient, createAuthClient } from '../auth-client/auth-client.ts'
import type { ServiceSystems } from '../auth-client/service-systems.ts'
import { followAuthServer } from '../service/follow-auth-server.ts'
import { createServiceAuthentication, type ServiceAuthentication } from '../service/service-authentication.ts'
import type { VerifierSettings } from './settings.ts'
import type { VerifierLog } from './verifier.ts'

/** The service as the auth server has accepted it. */
export interface Accepted {
  readonly description: ServiceDescription
  readonly authentication: ServiceAuthentication
  /** True when the auth server has refused the service since. */
  isRefused: boolean
}

/** How long the description of a service is used, in milliseconds. */
const describeEveryMs = 60_000
/** Pauses before the auth server is asked again, in milliseconds. */
const firstPauseMs = 200
const longestPauseMs = 2_000
/** How long a former authentication goes on for the requests that it has begun, in milliseconds. */
const retireAfterMs = 10_000
/** How often `ready` looks, in milliseconds. */
const lookEveryMs = 20

/** The resource server of the auth server and the deal server themselves. */
const resourceServerOfPair = 'deals'

const serviceQuestion = questionOf(serviceExchange, { path: {}, body: undefined })
const clock = systemClock
const ids = createIdSource(clock)

/** An auth server that a service follows. */
export class Following {
  readonly #settings: VerifierSettings
  readonly #log: ReturnType<typeof toLog>
  readonly #client: AuthClient
  readonly #stopping = new AbortController()
  #accepted: Accepted | undefined
  /** Ends the pause before the next question. */
  #wake = new AbortController()
  /** A mistake in the settings of the service, as the auth server shows. */
  #mistake: Error | undefined
  #isRefused = false
  #lastNote = ''
  #running: Promise<void> | undefined

  constructor(settings: VerifierSettings) {
    this.#settings = settings
    this.#log = toLog(settings.log)
    const systems = this.#systems(() => this.#forget(this.#accepted))
    this.#client = createAuthClient(systems, settings)
  }

  #systems(onRefused: () => void): ServiceSystems {
    const { serviceId, serviceSecret } = this.#settings
    const cache = createUnsharedCache(clock)
    return { cache, clock, ids, log: this.#log, fetch, serviceId, serviceSecret, onRefused }
  }

  /** Undefined while the auth server has not accepted the service, or refuses it. */
  get accepted(): Accepted | undefined {
    return this.#accepted
  }

  /** Begins, once. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** Resolves when requests can be verified. @throws Error for a mistake in the settings, and after the end */
  async ready(): Promise<void> {
    this.start()
    while (!this.#accepted?.authentication.keys.areThere()) {
      if (this.#stopping.signal.aborted) throw new Error('The verifier was stopped.')
      if (this.#mistake) throw this.#mistake
      await sleep(lookEveryMs)
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    this.#client.stop()
    const accepted = this.#accepted
    this.#accepted = undefined
    await accepted?.authentication.stop()
  }

  async #run(): Promise<void> {
    let pauseMs = firstPauseMs
    while (!this.#stopping.signal.aborted) {
      this.#wake = new AbortController()
      const isAccepted = await this.#renew()
      await this.#rest(isAccepted ? describeEveryMs : pauseMs, this.#wake.signal)
      pauseMs = isAccepted ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs)
    }
  }

  /** Pauses until the time is over, or `wake` is aborted, or the end. */
  async #rest(ms: number, wake?: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([this.#stopping.signal, ...(wake ? [wake] : [])])
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  }

  /** Asks again, and follows the answer. True when the service is accepted. Never rejects. */
  async #renew(): Promise<boolean> {
    this.#isRefused = false
    try {
      const description = await this.#describe()
      if (!isDeepStrictEqual(this.#accepted?.description, description)) await this.#replace(description)
      this.#note('info', 'The auth server has accepted this service')
      return true
    } catch (error) {
      this.#noteFailure(error)
      return false
    }
  }

  /** @throws Unavailable; Error for a mistake in the settings */
  async #describe(): Promise<ServiceDescription> {
    const { status, body } = await this.#client.ask(serviceQuestion)
    const description = status === 200 ? serviceExchange.responseBody.safeParse(body).data : undefined
    if (!description) {
      throw new Unavailable('auth-server', { cause: new Error(`/internal/service answered ${status}`) })
    }
    const { id, audience } = description.resourceServer
    if (audience === this.#settings.audience) {
      this.#mistake = undefined
      return description
    }
    this.#mistake = new Error(`The service belongs to the resource server ${id}, whose audience is ${audience}.`)
    this.#forget(this.#accepted)
    throw this.#mistake
  }

  /** @throws Unavailable when the auth server refuses the service first */
  async #replace(description: ServiceDescription): Promise<void> {
    const authentication = this.#authenticationFor(description, () => this.#forget(next))
    const next: Accepted = { description, authentication, isRefused: false }
    await next.authentication.start()
    if (next.isRefused) throw new Unavailable('auth-server')
    next.authentication.feed.onOtherInstance(() => this.#wake.abort())
    // Its resource server may have another audience now.
    next.authentication.feed.onChange((name) => name === catalogueName && this.#wake.abort())
    const former = this.#accepted
    this.#accepted = next
    if (former) void this.#rest(retireAfterMs).then(() => former.authentication.stop())
  }

  #authenticationFor(description: ServiceDescription, onRefused: () => void): ServiceAuthentication {
    const { authUrl, recordMaxAgeMs, publicOrigin, trustedOrigins } = this.#settings
    const { id, audience: name } = description.resourceServer
    const audience = createAudience(name, { isOfPair: id === resourceServerOfPair })
    const history = description.history ?? undefined
    const systems = this.#systems(onRefused)
    const settings = { ...description, authUrl, audience, recordMaxAgeMs, publicOrigin }
    const followed = followAuthServer(settings, systems)
    return createServiceAuthentication(settings, {
      ...systems,
      followed,
      own: askedChecks({ ...systems, authClient: followed.authClient, publicOrigin, history }),
      refuseCrossSite: createCrossSiteRule(trustedOrigins),
    })
  }

  /** The auth server refuses the service: nothing that it said before holds. */
  #forget(accepted: Accepted | undefined): void {
    this.#isRefused = true
    if (!accepted || accepted.isRefused) return
    accepted.isRefused = true
    if (this.#accepted === accepted) {
      this.#accepted = undefined
      this.#wake.abort()
    }
    void accepted.authentication.stop()
  }

  #noteFailure(error: unknown): void {
    if (error === this.#mistake) this.#note('error', 'The settings of this service do not fit the auth server', error)
    else if (this.#isRefused) {
      this.#note('error', 'The auth server refuses this service: its secret is wrong or revoked, or its clock is off')
    } else this.#note('warn', 'The auth server does not answer this service', error)
  }

  /** Logs what has become of the service, once. */
  #note(level: 'info' | 'warn' | 'error', message: string, err?: unknown): void {
    if (this.#lastNote === message || this.#stopping.signal.aborted) return
    this.#lastNote = message
    this.#log[level](err === undefined ? {} : { err }, message)
  }
}

/** The log of a service in the form that all parts use: the message may be alone. */
function toLog(log: VerifierLog): Pick<Log, 'debug' | 'info' | 'warn' | 'error'> {
  const writer =
    (level: keyof VerifierLog): Log['info'] =>
    (first: unknown, message?: unknown) => {
      if (typeof first === 'string') log[level]({}, first)
      else log[level](Object(first), String(message ?? ''))
    }
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') }
}
