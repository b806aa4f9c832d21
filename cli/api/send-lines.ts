/** `keyhold api POST --lines`: a request for each line (docs/operations/changes.md#a-request-for-each-line). */
import { open } from 'node:fs/promises'
import type { KeyholdProblem } from '../../client/src/index.ts'
import { linesOf, textsOf } from '../../shared/platform/files/lines.ts'
import { printable } from '../../shared/platform/terminal/printable.ts'
import type { Report } from '../../shared/platform/terminal/report.ts'
import type { CallerPorts } from '../context/ports.ts'
import { endedLogin } from '../login/login-file.ts'
import { fetchPatiently } from '../transfer/deal-server.ts'
import { counted, createProgress } from '../transfer/progress.ts'
import { type ApiRequest, unreadable } from './request.ts'

/** Requests under way at once. */
const parallel = 16
const maxLineLength = 256 * 1024
/** How long to go on while the server is away. */
const patienceMs = 300_000

/** Which lines are sent. */
export interface LinesOptions {
  /** A file; `-` for standard input. */
  readonly input: string
  /** The number of the first line, from 1. */
  readonly from: number
}

/** Sends each line as the body of this request. @throws what ends the whole, after the counts are printed */
export async function sendLines(request: ApiRequest, options: LinesOptions, ports: CallerPorts): Promise<Report> {
  const { streams, warn } = ports
  const lines = await openLines(options, streams.input)
  const keyhold = await ports.connect()
  const signal = ports.interrupted()
  signal.addEventListener('abort', () => lines.stop(signal.reason))
  const progress = createProgress({ stream: streams.errors, total: undefined, unit: 'lines' })
  const counts = { created: 0, thereAlready: 0, refused: 0 }
  let failure: unknown

  // Ctrl-C ends the waiting for a server that is away, and no request under way.
  const server = {
    fetch: (path: string, init?: RequestInit) => keyhold.fetch(request.server, path, { ...init, signal: null }),
  }
  const send = async ({ number, body }: Line): Promise<keyof typeof counts> => {
    const { path, init } = request
    try {
      await fetchPatiently(server, { path, init: { ...init, body } }, { patienceMs, signal })
      return 'created'
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (error.status === 409 && error.code.endsWith('-exists')) return 'thereAlready'
      warn(`Line ${number}: ${printable(reasonOf(error))}`)
      return 'refused'
    }
  }
  const sendSome = async () => {
    for (let line = await lines.next(); line && failure === undefined; line = await lines.next()) {
      signal.throwIfAborted()
      counts[await send(line)] += 1
      lines.end(line)
      const { created, thereAlready, refused } = counts
      progress.update({ done: 0, rows: created + thereAlready + refused })
    }
  }
  const onFailure = (error: unknown) => {
    failure ??= error
  }
  await Promise.all(Array.from({ length: parallel }, () => sendSome().catch(onFailure)))
  const { created, thereAlready, refused } = counts
  const text = `${counted(created)} created, ${counted(thereAlready)} there already, ${counted(refused)} refused.`
  if (failure === undefined) return { json: counts, text, exitCode: refused > 0 ? 1 : 0 }
  lines.stop()
  warn(`${text} Go on with --from ${lines.firstOpen()}.`)
  throw failure
}

/** Says no to this line, and not to all. */
function isRefusal(error: unknown): error is KeyholdProblem {
  const { name, status, code } = error as KeyholdProblem
  if (name !== 'KeyholdProblem' || status === 401 || endedLogin.includes(code)) return false
  return status >= 400 && status < 500 && status !== 429
}

const reasonOf = ({ message, errors }: KeyholdProblem): string =>
  errors.map((one) => `${one.pointer}: ${one.message} (${one.code})`).join(' ') || message

interface Line {
  readonly number: number
  readonly body: string
}

/** The lines in which something is, and which of them are under way. */
async function openLines({ input, from }: LinesOptions, standardInput: CallerPorts['streams']['input']) {
  const file = input === '-' ? undefined : await open(input).catch(unreadable(input))
  const stream = file?.createReadStream() ?? standardInput
  const underWay = new Set<number>()
  let number = 0
  async function* read(): AsyncGenerator<Line> {
    for await (const body of linesOf(textsOf(stream), maxLineLength)) {
      number += 1
      if (number < from || body.trim() === '') continue
      underWay.add(number)
      yield { number, body }
    }
  }
  const reading = read()
  return {
    next: async (): Promise<Line | undefined> => (await reading.next()).value,
    end: (line: Line) => underWay.delete(line.number),
    /** The first line whose outcome is not known. */
    firstOpen: () => (underWay.size > 0 ? Math.min(...underWay) : Math.max(from, number + 1)),
    stop: (reason?: Error) => void stream.destroy(reason),
  }
}
