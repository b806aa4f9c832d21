/** Sends batches of commands, and reads their outcomes. */
import type { TestServer } from '../worlds/stack.ts'
import type { Reply } from './http-client.ts'

/** One line of a response. */
export interface BatchOutcome {
  readonly line: number
  readonly id?: string
  readonly status: number
  readonly replayed?: boolean
  readonly command?: Readonly<Record<string, unknown>>
  readonly problem?: Readonly<Record<string, unknown>>
  readonly [member: string]: unknown
}

/** How a batch is sent. */
export interface BatchOptions {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Such as `?validateOnly=true`. */
  readonly query?: string
  readonly type?: string
}

/** Sends lines as they are; objects become JSON. */
export function sendLines(
  server: Pick<TestServer, 'send'>,
  lines: readonly unknown[],
  { token, headers, query = '', type = 'application/x-ndjson' }: BatchOptions,
): Promise<Reply> {
  const body = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  return server.send(`/commands${query}`, {
    method: 'POST',
    body,
    ...(token === undefined ? {} : { token }),
    headers: { 'content-type': type, ...headers },
  })
}

/** The outcomes in the lines of a response. */
export const outcomesOf = ({ text }: Pick<Reply, 'text'>): BatchOutcome[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as BatchOutcome)
