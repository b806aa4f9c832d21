/** How long this process, with the servers in it, was held up: by itself, or by a machine that is busy elsewhere. */

const tickMs = 10
const holdUps: { readonly until: number; readonly ms: number }[] = []
let tickedAt = performance.now()

const sinceTick = (): number => Math.max(0, performance.now() - tickedAt - tickMs)

setInterval(() => {
  const ms = sinceTick()
  tickedAt = performance.now()
  if (ms > tickMs) holdUps.push({ until: tickedAt, ms })
}, tickMs).unref()

/** The longest hold-up from now on, in milliseconds. A busy machine adds it to every time that a test measures. */
export function watchHoldUps(): () => number {
  const startedAt = performance.now()
  return () => Math.max(sinceTick(), ...holdUps.filter(({ until }) => until > startedAt).map(({ ms }) => ms))
}

/** The processor time that this process needs for some work, in milliseconds. A busy machine adds little to it. */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/**
 * News takes so many turns, at the most, in processes that share the machine: to see what changed, to tell, to ask, to
 * answer.
 */
const turns = 4

/** From now on: a promised time, and what the machine has added to it, in milliseconds. */
export function allowHoldUps(): (ms: number) => number {
  const heldUpMs = watchHoldUps()
  return (ms) => ms + turns * heldUpMs()
}
