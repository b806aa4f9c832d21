/** Servers of one release after the other, on the same data, secrets and addresses. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedEngine } from '../../../shared/platform/embedded/embedded.ts'
import { answering, type ChildServer, type startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import type { OpenBackend } from '../../support/stores/backends.ts'
import { type TestServer, testServer } from '../../support/worlds/stack.ts'

/** One auth server and one deal server that run. */
export interface Servers {
  readonly auth: TestServer
  readonly deal: TestServer
}

/** Where servers keep their data. */
export interface Installation extends Servers {
  /** The settings of all servers. */
  readonly environment: Readonly<Record<string, string>>
  /** Starts both servers of one release, and waits until they are ready. */
  start(startServer: typeof startChild): Promise<void>
  /** Ends both as an operator does, and expects that they end well. */
  stop(): Promise<void>
  /** Runs one statement while no server runs. */
  write(statement: string): Promise<void>
  /** What those that ran last have written. */
  output(): string
  close(): Promise<void>
}

/** Makes an empty installation; `alone` is false for both servers in one process, on the embedded defaults. */
export async function openInstallation(openBackend: OpenBackend, alone: boolean): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-releases-'))
  const backend = alone ? await openBackend() : undefined
  const [auth, deal] = [testServer(await freePort()), testServer(await freePort())]
  const environment = {
    ...backend?.environment,
    DATA_DIR: join(folder, 'data'),
    KEYS_DIR: join(folder, 'keys'),
    KEY_BITS: '2048',
    SECRETS_KEY: Buffer.alloc(32, 7).toString('base64url'),
    SERVICE_SECRET: 's'.repeat(43),
    AUTH_PORT: String(auth.port),
    DEAL_PORT: String(deal.port),
    AUTH_PUBLIC_ORIGIN: auth.url,
    DEAL_PUBLIC_ORIGIN: deal.url,
    AUTH_URL: auth.url,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
    WEBHOOK_TIMEOUT: '2',
    WEBHOOK_RETRY_SECONDS: '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20',
    LOG_FORMAT: 'json',
  }
  let running: ChildServer[] = []
  const programs = alone ? ['auth-server/main.ts', 'deal-server/main.ts'] : ['start.ts']
  return {
    auth,
    deal,
    environment,
    start: async (startServer) => {
      const options = { environment, arguments: alone ? [] : ['--no-demo'] }
      running = programs.map((program) => startServer(program, options))
      const [first, last = first] = running
      if (first && last)
        await Promise.all([answering(`${auth.url}/readyz`, first), answering(`${deal.url}/readyz`, last)])
    },
    stop: async () => {
      const codes = await Promise.all(running.map((server) => server.end('SIGTERM')))
      if (codes.some((code) => code !== 0)) throw new Error(`servers ended with ${codes.join(', ')}`)
    },
    write: async (statement) => {
      const engine = backend ? undefined : await openEmbeddedEngine(join(folder, 'data/postgres'))
      const database = backend?.openDatabase() ?? engine?.database()
      await database?.write(statement)
      await database?.close()
      await engine?.close()
    },
    output: () => running.map((server) => server.output()).join(''),
    close: async () => {
      for (const server of running) await server.end('SIGKILL')
      await backend?.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
