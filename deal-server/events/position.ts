/**
 * The position of an event: how many events come before it in the log, and itself. It has no gap, and never changes
 * (docs/deal-model.md#event-order). This file alone makes, compares and reads positions.
 */
import { type History, markOf } from '../../shared/platform/history/history.ts'

/** A place in the order of the log. */
export interface Place {
  /** The position of the last event up to there. */
  readonly position: number
  /** The id of that event, where it is known. */
  readonly id?: string | undefined
  /**
   * The history whose log has that event; undefined before all events, and where it is not known. In another history,
   * another server took over, and the position may stand for another event.
   */
  readonly history?: History | undefined
}

/** The place before all events. */
export const beginning: Place = { position: 0 }

/** True when `a` comes first. */
export const isBefore = (a: Place, b: Place): boolean => a.position < b.position

/** A history in which slices were made. */
export interface LogHistory {
  readonly history: History
  /** The last position that was there when it began. */
  readonly beginsAfter: number
}

/** The mark of a history in positions and cursors. */
export const positionMark = (history: History): string => markOf(`positions on ${history}`)

/**
 * True when this place means the same in the history with this mark: it was there before the next one began. A
 * position of an event that was lost is given out again.
 */
export const wasThereIn = (mark: string, { position }: Place, histories: readonly LogHistory[]): boolean =>
  histories.some(
    ({ history }, index) =>
      positionMark(history) === mark && position <= (histories[index + 1]?.beginsAfter ?? Number.POSITIVE_INFINITY),
  )

/** A position as clients see it: the number, a hyphen, and the mark of the history where it is known. */
export const markedPosition = ({ position, history }: Place): string =>
  history === undefined ? String(position) : `${position}-${positionMark(history)}`

/** A position that a client brings back. Without a mark, the number is one of the present history. */
export interface GivenPosition {
  readonly position: number
  readonly mark: string | undefined
}

const positionPattern = /^(0|[1-9]\d{0,14})(?:-([0-9a-f]{12}))?$/

/** Reads a position; undefined for other text. */
export function parsePosition(text: string): GivenPosition | undefined {
  const [, position, mark] = positionPattern.exec(text) ?? []
  return position === undefined ? undefined : { position: Number(position), mark }
}
