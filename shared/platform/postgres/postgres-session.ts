/**
 * One session with a PostgreSQL server: one postgres.js client of one connection, which lives once. When its connection ends,
 * for whatever reason, the session is lost for good and whoever held it opens another. postgres.js's own reconnecting is never used:
 * it would send a queue of statements through one failed attempt after the other, and statements of a broken transaction to the next
 * connection.
 */
import type { Socket } from 'node:net'
import { sqlStateOf, translateDriverError, unavailable } from '../database/driver-errors.ts'
import type { Unavailable } from '../problems/errors.ts'
import { addressOf, createClient, type PostgresClient } from './postgres-client.ts'
import { openSocket, sslModeOf } from './postgres-socket.ts'

export interface PostgresSessionOptions {
  readonly url: string
  /** A session with statements under way and without any answer for so long is given up; milliseconds. */
  readonly answerTimeoutMs: number
  /** Adapts the new client, such as its parsers. */
  readonly prepare: (client: PostgresClient) => void
  /** Told when the session was lost because the server could not be reached, does not take sessions, or fell silent. */
  readonly onUnreachable: (reason: Unavailable) => void
  /** Told when a statement begins. */
  readonly onAsked?: () => void
  /** Told when the server has answered one, in whatever way. */
  readonly onAnswered?: () => void
  /** Told when the session has ended. */
  readonly onLost?: () => void
}

/** Silence is counted in ticks and not read from a clock: a process that was itself held up must not blame the server. */
const TICKS = 10

export class PostgresSession {
  readonly #client: PostgresClient
  readonly #options: PostgresSessionOptions
  readonly #underWay = new Set<(reason: Unavailable) => void>()
  readonly #timer: NodeJS.Timeout
  #socket: Socket | undefined
  #lost: Unavailable | undefined
  #established = false
  #answered = false
  #silentTicks = 0
  #patient = false

  constructor(options: PostgresSessionOptions) {
    this.#options = options
    this.#client = createClient(options.url, {
      answerTimeoutMs: options.answerTimeoutMs,
      openSocket: () => this.#openSocket(),
      onClose: () => this.#lose(unavailable('the connection was closed')),
    })
    options.prepare(this.#client)
    this.#timer = setInterval(() => this.#tick(), options.answerTimeoutMs / TICKS).unref()
  }

  /** True once the connection has ended; such a session rejects everything. */
  get lost(): boolean {
    return this.#lost !== undefined
  }

  /** True while somebody waits here for an answer that may not take as long as it likes. */
  get isAwaited(): boolean {
    return this.#underWay.size > 0 && !this.#patient
  }

  /** The server was found to be frozen: ends the session, unless it is one that may take as long as it likes. */
  giveUp(reason: Unavailable): void {
    if (!this.#patient) this.#lose(reason)
  }

  /** From now on statements may take as long as they like. */
  async liftTimeLimits(): Promise<void> {
    await this.run((client) => client.unsafe('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0'))
    this.#patient = true
  }

  /**
   * Runs `work`, which issues statements on the client and nothing else.
   *
   * @throws DatabaseError, Unavailable; the latter at once when the connection ends, whether or not the statement took effect
   */
  run<Result>(work: (client: PostgresClient) => PromiseLike<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) return reject(this.#lost)
      this.#underWay.add(reject)
      this.#options.onAsked?.()
      work(this.#client).then(
        (result) => {
          this.#answer(reject, true)
          resolve(result)
        },
        (error: unknown) => {
          this.#fail(reject, error)
        },
      )
    })
  }

  /** Waits for what is under way, then ends the session. */
  async close(): Promise<void> {
    while (this.#underWay.size > 0 && !this.lost) await new Promise((resolve) => setTimeout(resolve, 5))
    if (this.lost) return
    this.#established = true
    await this.#client.end({ timeout: 1 })
    this.#lose(unavailable('closed'))
  }

  /** Ends the session now; what is under way rejects with Unavailable. */
  discard(): void {
    this.#established = true
    this.#lose(unavailable('the session was given up'))
  }

  #answer(statement: (reason: Unavailable) => void, established: boolean): void {
    this.#underWay.delete(statement)
    this.#answered = true
    this.#established ||= established
    if (established) this.#options.onAnswered?.()
  }

  #fail(reject: (reason: Error) => void, error: unknown): void {
    const sqlState = sqlStateOf(error)
    const translated = translateDriverError(error)
    this.#answer(reject, sqlState !== undefined && sqlState !== '57P03')
    reject(translated)
  }

  #tick(): void {
    const waiting = this.#underWay.size > 0 && !this.#answered && !this.#patient
    this.#answered = false
    this.#silentTicks = waiting ? this.#silentTicks + 1 : 0
    if (this.#silentTicks < TICKS) return
    this.#established = false
    this.#lose(unavailable(`no answer for ${this.#options.answerTimeoutMs} ms`))
  }

  #lose(reason: Unavailable): void {
    if (this.#lost !== undefined) return
    this.#lost = reason
    clearInterval(this.#timer)
    this.#socket?.destroy()
    this.#client.end({ timeout: 0 }).catch(() => {})
    for (const reject of this.#underWay) reject(reason)
    this.#underWay.clear()
    this.#options.onLost?.()
    if (!this.#established) this.#options.onUnreachable(reason)
  }

  /** postgres.js asks for a socket again when it wants to reconnect: that is how a connection which never got ready ends. */
  async #openSocket(): Promise<Socket> {
    if (this.#socket !== undefined) this.#lose(unavailable('the connection was closed before the server was ready'))
    if (this.#lost !== undefined) throw this.#lost
    try {
      const address = addressOf(this.#client, sslModeOf(this.#options.url))
      return await openSocket(address, (socket) => {
        this.#socket = socket
        if (this.lost) socket.destroy()
      })
    } catch (error) {
      this.#lose(unavailable(error))
      throw error
    }
  }
}
