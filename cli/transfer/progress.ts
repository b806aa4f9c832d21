/** How far a transfer has come: a bar at a terminal, a line now and then elsewhere. */
import { SingleBar } from 'cli-progress'
import { systemClock } from '../../shared/platform/clock.ts'

/** Shows progress. */
export interface Progress {
  /** `done` of `total`, in bytes where a total is known; and the number of rows. */
  update(at: { readonly done: number; readonly rows: number }): void
  stop(): void
}

interface ProgressOptions {
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean }
  /** Undefined when it is not known. */
  readonly total: number | undefined
  /** Such as `rows`. */
  readonly unit: string
  /** Rows that an earlier run did: they are no part of the rate. */
  readonly rowsBefore?: number
}

const lineIntervalMs = 5_000

/** Begins to show progress. */
export function createProgress(options: ProgressOptions): Progress {
  const { stream, total, rowsBefore = 0 } = options
  const begun = systemClock.monotonic()
  const rateOf = (rows: number) => {
    const seconds = (systemClock.monotonic() - begun) / 1000
    return seconds < 0.5 ? 0 : Math.round((rows - rowsBefore) / seconds)
  }
  return stream.isTTY && total !== undefined ? bar(options, rateOf, total) : lines(options, rateOf)
}

function bar({ stream, unit }: ProgressOptions, rateOf: (rows: number) => number, total: number): Progress {
  const format = `{bar} {percentage}% | {rows} ${unit} | {rate}/s | {eta_formatted} left`
  const shown = new SingleBar({
    stream,
    format,
    hideCursor: true,
    clearOnComplete: false,
    etaBuffer: 50,
    fps: 4,
    barCompleteChar: '#',
    barIncompleteChar: '.',
  })
  shown.start(total, 0, { rows: 0, rate: 0 })
  return {
    update: ({ done, rows }) =>
      shown.update(Math.min(done, total), { rows: counted(rows), rate: counted(rateOf(rows)) }),
    stop: () => shown.stop(),
  }
}

function lines({ stream, total, unit }: ProgressOptions, rateOf: (rows: number) => number): Progress {
  let shownAt = systemClock.monotonic()
  return {
    update: ({ done, rows }) => {
      const now = systemClock.monotonic()
      if (now - shownAt < lineIntervalMs) return
      shownAt = now
      const part = total ? ` (${Math.floor((100 * Math.min(done, total)) / total)} %)` : ''
      stream.write(`${counted(rows)} ${unit}${part}, ${counted(rateOf(rows))} a second\n`)
    },
    stop: () => undefined,
  }
}

/** A number with commas between thousands. */
export const counted = (value: number): string => value.toLocaleString('en-US')
