/** The worker's side: it gets connections from the primary process, and ends when that one says so or is gone. */
import cluster from 'node:cluster'
import { Socket } from 'node:net'
import { Channel, defineNews } from './channel.ts'

/** A connection that the primary process has accepted, and its number. */
export const connectionNews = defineNews<number>('connection')
/** The worker has this connection, and has read nothing of it before it says so. */
export const takenNews = defineNews<number>('taken')
/** The worker serves. */
export const readyNews = defineNews<undefined>('ready')
/** The worker is about to end: `/readyz` says so. */
export const drainingNews = defineNews<undefined>('draining')
/** No more connections follow: answer all requests, then end. */
export const endNews = defineNews<undefined>('end')
/** This process as a worker. */
export interface Worker {
  /** 1, 2, …: a worker that replaces another one has a new number. */
  readonly number: number
  readonly channel: Channel
  /** From now on gives the connections that the primary process accepts to `take`. */
  readonly onConnection: (take: (socket: Socket) => void) => void
  /** Says that connections may come. */
  ready(): void
}

/** This process as a worker; undefined in a process that is none. Call it once. */
export function thisWorker(): Worker | undefined {
  const { worker } = cluster
  if (!worker) return undefined
  // A terminal and systemd signal all processes of a group; the primary process says when its workers end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => undefined)
  const channel = new Channel({
    send: (message, _socket, onSent) => {
      worker.send(message, (error: Error | null) => onSent(error))
    },
    onMessage: (listener) => void process.on('message', listener),
    onClose: (listener) => void process.on('disconnect', listener),
  })
  return {
    number: worker.id,
    channel,
    onConnection: (take) =>
      channel.hear(connectionNews, (connection, _delayMs, socket) => {
        void channel.tell(takenNews, connection)
        // The client may have closed it on its way.
        if (socket instanceof Socket) take(socket)
      }),
    ready: () => void channel.tell(readyNews, undefined),
  }
}

/**
 * Calls `close` when the primary process says so, and ends this process with 0 after it. When the primary process is
 * gone, the cluster module ends this process at once.
 */
export function closeWithPrimary(
  { channel }: Pick<Worker, 'channel'>,
  { onDraining, close }: { onDraining(): void; close(): Promise<void> },
): void {
  channel.hear(drainingNews, onDraining)
  channel.hear(endNews, () => {
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  })
}
