import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** A process that was started by the benchmark. */
export interface Running {
  readonly pid: number
  readonly port: number
  /** From the start of the process until it was ready, in milliseconds. */
  readonly readyAfterMs: number
  /** Ends the process and waits until it has ended. */
  stop(): Promise<void>
}

/** A server to start. */
export interface ServerProcess {
  /** The command and its arguments; a file of JavaScript is run by this Node.js. */
  readonly command: readonly string[]
  readonly port: number
  readonly variables?: Readonly<Record<string, string>>
  /** The path that answers 200 when the server is ready. */
  readonly readyPath?: string
}

/** How long a server may take to start or to end. */
const patienceMs = 120_000

/** The functions that end the running servers. A measurement may have many, so they share one listener. */
const endWithThisProcess = new Set<() => void>()
process.once('exit', () => {
  for (const end of endWithThisProcess) end()
})

/**
 * Starts a server and waits until it is ready. Its log lines go to /dev/null, its errors to those of this process.
 *
 * @throws Error when the process ends before it is ready
 */
export async function startServer({ command, port, variables = {}, readyPath = '/readyz' }: ServerProcess) {
  const [program = '', ...words] = command
  const { PATH = '', HOME = '' } = process.env
  const started = performance.now()
  const [file, parameters] = /\.m?js$/.test(program) ? [process.execPath, [program, ...words]] : [program, words]
  const child = spawn(file, parameters, {
    cwd: join(import.meta.dirname, '../..'),
    env: { PATH, HOME, ...variables },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  })
  const closed = once(child, 'close')
  const { pid = 0 } = child
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const end = () => {
    if (!hasEnded()) process.kill(-pid, 'SIGTERM')
  }
  endWithThisProcess.add(end)
  while (!(await isReady(`http://127.0.0.1:${port}${readyPath}`))) {
    if (hasEnded()) throw new Error(`${command.join(' ')} ended with ${child.exitCode}.`)
    if (performance.now() - started > patienceMs) throw new Error(`${command.join(' ')} is not ready.`)
    await pause(5)
  }
  const running: Running = {
    pid,
    port,
    readyAfterMs: performance.now() - started,
    stop: async () => {
      endWithThisProcess.delete(end)
      end()
      await closed
      // `npm` ends before the server that it started.
      while (isRunning(-pid)) await pause(5)
    },
  }
  return running
}

/** Whether there is still a process of this id, or of this group when the id is negative. */
function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0)
  } catch {
    return false
  }
}

const isReady = (url: string): Promise<boolean> =>
  fetch(url, { headers: { connection: 'close' } }).then(
    async (response) => {
      await response.arrayBuffer()
      return response.ok
    },
    () => false,
  )

/** Makes a function that finds free ports of the loopback interface, from `first` on. It gives none twice. */
export function portsFrom(first: number): () => Promise<number> {
  let next = first
  return async () => {
    while (!(await isFree(next))) next += 1
    next += 1
    return next - 1
  }
}

const isFree = (port: number): Promise<boolean> => {
  const probe = createServer()
  return once(probe.listen(port, '127.0.0.1'), 'listening').then(
    async () => {
      probe.close()
      await once(probe, 'close')
      return true
    },
    () => false,
  )
}
