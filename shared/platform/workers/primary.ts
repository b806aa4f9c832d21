/**
 * The primary process: starts workers, hands them the connections of the port in turn, replaces a worker that dies, and
 * ends all of them in order. It accepts connections itself, and not the cluster module for it: only so it can stop
 * accepting before the last worker stops, and no accepted connection is lost.
 */
import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../clock.ts'
import { listenOn } from '../http/server/listen.ts'
import type { Log } from '../log/log.ts'
import { OperatorError } from '../operator-error.ts'
import { type Call, Channel, type Hear, type News } from './channel.ts'
import { ShortLives } from './short-lives.ts'
import { connectionNews, drainingNews, endNews, readyNews, takenNews } from './worker.ts'

/** The place and the number of workers. */
export interface PrimaryOptions {
  readonly workers: number
  readonly host: string
  readonly port: number
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Ends the process when workers die again and again. */
  onHopeless(error: OperatorError): void
}

/** A worker as the primary process knows it. */
export interface Member {
  readonly number: number
  readonly channel: Channel
}

interface Running extends Member {
  readonly process: ClusterWorker
  readonly ready: Promise<boolean>
  readonly ended: Promise<void>
  /** Connections on their way to it, by their numbers. */
  readonly handed: Map<number, Socket>
  state: 'starting' | 'ready' | 'ending'
  /** By the monotonic clock; 0 before it is ready. */
  readyAt: number
}

/** The first pause before a worker is replaced, in milliseconds. It doubles with each one that dies at its start. */
const firstPauseMs = 100
const longestPauseMs = 10_000
/** So many workers in turn that die at their start end the server. */
const maxDeadStarts = 8
/** Further connections are closed while no worker serves. */
const maxWaiting = 1024
/** How long a worker may take to end, in milliseconds: longer than its connections are kept. */
const endWithinMs = 20_000

/** The workers of this machine. */
export class Workers {
  readonly #options: PrimaryOptions
  readonly #members = new Map<number, Running>()
  readonly #joining: ((member: Member) => void)[] = []
  readonly #leaving: ((member: Member) => void)[] = []
  readonly #server: Server
  /** Connections that wait while no worker is ready. */
  #waiting: Socket[] = []
  #turn = 0
  #lastConnection = 0
  #deadStarts = 0
  readonly #shortLives = new ShortLives(systemClock)
  #isEnding = false
  #restart: Promise<void> | undefined

  constructor(options: PrimaryOptions) {
    this.#options = options
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => this.#hand(socket))
  }

  /** From now on calls `listener` with every new worker, before its first message. Call it before `start`. */
  onJoin(listener: (member: Member) => void): void {
    this.#joining.push(listener)
  }

  /** From now on calls `listener` with every worker that has ended. */
  onLeave(listener: (member: Member) => void): void {
    this.#leaving.push(listener)
  }

