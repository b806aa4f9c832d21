/** What a batch tells of each row. */
import type { RowCommand } from './rows.ts'

/** How a row ended. */
export type RowOutcome =
  | { readonly is: 'done'; readonly replayed: boolean }
  | { readonly is: 'refused'; readonly status: number; readonly code: string; readonly reason: string }

/** One line of the response (docs/contract/deals.md#batches). */
export interface BatchOutcome {
  readonly line: number
  readonly status: number
  readonly replayed?: boolean
  readonly retryAfter?: number
  readonly problem?: {
    readonly code: string
    readonly detail: string
    readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly message: string }[]
  }
}

/** The id of the deal that a command names, in lower case; undefined when the server chooses it. */
export function dealOf({ deal, params }: RowCommand): string | undefined {
  const { id, deal: named } = Object(params) as { id?: unknown; deal?: unknown }
  const name = [deal, id, named].find((one) => typeof one === 'string')
  return name === undefined ? undefined : String(name).toLowerCase()
}

/** How the row of an outcome ended. */
export function rowOutcome({ status, replayed = false, problem }: BatchOutcome): RowOutcome {
  if (!problem) return { is: 'done', replayed }
  const { code, detail, errors = [] } = problem
  const members = errors.map(({ pointer, message }) => `${pointer.replace(/^\/params\//, '')}: ${message}`)
  return { is: 'refused', status, code, reason: members.length > 0 ? members.join(' ') : detail }
}
