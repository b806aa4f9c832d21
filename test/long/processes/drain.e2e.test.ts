/** The end of a server that is told to stop while it is busy. */
import { Agent, get } from 'node:http'
import { expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { answering, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'

const rounds = campaign({ short: 1, long: 20 })
const clients = 32

const start = async (drainSeconds: number) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = startChild('test/support/processes/listening-child.ts', {
    environment: {},
    arguments: [String(port), String(drainSeconds)],
  })
  await answering(`${url}/healthz`, child)
  return { url, child }
}

/** The status of an answer that came whole. @throws Error as Node.js has it */
const ask = (url: string, agent: Agent | false): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = get(url, { agent }, (answer) => {
      answer.on('error', reject).on('end', () => resolve(answer.statusCode ?? 0))
      answer.resume()
    })
    request.on('error', reject)
  })

const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'

/**
 * Asks over and over on a connection that is kept open, until no new one is taken. Counts what was answered, and what
 * was not.
 */
async function keepAsking(url: string, tally: { answered: number; failures: string[] }): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (;;) {
    try {
      if ((await ask(url, agent)) === 200) tally.answered += 1
    } catch (error) {
      if (!isRefused(error)) tally.failures.push(String(error))
      if (isRefused(error) || tally.failures.length > 100) break
    }
  }
  agent.destroy()
}

it('answers every request that was on its way when it is told to end', async () => {
  const tally = { answered: 0, failures: [] as string[] }
  for (let round = 0; round < rounds; round += 1) {
    const { url, child } = await start(0)
    const before = tally.answered
    const asking = Array.from({ length: clients }, () => keepAsking(`${url}/healthz`, tally))
    await expect.poll(() => tally.answered - before).toBeGreaterThan(500)
    expect(await child.end('SIGTERM')).toBe(0)
    await Promise.all(asking)
  }
  expect(tally.failures).toEqual([])
  expect(tally.answered).toBeGreaterThan(500 * rounds)
  if (rounds > 5) process.stdout.write(`${tally.answered} answered\n`)
}, 600_000)

it('answers one more request on a connection that was kept open, and closes it then', async () => {
  const { url, child } = await start(0)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  await ask(`${url}/healthz`, agent)
  const ended = child.end('SIGTERM')
  await expect.poll(() => ask(`${url}/healthz`, false).catch(isRefused)).toBe(true)
  const connection = await new Promise((resolve, reject) => {
    get(`${url}/healthz`, { agent }, (answer) => resolve(answer.resume().headers.connection)).on('error', reject)
  })
  expect(connection).toBe('close')
  expect(await ended).toBe(0)
  agent.destroy()
})

it('ends soon though a connection is kept open on which nothing is sent', async () => {
  const { url, child } = await start(0)
  const agent = new Agent({ keepAlive: true })
  await ask(`${url}/healthz`, agent)
  const startedAt = performance.now()
  expect(await child.end('SIGINT')).toBe(0)
  // Ten seconds are what a request may take that is under way.
  expect(performance.now() - startedAt).toBeLessThan(8_000)
  agent.destroy()
})

it('serves for DRAIN_SECONDS while /readyz says that it is about to end', async () => {
  const { url, child } = await start(3)
  expect(await ask(`${url}/readyz`, false)).toBe(200)
  const ended = child.end('SIGTERM')
  await expect.poll(() => ask(`${url}/readyz`, false)).toBe(503)
  expect(await ask(`${url}/healthz`, false)).toBe(200)
  expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: 'draining' })
  expect(await ended).toBe(0)
})
