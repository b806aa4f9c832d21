/**
 * Statements with another one in front of them or behind them, sent together: no round trip more. Each is a statement
 * of its own, so its snapshot is younger than the result of the one in front.
 */
import type { Position, PositionRow } from '../history/position.ts'
import type { PostgresClient } from './postgres-client.ts'
import type { PostgresSession } from './postgres-session.ts'

/** A statement that gives a position, and where it is sent. */
export interface Frame {
  readonly text: string
  /** True: in front as well as behind. */
  readonly isAround: boolean
  /** Called before the result of the framed statement is given. `before` is undefined unless `isAround`. */
  note(after: Position | undefined, before: Position | undefined): void
}

/** What runs statements. */
export type Runner = Pick<PostgresSession, 'run' | 'discard'>

/** Without `simple: false`, postgres.js never prepares a statement without parameters. Its types lack the option. */
export const prepared = { prepare: true, simple: false }

/** The session with `frame` on each statement; the session itself without a frame. */
export const framed = (session: Runner, frame: Frame | undefined): Runner =>
  frame === undefined
    ? session
    : { run: (work) => session.run((client) => sendFramed(client, frame, work)), discard: () => session.discard() }

async function sendFramed<Result>(
  client: PostgresClient,
  { text, isAround, note }: Frame,
  work: (client: PostgresClient) => PromiseLike<Result>,
): Promise<Result> {
  const ask = () => client.unsafe<PositionRow[]>(text, [], prepared)
  // A query of postgres.js is sent when somebody waits for it, and `all` begins with the first.
  const [before, result, after] = await Promise.all([isAround ? ask() : undefined, work(client), ask()])
  note(after[0]?.position ?? undefined, before?.[0]?.position ?? undefined)
  return result
}
