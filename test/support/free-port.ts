import { once } from 'node:events'
import { createServer } from 'node:net'

/** A free port of the loopback interface, below the range that systems give out by themselves. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = 23_000 + Math.floor(Math.random() * 9000)
    if (await isFree(port)) return port
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
