import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the range that systems give out by themselves. The nodes of a Redis Cluster also listen on their port + 10,000.
 */
const [lowest, count, busOffset] = [11_000, 10_000, 10_000]

/**
 * Two files of tests run at once: each worker takes ports of its own, and none twice, for what listens on them does so
 * a while later.
 */
const workers = 8
const share = count / workers
const first = lowest + (Number(process.env.VITEST_POOL_ID ?? 0) % workers) * share
const start = Math.floor(Math.random() * share)
let taken = 0

/** A free port of the loopback interface. */
export async function freePort(): Promise<number> {
  while (taken < share) {
    const port = first + ((start + taken) % share)
    taken += 1
    if ((await isFree(port)) && (await isFree(port + busOffset))) return port
  }
  throw new Error('no free port')
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  const bound = once(probe.listen(port, '127.0.0.1'), 'listening')
  return bound.then(
    async () => {
      await new Promise((resolve) => probe.close(resolve))
      return true
    },
    () => false,
  )
}
