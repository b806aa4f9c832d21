/** Servers as processes of their own, as an operator starts them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compiled } from './compiled.ts'

const root = join(import.meta.dirname, '../../..')

/** How long a process may take to start or to end: tests share two cores. */
const patienceMs = 90_000

export interface ChildServer {
  readonly pid: number
  /** All that it has written to both outputs so far. */
  output(): string
  /** Sends a signal and resolves to the exit code when it has ended; null when a signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>
  /** Resolves to the exit code when it has ended by itself. */
  ended(): Promise<number | null>
}

export interface ChildOptions {
  /** The whole environment but for what Node.js itself needs. */
  readonly environment: Readonly<Record<string, string>>
  readonly arguments?: readonly string[]
  readonly workingDirectory?: string
}

/** Starts a file of the project, such as `start.ts`, in its compiled form. */
export const startChild = (file: string, options: ChildOptions): ChildServer => startFile(compiled(file), options)

/** The embedded engine is WebAssembly; to compile it well takes longer than most of these processes live. */
const quickly = '--liftoff-only'

/** Starts a program of JavaScript. */
export const startFile = (path: string, options: ChildOptions): ChildServer =>
  start([process.execPath, quickly, path, ...(options.arguments ?? [])], options)

/**
 * Runs a script of `package.json` as at a terminal: what ends it is sent to all its processes at once, as Ctrl-C is.
 */
export const startScript = (script: string, options: ChildOptions): ChildServer =>
  start(['npm', 'run', script], { ...options, isGroup: true })

function start(
  [command = '', ...parameters]: string[],
  { environment, workingDirectory = root, isGroup = false }: ChildOptions & { isGroup?: boolean },
): ChildServer {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(command, parameters, {
    env: { PATH, HOME, ...environment },
    cwd: workingDirectory,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isGroup,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const closed = once(child, 'close')
  const { pid = 0 } = child
  return {
    pid,
    output: () => output,
    end: async (signal) => {
      if (child.exitCode === null && child.signalCode === null) process.kill(isGroup ? -pid : pid, signal)
      return exitCode(child, closed)
    },
    ended: () => exitCode(child, closed),
  }
}

async function exitCode(child: ChildProcess, closed: Promise<unknown>): Promise<number | null> {
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  await closed
  clearTimeout(timer)
  return child.exitCode
}

/** Resolves when `url` answers 200. @throws Error with the child's output when it does not */
export async function answering(url: string, child: ChildServer): Promise<void> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(50)) {
    const answer = await fetch(url).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.status === 200) return
  }
  throw new Error(`${url} does not answer: ${child.output()}`)
}
