/**
 * The supervisor of a server's workers: starts them, hands them the connections of the port in turn, replaces a worker
 * that dies, and ends all of them in order. It accepts connections itself, and not the cluster module for it: only so
 * it can stop accepting before the last worker stops, and no accepted connection is lost (docs/decisions/workers.md).
 */
import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../clock.ts'
import { withDeadline } from '../concurrency/deadline.ts'
import { listenOn } from '../http/server/listen.ts'
import type { Log } from '../log/log.ts'
import { OperatorError } from '../operator-error.ts'
import { mergeMetrics } from './merge-metrics.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { ShortLives } from './short-lives.ts'
import { numberParameter } from './worker.ts'

interface SupervisorOptions {
  readonly workers: number
  readonly host: string
  readonly port: number
  readonly log: Log
  /** Ends the process when workers die again and again. */
  onHopeless(error: OperatorError): void
}

/** A worker as its supervisor knows it. */
interface Member {
  readonly number: number
  readonly child: ClusterWorker
  readonly ready: Promise<boolean>
  readonly ended: Promise<void>
  /** Connections on their way to it, by their numbers. */
  readonly handed: Map<number, Socket>
  /** Those who wait for its metrics. */
  readonly readers: ((text: string) => void)[]
  state: 'starting' | 'ready' | 'ending'
  /** By the monotonic clock; 0 before it is ready. */
  readyAt: number
}

/** This many workers in turn that die at their start end the server. */
const maxDeadStarts = 8
/** Further connections are closed while no worker serves. */
const maxWaiting = 1024
/** How long a worker may take to end, in milliseconds: longer than its connections are kept. */
const endWithinMs = 20_000

/** How long a worker may take for its metrics, in milliseconds. Then they are left out. */
const metricsWithinMs = 1000

/** The supervisor of one server. */
export class Supervisor {
  readonly #options: SupervisorOptions
  /** By their numbers. */
  readonly #members = new Map<number, Member>()
  readonly #server: Server
  /** Connections that wait while no worker is ready. */
  #waiting: Socket[] = []
  #turn = 0
  #lastConnection = 0
  #deadStarts = 0
  readonly #shortLives = new ShortLives(systemClock)
  #isEnding = false
  #restart: Promise<void> | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => this.#hand(socket))
  }

  /**
   * Starts one worker, then all others, and listens. @throws OperatorError when the first one does not start, with its
   * exit code, or when the system refuses the port
   */
  async start(): Promise<void> {
    const first = this.#fork()
    if (!(await first.ready)) {
      const exitCode = first.child.process.exitCode === 2 ? 2 : 1
      throw new OperatorError('The first worker ended at its start', { exitCode })
    }
    const others = Array.from({ length: this.#options.workers - 1 }, () => this.#forkUntilReady())
    await Promise.all(others)
    await listenOn(this.#server, this.#options)
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
    for (const member of this.#members.values()) send(member, { kind: 'draining' })
  }

  /** Lets all workers read the certificate again. */
  reload(): void {
    for (const { child, state } of this.#members.values()) if (state === 'ready') child.process.kill('SIGHUP')
  }

  /** The metrics of all workers in one text. */
  async metrics(): Promise<string> {
    const pages = await Promise.all([...this.#members.values()].map(readMetrics))
    return mergeMetrics(new Map(pages.flat()))
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
    for (const { child } of this.#members.values()) child.process.kill('SIGKILL')
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

  #fork(): Member {
    const number = this.#freeNumber()
    cluster.setupPrimary({ args: [numberParameter(number)], ...executionOf(process.argv[1] ?? '') })
    const child = cluster.fork()
    const isReady = new Promise<boolean>((resolve) => {
      child.on('message', ({ kind }: FromWorker) => kind === 'ready' && resolve(true))
      child.once('exit', () => resolve(false))
    })
    const member: Member = {
      number,
      child,
      state: 'starting',
      readyAt: 0,
      ready: isReady,
      handed: new Map(),
      readers: [],
      ended: once(child, 'exit').then(() => undefined),
    }
    this.#members.set(number, member)
    child.on('message', (message: FromWorker) => this.#onMessage(member, message))
    child.once('exit', (code, signal) => this.#onExit(member, signal ?? `exit code ${code}`))
    return member
  }

  /** The lowest number that no worker has: so the label of metrics has few values. */
  #freeNumber(): number {
    let number = 1
    while (this.#members.has(number)) number += 1
    return number
  }

  #onMessage(member: Member, message: FromWorker): void {
    if (message.kind === 'ready') this.#onReady(member)
    else if (message.kind === 'taken') this.#onTaken(member, message.connection)
    else if (message.kind === 'read-metrics-of-all') void this.#sendMetrics(member)
    else for (const reader of member.readers.splice(0)) reader(message.text)
  }

  async #sendMetrics(member: Member): Promise<void> {
    send(member, { kind: 'metrics-of-all', text: await this.metrics() })
  }

  /** Starts workers until one of them serves; undefined when the server ends first. */
  async #forkUntilReady(): Promise<Member | undefined> {
    while (!this.#isEnding) {
      const member = this.#fork()
      if (await member.ready) return member
      this.#deadStarts += 1
      if (this.#deadStarts >= maxDeadStarts) return this.#giveUp()
      await pause(this.#shortLives.pauseAfter(systemClock.monotonic()))
    }
    return undefined
  }

  #giveUp(): undefined {
    if (this.#isEnding) return
    this.#isEnding = true
    const reason = `${maxDeadStarts} workers in turn ended at their start; the lines above say why`
    this.#options.onHopeless(new OperatorError(reason, { exitCode: 1 }))
  }

  #onReady(member: Member): void {
    if (member.state !== 'starting') return
    member.state = 'ready'
    member.readyAt = systemClock.monotonic()
    this.#deadStarts = 0
    if (this.#isEnding) send(member, { kind: 'draining' })
    for (const socket of this.#waiting.splice(0)) this.#hand(socket)
  }

  #onExit(member: Member, reason: string): void {
    const { state } = member
    member.state = 'ending'
    this.#members.delete(member.number)
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
    send(member, { kind: 'connection', connection: this.#lastConnection }, socket)
  }

  /** The worker has the connection: only now this process closes its own handle of it. */
  #onTaken(member: Member, connection: number): void {
    member.handed.get(connection)?.destroy()
    member.handed.delete(connection)
  }

  async #end(member: Member): Promise<void> {
    member.state = 'ending'
    send(member, { kind: 'end' })
    const timer = setTimeout(() => member.child.process.kill('SIGKILL'), endWithinMs)
    await member.ended
    clearTimeout(timer)
  }
}

/** A worker compiles TypeScript as this process does. */
const executionOf = (file: string) =>
  file.endsWith('.ts') ? { execArgv: [...process.execArgv, '--import', 'tsx'] } : {}

/** A message to a worker that has ended is lost; its connections go to another one. */
function send({ child }: Member, message: ToWorker, socket?: Socket): void {
  if (child.isConnected()) child.process.send(message, socket, { keepOpen: true }, () => undefined)
}

/** The number and the metrics of a worker; nothing when it does not answer. */
async function readMetrics(member: Member): Promise<(readonly [number, string])[]> {
  if (member.state === 'starting') return []
  const text = new Promise<string>((resolve) => member.readers.push(resolve))
  send(member, { kind: 'read-metrics' })
  try {
    return [[member.number, await withDeadline(text, metricsWithinMs)]]
  } catch {
    return []
  }
}
