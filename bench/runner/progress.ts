import type { OnRound } from './compare.ts'

/** The line of progress on standard error. */
export interface Progress {
  /** Number `index` of `count` measurements begins. */
  begin(name: string, index: number, count: number): void
  /** A round of it begins. */
  readonly round: OnRound
  /** Removes the line. */
  clear(): void
}

/** On a terminal one line that changes; elsewhere a new line for each round. */
export function showProgress({ isTTY, write }: { isTTY: boolean; write(text: string): void }): Progress {
  const started = performance.now()
  let current = { name: '', index: 0, count: 0, started }
  const show = (text: string) => write(isTTY ? `\r\x1b[K${text}` : `${text}\n`)
  return {
    begin: (name, index, count) => {
      current = { name, index, count, started: performance.now() }
      show(`${index + 1} of ${count}: ${name}, preparation`)
    },
    round: (done, all) => {
      const { name, index, count } = current
      const perRound = done === 0 ? Number.NaN : (performance.now() - current.started) / done
      const average = (current.started - started + perRound * all) / (index + 1)
      const left = perRound * (all - done) + average * (count - index - 1)
      const time = done === 0 ? '' : `, about ${minutes(left)} left`
      show(`${index + 1} of ${count}: ${name}, ${done} of ${all} rounds done${time}`)
    },
    clear: () => {
      if (isTTY) write('\r\x1b[K')
    },
  }
}

const minutes = (ms: number): string => {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`
}
