/**
 * The position of an event: how many events come before it in the log, and itself. It has no gap, and never changes
 * (docs/deal-model.md#event-order). This file alone makes, compares and reads positions.
 */
import { type History, markOf } from '../../shared/platform/history/history.ts'

/**
 * The history that positions belong to. When it changes, another server took over, and positions may stand for other
 * events than before.
 */
export type TimelineId = History

/** A place in the order of the log. */
export interface Place {
  /** The position of the last event up to there. */
  readonly position: number
  /** The id of that event, where it is known. */
  readonly id?: string | undefined
}

/** The place before all events. */
export const beginning: Place = { position: 0 }

/** True when `a` comes first. */
export const isBefore = (a: Place, b: Place): boolean => a.position < b.position

/** A timeline on which slices were made. */
export interface LogTimeline {
  readonly timeline: TimelineId
  /** The last position that was there when it began. */
  readonly beginsAfter: number
}

/**
 * The mark of a timeline in positions and cursors. It differs from the one of release 0.2.0, whose positions counted
 * otherwise: those are outdated.
 */
export const positionMark = (timeline: TimelineId): string => markOf(`positions on ${timeline}`)

/** True for the mark in positions of release 0.2.0 on one of these timelines. */
export const isOfRelease020 = (mark: string | undefined, timelines: readonly LogTimeline[]): boolean =>
  timelines.some(({ timeline }) => markOf(timeline) === mark)

/**
 * True when this place means the same on the timeline with this mark: it was there before the next one began. A
 * position of an event that was lost is given out again.
 */
export const wasThereOn = (mark: string, { position }: Place, timelines: readonly LogTimeline[]): boolean =>
  timelines.some(
    ({ timeline }, index) =>
      positionMark(timeline) === mark && position <= (timelines[index + 1]?.beginsAfter ?? Number.POSITIVE_INFINITY),
  )

/** A position as clients see it: the number, a hyphen, and the mark of the timeline. */
export const markedPosition = ({ position, timeline }: Place & { readonly timeline: TimelineId }): string =>
  `${position}-${positionMark(timeline)}`

/** A position that a client brings back. Without a mark, the number is one of the present timeline. */
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
