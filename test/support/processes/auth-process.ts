import { type Stack, type TestServer, testServer } from '../worlds/stack.ts'
import { answering, type ChildServer, startChild } from './child-server.ts'
import { freePort } from './free-port.ts'

/** An auth server that can be killed. */
export interface AuthProcess {
  readonly server: TestServer
  readonly child: ChildServer
}

/**
 * One more auth server of a stack on PostgreSQL and Redis, as a process of its own; clients see both under one origin.
 * It listens on this port, or on a free one. The stack must hash as costly as it does (`hashing`): each login would
 * otherwise replace the hash that the other server has just made.
 */
export async function startAuthProcess({ auth, environment }: Stack, at?: number): Promise<AuthProcess> {
  const port = at ?? (await freePort())
  const own = { AUTH_PORT: String(port), AUTH_PUBLIC_ORIGIN: auth.url, ISSUER: auth.url, LOG_LEVEL: 'warn' }
  const child = startChild('auth-server/main.ts', { environment: { ...environment, ...own } })
  await answering(`http://127.0.0.1:${port}/readyz`, child)
  return { server: testServer(port), child }
}