  /** The workers that run. */
  members(): readonly Member[] {
    return [...this.#members.values()]
  }

  /** From now on answers this call of every worker. */
  answer<Argument, Result>(
    call: Call<Argument, Result>,
    work: (value: Argument, member: Member) => Promise<Result> | Result,
  ): void {
    this.onJoin((member) => member.channel.answer(call, (value) => work(value, member)))
  }

  /** From now on hears these news of every worker. */
  hear<Value>(news: News<Value>, listener: Hear<Value>): void {
    this.onJoin(({ channel }) => channel.hear(news, listener))
  }

  /** Tells all workers. */
  tell<Value>(news: News<Value>, value: Value): void {
    for (const { channel } of this.#members.values()) void channel.tell(news, value)
  }

  /**
   * Starts one worker, then all others, and listens. @throws OperatorError when the first one does not start, with its
   * exit code, or when the system refuses the port
   */
  async start(): Promise<void> {
    cluster.setupPrimary({ serialization: 'advanced', ...executionOf(process.argv[1] ?? '') })
    const first = this.#fork()
    if (!(await first.ready)) {
      const exitCode = first.process.process.exitCode === 2 ? 2 : 1
      throw new OperatorError('The first worker ended at its start', { exitCode })
    }
    const others = Array.from({ length: this.#options.workers - 1 }, () => this.#forkUntilReady())
    await Promise.all(others)
    await listenOn(this.#server, this.#options)
  }

  /** The port, once `start` has resolved. */
  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' ? (address?.port ?? 0) : 0
  }

  /** Replaces the workers one after the other; each ends only after its successor serves. Calls share one run. */
  replaceAll(): Promise<void> {
    this.#restart ??= this.#replaceAll().finally(() => {
      this.#restart = undefined
    })
    return this.#restart
  }

  /** Says in all workers that they are about to end. */
  announceEnd(): void {
    this.#isEnding = true
    this.tell(drainingNews, undefined)
  }

  /** Stops listening, then ends all workers in order. Resolves when they have ended. */
  async end(): Promise<void> {
    this.#isEnding = true
    // First accept the connections in the queue of the system.
    await nextTurn()
    await nextTurn()
    if (this.#server.listening) this.#server.close()
    await Promise.all([...this.#members.values()].map((member) => this.#end(member)))
    for (const socket of this.#waiting.splice(0)) socket.destroy()
  }

  /** Kills all workers. For an end without order. */
  kill(): void {
    this.#isEnding = true
    for (const { process: child } of this.#members.values()) child.process.kill('SIGKILL')
  }

  async #replaceAll(): Promise<void> {
    const old = [...this.#members.values()]
    for (const member of old) {
      if (this.#isEnding) return
      const successor = await this.#forkUntilReady()
      if (!successor) return
      await this.#end(member)
    }
    this.#options.log.info('All workers were replaced')
  }

  #fork(): Running {
    const child = cluster.fork()
    const channel = new Channel(lineTo(child))
    const isReady = new Promise<boolean>((resolve) => {
      channel.hear(readyNews, () => resolve(true))
      child.once('exit', () => resolve(false))
    })
    const member: Running = {
      number: child.id,
      channel,
      process: child,
      state: 'starting',
      readyAt: 0,
      ready: isReady,
      handed: new Map(),
      ended: once(child, 'exit').then(() => undefined),
    }
    this.#members.set(child.id, member)
    for (const listener of this.#joining) listener(member)
    channel.hear(readyNews, () => this.#onReady(member))
    channel.hear(takenNews, (connection) => this.#onTaken(member, connection))
    child.once('exit', (code, signal) => this.#onExit(member, signal ?? `exit code ${code}`))
    return member
  }

  /** Starts workers until one of them serves; undefined when the server ends meanwhile. */
  async #forkUntilReady(): Promise<Running | undefined> {
    while (!this.#isEnding) {
      const member = this.#fork()
      if (await member.ready) return member
      this.#deadStarts += 1
      if (this.#deadStarts >= maxDeadStarts) return this.#giveUp()
      await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#deadStarts - 1)))
    }
    return undefined
  }

  #giveUp(): undefined {
    if (this.#isEnding) return
    this.#isEnding = true
    const reason = `${maxDeadStarts} workers in turn ended at their start; the lines above say why`
    this.#options.onHopeless(new OperatorError(reason, { exitCode: 1 }))
  }

  #onReady(member: Running): void {
    if (member.state !== 'starting') return
    member.state = 'ready'
    member.readyAt = systemClock.monotonic()
    this.#deadStarts = 0
    if (this.#isEnding) void member.channel.tell(drainingNews, undefined)
    for (const socket of this.#waiting.splice(0)) this.#hand(socket)
  }

  #onExit(member: Running, reason: string): void {
    const { state } = member
    member.state = 'ending'
    this.#members.delete(member.number)
    for (const listener of this.#leaving) listener(member)
    // It has read nothing of these.
    for (const socket of member.handed.values()) this.#hand(socket)
    if (state === 'ending' || this.#isEnding) return
    this.#options.log.error({ worker: member.number, reason }, 'A worker died; it is replaced')
    // One that was starting is replaced by who waits for it.
    if (state === 'ready') void pause(this.#shortLives.pauseAfter(member.readyAt)).then(() => this.#forkUntilReady())
  }

  /** Gives the connection to the next worker in turn. */
  #hand(socket: Socket): void {
    const ready = [...this.#members.values()].filter(({ state }) => state === 'ready')
    const member = ready[this.#turn++ % Math.max(1, ready.length)]
    if (!member) {
      if (this.#waiting.length < maxWaiting) this.#waiting.push(socket)
      else socket.destroy()
      return
    }
    this.#lastConnection += 1
    member.handed.set(this.#lastConnection, socket)
    void member.channel.tell(connectionNews, this.#lastConnection, socket)
  }

  /** The worker has the connection: only now this process closes its own handle of it. */
  #onTaken(member: Running, connection: number): void {
    member.handed.get(connection)?.destroy()
    member.handed.delete(connection)
  }

  async #end(member: Running): Promise<void> {
    member.state = 'ending'
    void member.channel.tell(endNews, undefined)
    const timer = setTimeout(() => member.process.process.kill('SIGKILL'), endWithinMs)
    await member.ended
    clearTimeout(timer)
  }
}

/** A worker compiles TypeScript as this process does. */
const executionOf = (file: string) =>
  file.endsWith('.ts') ? { execArgv: [...process.execArgv, '--import', 'tsx'] } : {}

const lineTo = (child: ClusterWorker) => ({
  send: (message: object, socket: Socket | undefined, onSent: (error: Error | null) => void) => {
    if (!child.isConnected()) onSent(new Error('the worker has ended'))
    else child.process.send(message, socket, { keepOpen: true }, onSent)
  },
  onMessage: (listener: (message: unknown, socket: unknown) => void) => void child.process.on('message', listener),
  onClose: (listener: () => void) => void child.process.on('disconnect', listener),
})
