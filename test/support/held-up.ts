import { monitorEventLoopDelay } from 'node:perf_hooks'

/**
 * From now on: how long this process, with the servers in it, was held up at most, in milliseconds. A machine that is
 * busy with something else adds this to every time that a test measures.
 */
export function watchHoldUps(): () => number {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  return () => delay.max / 1e6
}
