/** The metrics of a machine: those of the primary process and of all its workers in one text. */
import { withDeadline } from '../concurrency/deadline.ts'
import type { Metrics, MetricValues } from '../metrics/metrics.ts'
import { sumCounts, sumText } from '../metrics/sum-metrics.ts'
import { type Channel, defineCall, defineNews } from './channel.ts'
import type { Member, Workers } from './primary.ts'

/** The metrics of one worker. */
const valuesCall = defineCall<undefined, MetricValues>('worker-metrics')
/** What a worker that ends has counted. */
const lastValuesNews = defineNews<MetricValues>('last-metrics')
/** The text for a worker that is asked for `/metrics`. */
const textCall = defineCall<undefined, string>('machine-metrics')

/** How long a worker may take, in milliseconds. Then its values of the last reading are shown. */
const answerWithinMs = 1000

/**
 * Makes `own`, in the primary process, those of the machine. Counts of workers that have ended stay in the sums: of one
 * that was killed, as they were at the last reading.
 */
export function sumOfMachine(
  workers: Pick<Workers, 'answer' | 'onJoin' | 'members' | 'onLeave'>,
  own: Metrics,
): Metrics {
  const last = new Map<number, MetricValues>()
  let ended: Promise<MetricValues> = Promise.resolve([])
  const read = async ({ number, channel }: Member) => {
    try {
      last.set(number, await withDeadline(channel.call(valuesCall, undefined), answerWithinMs))
    } catch {
      // It is busy, or has just ended.
    }
  }
  workers.onJoin(({ number, channel }) => channel.hear(lastValuesNews, (values) => void last.set(number, values)))
  workers.onLeave(({ number }) => {
    const values = last.get(number) ?? []
    last.delete(number)
    ended = ended.then((before) => sumCounts([before, values]))
  })
  const text = async () => {
    await Promise.all(workers.members().map(read))
    return sumText([await own.values(), await ended, ...last.values()])
  }
  workers.answer(textCall, text)
  return { ...own, text }
}

/** Gives the values of `own`, in a worker, to the primary process, and shows those of the machine. */
export function metricsOfWorker(channel: Channel, own: Metrics): Metrics {
  channel.answer(valuesCall, () => own.values())
  return { ...own, text: () => channel.call(textCall, undefined) }
}

/** Tells the primary process what this worker has counted in its life. Never rejects. */
export async function tellLastMetrics(channel: Channel, own: Metrics): Promise<void> {
  const values = await own.values().catch(() => [])
  await channel.tell(lastValuesNews, values)
}
