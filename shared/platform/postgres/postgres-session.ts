/**
 * One session with a PostgreSQL server: one postgres.js client of one connection. When the connection ends, for any
 * reason, the session is lost, and its user opens another one. The reconnecting of postgres.js is never used: it would
 * send a queue of statements through one failed attempt after the other, and statements of a broken transaction to the
 * next connection.
 */
import type { Socket } from 'node:net'
import { withDeadline } from '../concurrency/deadline.ts'
import { sqlStateOf, translateDriverError, unavailable } from '../database/driver-errors.ts'
import type { Unavailable } from '../problems/errors.ts'
import { createClient, type PostgresClient } from './postgres-client.ts'
import { dialTimeoutMs, type PostgresServers } from './postgres-servers.ts'
import { openSocket, type ServerAddress } from './postgres-socket.ts'
import { serverNameOf } from './postgres-url.ts'

interface PostgresSessionOptions {
  readonly servers: PostgresServers
  /** A session that waits for answers is closed after this time without any answer; milliseconds. */
  readonly responseTimeoutMs: number
  /** Adapts the new client, such as its parsers. */
  readonly prepare: (client: PostgresClient) => void
  /** Called when the session is lost because the server cannot be reached, takes no sessions, or is silent. */
  readonly onUnreachable: (reason: Unavailable) => void
  /** True while silence has another reason than the server or the connection: commits wait for a standby. */
  readonly mayBeSilent?: () => boolean
  /** Called when a statement begins. */
  readonly onAsked?: () => void
  /** Called when the server has answered a statement, with a result or an error. */
  readonly onAnswered?: () => void
  /** Called when the session has ended. */
  readonly onLost?: () => void
}

/**
 * Silence is counted in timer ticks and not read from a clock: a process that was itself paused must not blame the
 * server.
 */
const ticks = 10

/** Lifts all limits of the server, for a transaction or for the session. Version 17 brought the last one. */
const withoutLimits = `select set_config(name, '0', true)
  from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

/** One session. It is never reused after its connection has ended. */
export class PostgresSession {
  readonly #client: PostgresClient
  readonly #options: PostgresSessionOptions
  readonly #underWay = new Set<(reason: Unavailable) => void>()
  readonly #timer: NodeJS.Timeout
  #socket: Socket | undefined
  /** The server that the session is connected to, or tries to. */
  #server: ServerAddress | undefined
  #lost: Unavailable | undefined
  #established = false
  #answered = false
  #silentTicks = 0
  #patient = false

  constructor(options: PostgresSessionOptions) {
    this.#options = options
    this.#client = createClient(options.servers.address, {
      responseTimeoutMs: options.responseTimeoutMs,
      openSocket: () => this.#openSocket(),
      onClose: () => this.#lose(unavailable('the connection was closed')),
      onReport: (setting, value) => this.#judge(options.servers.refusalOf(setting, value)),
      onLocalCommit: () => this.#endFor(unavailable('a commit did not wait for its standby: it may get lost')),
    })
    options.prepare(this.#client)
    this.#timer = setInterval(() => this.#tick(), options.responseTimeoutMs / ticks).unref()
  }

  /** True after the connection has ended. A lost session rejects all work. */
  get lost(): boolean {
    return this.#lost !== undefined
  }

  /** True while a caller waits for an answer that has a time limit. */
  get isAwaited(): boolean {
    return this.#underWay.size > 0 && !this.#patient
  }

  /** Ends the session because the server is frozen, unless the session has no time limits. */
  giveUp(reason: Unavailable): void {
    if (!this.#patient) this.#lose(reason)
  }

  /** Removes the time limits of the open transaction. From then on the session itself waits without a limit, too. */
  async liftTimeLimits(): Promise<void> {
    await this.run((client) => client.unsafe(withoutLimits))
    this.#patient = true
  }

  /**
   * Runs `work`, which sends statements on the client and does nothing else.
   *
   * @throws DatabaseError, Unavailable; the latter at once when the connection ends, whether the statement took effect
   * or not
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

  /** Waits for running statements, then ends the session. */
  async close(): Promise<void> {
    while (this.#underWay.size > 0 && !this.lost) await new Promise((resolve) => setTimeout(resolve, 5))
    if (this.lost) return
    this.#established = true
    this.#server = undefined
    await this.#client.end({ timeout: 1 })
    this.#lose(unavailable('closed'))
  }

  /** Ends the session now. Running statements reject with Unavailable. */
  discard(): void {
    this.#endFor(unavailable('the session was given up'))
  }

  /** Ends the session for a reason that says nothing about the server. */
  #endFor(reason: Unavailable): void {
    this.#established = true
    this.#server = undefined
    this.#lose(reason)
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
    // A server still starting, or a pooler without a backend, counts as unreachable.
    this.#answer(reject, sqlState !== undefined && !/^(57P03|08...)$/.test(sqlState))
    reject(translated)
    // Behind an address that moves, or a pooler, another server may answer by now.
    if (sqlState === '25006') this.#judge(this.#options.servers.refusalOfStandby())
  }

  /** Ends the session with a server that cannot be used. */
  #judge(refusal: string | undefined): void {
    if (refusal === undefined) return
    const server = this.#server === undefined ? 'the server' : serverNameOf(this.#server)
    this.#lose(unavailable(`${server} ${refusal}: name the primary in the URL, or all hosts with commas between`))
  }

  #tick(): void {
    if (this.#server !== undefined && this.#options.servers.hasMovedFrom(this.#server)) {
      this.#established = true
      this.#lose(unavailable(`${serverNameOf(this.#server)} is not the primary any more`))
      return
    }
    const isOwed = this.#underWay.size > 0 && !this.#answered && !this.#patient
    const waiting = isOwed && !this.#options.mayBeSilent?.()
    this.#answered = false
    this.#silentTicks = waiting ? this.#silentTicks + 1 : 0
    if (this.#silentTicks < ticks) return
    this.#established = false
    this.#lose(unavailable(`no answer for ${this.#options.responseTimeoutMs} ms`))
  }

  #lose(reason: Unavailable): void {
    if (this.#lost !== undefined) return
    this.#lost = reason
    if (this.#server !== undefined) this.#options.servers.forget(this.#server)
    clearInterval(this.#timer)
    this.#socket?.destroy()
    this.#client.end({ timeout: 0 }).catch(() => {})
    for (const reject of this.#underWay) reject(reason)
    this.#underWay.clear()
    this.#options.onLost?.()
    if (!this.#established) this.#options.onUnreachable(reason)
  }

  /**
   * postgres.js calls this again when it wants to reconnect: the first connection has then ended before it was ready.
   */
  async #openSocket(): Promise<Socket> {
    if (this.#socket !== undefined) this.#lose(unavailable('the connection was closed before the server was ready'))
    if (this.#lost !== undefined) throw this.#lost
    const { servers } = this.#options
    try {
      const server = await servers.find()
      this.#server = server
      const opened = openSocket(server, (socket) => {
        this.#socket = socket
        if (this.lost) socket.destroy()
      })
      return await (servers.areSeveral ? withDeadline(opened, dialTimeoutMs) : opened)
    } catch (error) {
      this.#lose(unavailable(error))
      throw error
    }
  }
}
