/**
 * A process with the listener of the servers, and nothing behind it: PORT and DRAIN_SECONDS; it says `listening` when
 * it does.
 */
import { systemClock as clock } from '../../../shared/platform/clock.ts'
import { Draining } from '../../../shared/platform/http/server/drain.ts'
import { healthRoutes } from '../../../shared/platform/http/server/health.ts'
import { listen } from '../../../shared/platform/http/server/listen.ts'
import { createApp } from '../../../shared/platform/http/server/routes.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { closeOnSignal } from '../../../shared/platform/process/process.ts'
import { sharedProblems } from '../../../shared/protocol/problems/both-servers.ts'

const [port = 0, drainSeconds = 0] = process.argv.slice(2).map(Number)
const ids = createIdSource(clock)
const log = createLog({ level: 'silent', format: 'json' })
const draining = new Draining()
const origin = 'http://server.test'
const app = createApp({
  routes: healthRoutes([], draining),
  problems: sharedProblems,
  schemes: [],
  origin,
  clock,
  ids,
  log,
  transport: { trustProxy: { hops: 0 }, allowInsecureHttp: false },
})
const listening = await listen({
  app,
  host: '127.0.0.1',
  port,
  origin,
  publicOrigins: {},
  problems: sharedProblems,
  ids,
  log,
})
process.stdout.write('listening\n')
closeOnSignal(log, async () => {
  await draining.begin(drainSeconds)
  await listening.drain()
})
