/** A worker's side: it gets connections from its supervisor, and ends when that one says so or is gone. */
import cluster from 'node:cluster'
import { EventEmitter, once } from 'node:events'
import { Socket } from 'node:net'
import { Unavailable } from '../problems/errors.ts'
import type { FromWorker, ToWorker } from './messages.ts'

/** This process as a worker. */
export interface Worker {
  /** From 1. A worker that replaces another one gets a number that is free. */
  readonly number: number
  /** From now on gives the connections that the supervisor accepts to `take`. */
  onConnection(take: (socket: Socket) => void): void
  /** From now on calls `begin` when the server is about to end. */
  onDraining(begin: () => void): void
  /** From now on calls `close` when this worker is to end. */
  onEnd(close: () => void): void
  /** From now on answers with the text of `read` when the supervisor asks for metrics. */
  onMetrics(read: () => Promise<string>): void
  /** Reads the metrics of all workers. @throws Unavailable when the supervisor does not answer */
  metricsOfAll(): Promise<string>
  /** Says that connections may come. */
  ready(): void
}

/** How long the supervisor may take for the metrics, in milliseconds. */
const answerWithinMs = 10_000

/** This process as a worker; undefined in any other process. Call it once. */
export function thisWorker(): Worker | undefined {
  const { worker } = cluster
  if (!worker) return undefined
  // A terminal and systemd signal all processes of a group; the supervisor says when its workers end. On SIGHUP they
  // read the certificate again.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => undefined)
  const messages = new EventEmitter().setMaxListeners(0)
  process.on('message', (message: ToWorker, socket: unknown) => messages.emit(message.kind, message, socket))
  // When the supervisor is gone, the cluster module ends this process.
  const send = (message: FromWorker) => void worker.send(message, () => undefined)
  return {
    number: numberIn(process.argv),
    onConnection: (take) =>
      void messages.on('connection', ({ connection }: { connection: number }, socket: unknown) => {
        send({ kind: 'taken', connection })
        // The client may have closed it on its way.
        if (socket instanceof Socket) take(socket)
      }),
    onDraining: (begin) => void messages.on('draining', begin),
    onEnd: (close) => void messages.on('end', close),
    onMetrics: (read) =>
      void messages.on('read-metrics', () => {
        read().then(
          (text) => send({ kind: 'metrics', text }),
          () => undefined,
        )
      }),
    metricsOfAll: async () => {
      send({ kind: 'read-metrics-of-all' })
      try {
        const [{ text }] = await once(messages, 'metrics-of-all', { signal: AbortSignal.timeout(answerWithinMs) })
        return text
      } catch (cause) {
        throw new Unavailable('supervisor', { cause })
      }
    },
    ready: () => send({ kind: 'ready' }),
  }
}

/** The parameter of a worker with this number. The list of processes shows it too. */
export const numberParameter = (number: number): string => `--worker=${number}`

const numberIn = (parameters: readonly string[]): number =>
  Number(/^--worker=(\d+)$/.exec(parameters.at(-1) ?? '')?.[1] ?? 0)
