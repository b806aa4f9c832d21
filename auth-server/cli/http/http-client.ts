/** The HTTP client of the tool. Problem documents become refusals. Other failures become errors with a sentence. */
import * as z from 'zod'
import { OperationError, OperationFailed, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import { Interrupted } from '../../../shared/platform/terminal/terminal.ts'

/** One request. */
export interface RequestMessage<Received> {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query. `segment` encodes names and ids in it. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly token?: string
  /** Aborts the request. */
  readonly signal?: AbortSignal
  /** The schema of a successful response; `noContent` for 204. */
  readonly response: z.ZodType<Received>
}

/** Sends one request. @throws ProblemReceived, OperationFailed, WrongUsage, Interrupted */
export type Send = <Received>(message: RequestMessage<Received>) => Promise<Received>

/** The schema of a response without a body. */
export const noContent = z.undefined()

/** A refusal by the server, with its reason. */
export class ProblemReceived extends OperationError {
  /** The problem's `code`. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The longest time for a response, in milliseconds. */
const deadlineMs = 30_000

const problemSchema = z.object({
  code: z.string(),
  detail: z.string(),
  errors: z.array(z.object({ pointer: z.string(), message: z.string() })).optional(),
})

/** Encodes a name or an id as one segment of a path. @throws WrongUsage for a text that cannot be a segment */
export function segment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new WrongUsage(`'${text}' cannot be the name or id of anything here.`)
  return encodeURIComponent(text)
}

/** Creates the client of the server at `authUrl`. */
export function createHttpClient({ authUrl, fetch }: { authUrl: string; fetch: typeof globalThis.fetch }): Send {
  return async ({ method = 'GET', path, body, token, signal, response: schema }) => {
    const request = {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
    } as const
    const response = await withNetworkErrors(authUrl, () =>
      withDeadline(signal, async (ending) => {
        const response = await fetch(authUrl + path, { ...request, signal: ending })
        return { status: response.status, headers: response.headers, text: await response.text() }
      }),
    )
    const value = parse(response.text)
    if (response.status < 200 || response.status > 299) throw refusal(authUrl, { ...response, value })
    const { success, data } = schema.safeParse(value)
    if (success) return data
    throw new OperationFailed(`What ${authUrl} answers to ${method} ${pathOf(path)} is not an answer of this version.`)
  }
}

/** Runs `work` with a signal that this signal or the deadline aborts. */
async function withDeadline<Result>(
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController()
  const giveUp = () => ending.abort(signal?.reason)
  const tooLate = setTimeout(() => ending.abort(new DOMException('too late', 'TimeoutError')), deadlineMs)
  signal?.addEventListener('abort', giveUp)
  if (signal?.aborted) giveUp()
  try {
    return await work(ending.signal)
  } finally {
    clearTimeout(tooLate)
    signal?.removeEventListener('abort', giveUp)
  }
}

async function withNetworkErrors<Result>(authUrl: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Interrupted) throw error
    throw new OperationFailed(`The auth server at ${authUrl} cannot be reached: ${reasonOf(error)}`)
  }
}

/** The reason of a failed fetch. It stands in `cause`, which has a `code` also for a host with several addresses. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s.`
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)) {
    return `its certificate is not trusted (${code}). Name the authority's PEM file in NODE_EXTRA_CA_CERTS.`
  }
  return `${code || cause.message}.`
}

interface Refusal {
  readonly status: number
  readonly headers: Headers
  readonly value: unknown
}

function refusal(authUrl: string, { status, headers, value }: Refusal): Error {
  const { success, data } = problemSchema.safeParse(value)
  if (!success) return new OperationFailed(`${authUrl} answers ${status} without saying why: is it the auth server?`)
  const errors = (data.errors ?? []).map(({ pointer, message }) => `\n  ${pointer}: ${message}`)
  const wait = headers.get('retry-after')
  const later = wait === null ? '' : ` Try again in ${wait} s.`
  return new ProblemReceived(data.code, `${data.detail} (${data.code})${later}${errors.join('')}`)
}

const pathOf = (path: string): string => path.replace(/\?.*$/, '')

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
