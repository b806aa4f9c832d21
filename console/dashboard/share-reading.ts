/**
 * One reading for all readers. What the dashboard shows of deals is the same for everybody who may read deals, and
 * reads many of them: one reading serves all readers of that time, and those who come soon after it.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { DealApi } from '../frame/deal-api.ts'

/** A result is kept for this many times as long as reading it took: a small database shows each change at once. */
const keptTimes = 10

/** Reads, or gives the last result. Undefined when the reading was refused, as when it takes too long. */
export type SharedReading<Result> = (api: DealApi, caller: Pick<Caller, 'rights'>) => Promise<Result | undefined>

/** Shares the results of `read` among callers who read all deals. Who reads own deals alone gets a reading alone. */
export function shareReading<Result>(clock: Clock, read: (api: DealApi) => Promise<Result>): SharedReading<Result> {
  let last: { readonly result: Promise<Result | undefined>; until: number } | undefined
  return (api, { rights }) => {
    if (!rights.has('deal.read')) return read(api).catch(() => undefined)
    const begun = clock.monotonic()
    if (last && begun < last.until) return last.result
    // The refusal of one reader, such as an ended session, does not refuse the others.
    const result = read(api).catch(() => undefined)
    const reading = { result, until: Number.POSITIVE_INFINITY }
    last = reading
    void result.then((found) => {
      const ended = clock.monotonic()
      reading.until = found === undefined ? ended : ended + keptTimes * (ended - begun)
    })
    return result
  }
}
