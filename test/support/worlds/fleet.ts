/**
 * Several servers of each kind that are restarted one by one with other settings, as operators do it: their ports stay.
 */
import { createLog, type Log } from '../../../shared/platform/log/log.ts'
import { secretsIn } from '../clients/http-client.ts'
import { freePort } from '../processes/free-port.ts'
import { preparedKeysDir } from '../processes/prepared-keys.ts'
import type { Backend, OpenBackend } from '../stores/backends.ts'
import { migrateBoth } from '../stores/migrate-both.ts'
import { createMovableClock } from './movable-clock.ts'
import {
  type Common,
  type StartedServer,
  startAuthServer,
  startDealServer,
  type TestServer,
  testServer,
} from './stack.ts'

/** One server of the fleet, whether or not it runs just now. */
export interface Member {
  readonly kind: 'auth' | 'deal'
  readonly server: TestServer
  /** Stops it, lets `meanwhile` run, and starts it with these settings beside those of the fleet. */
  restart(settings: Readonly<Record<string, string>>, meanwhile?: () => Promise<void>): Promise<void>
}

export interface Fleet {
  readonly auths: readonly Member[]
  readonly deals: readonly Member[]
  readonly members: readonly Member[]
  readonly backend: Backend
  /** The settings that all have in common. */
  readonly environment: Readonly<Record<string, string>>
  /** Closes everything. @throws Error when a log line holds a secret that was sent or received */
  close(): Promise<void>
}

export interface FleetOptions {
  readonly auths: number
  readonly deals: number
  /** What the servers are started with, and can be restarted without. */
  readonly settings: Readonly<Record<string, string>>
  /** What they have always. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts the servers, with the demo's users. */
export async function openFleet(openBackend: OpenBackend, options: FleetOptions): Promise<Fleet> {
  const backend = await openBackend()
  const database = backend.openDatabase()
  await migrateBoth(database)
  const logLines: string[] = []
  const log = createLog({ level: 'trace', format: 'json' }, { write: (line) => void logLines.push(line) })
  const authPorts = await ports(options.auths)
  const environment = {
    ...backend.environment,
    AUTH_PUBLIC_ORIGIN: `http://127.0.0.1:${authPorts[0]}`,
    DEAL_PUBLIC_ORIGIN: 'http://deals.test',
    KEYS_DIR: await preparedKeysDir(),
    ...options.environment,
  }
  const ground = { backend, clock: createMovableClock(), log, environment }
  const auths = authPorts.map((port) => createMember('auth', port, ground))
  const deals = (await ports(options.deals)).map((port) => createMember('deal', port, ground))
  const members = [...auths, ...deals]
  for (const { member } of members) await member.restart(options.settings)
  return {
    backend,
    environment,
    auths: auths.map(({ member }) => member),
    deals: deals.map(({ member }) => member),
    members: members.map(({ member }) => member),
    close: async () => {
      for (const { stop } of members.reverse()) await stop()
      await database.close()
      await backend.close()
      const leaked = secretsIn(logLines.join(''))
      if (leaked.length > 0) throw new Error(`secrets in the log: ${leaked.join(' ')}`)
    },
  }
}

const ports = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, () => freePort()))

function createMember(kind: Member['kind'], port: number, ground: Common & { readonly log: Log }) {
  let running: StartedServer | undefined
  const stop = async () => {
    await running?.close()
    running = undefined
  }
  const own = { [kind === 'auth' ? 'AUTH_PORT' : 'DEAL_PORT']: String(port) }
  const member: Member = {
    kind,
    server: testServer(port),
    restart: async (settings, meanwhile) => {
      await stop()
      await meanwhile?.()
      const common = { ...ground, environment: { ...ground.environment, ...own, ...settings } }
      running = await (kind === 'auth' ? startAuthServer(common) : startDealServer(common))
    },
  }
  return { member, stop }
}
