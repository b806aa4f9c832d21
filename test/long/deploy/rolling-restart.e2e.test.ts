/** All servers are restarted one by one behind HAProxy, while clients call. Each server has two workers. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { type Reply, type Sent, send } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { hasProgram, read } from './tools.ts'

const callers = 8
const deals = campaign({ short: 2, long: 4 })
/** One auth server and all deal servers, or all servers. */
const restarted = campaign({ short: 1, long: 2 })
const kinds = ['auth', 'auth', ...Array.from({ length: deals }, () => 'deal' as const)] as const

/** One server behind the balancer, on a port that stays. */
interface Member {
  readonly kind: 'auth' | 'deal'
  readonly port: number
  child: ChildServer
}

const folder = mkdtempSync(join(tmpdir(), 'keyhold-rolling-'))
let stack: Stack
let origin: string
let members: Member[]
let proxy: ChildProcess | undefined

const call = (path: string, sent: Sent = {}): Promise<Reply> => send(`${origin}${path}`, sent)

async function start(kind: Member['kind'], port: number): Promise<ChildServer> {
  const settings = { TRUST_PROXY: '127.0.0.1/32', WORKERS: '2', DRAIN_SECONDS: '1', LOG_LEVEL: 'warn' }
  const addresses = { ISSUER: stack.auth.url, AUTH_URL: stack.auth.url }
  const own = { [kind === 'auth' ? 'AUTH_PORT' : 'DEAL_PORT']: String(port) }
  const environment = { ...stack.environment, ...settings, ...addresses, ...own }
  const child = startChild(`${kind}-server/main.ts`, { environment })
  await answering(`http://127.0.0.1:${port}/readyz`, child)
  return child
}

/** The rules of `deploy/haproxy/haproxy.cfg` without TLS, with more servers, and checks in quick succession. */
function configuration(port: number): string {
  const servers = (kind: string) =>
    members
      .filter((member) => member.kind === kind)
      .map((member, index) => `  server ${kind}-${index} 127.0.0.1:${member.port}`)
      .join('\n')
  return read('deploy/haproxy/haproxy.cfg')
    .replace(/frontend http[\s\S]*?\n\n/, '')
    .replace(/bind "\$\{KEYHOLD_HTTPS_BIND\}".*/, `bind 127.0.0.1:${port}`)
    .replace(/.*hdr\(host\),host_only.*\n/g, '')
    .replace(/"\$\{KEYHOLD_HOST\}"/g, '127.0.0.1')
    .replace(/ {2}server auth-1 .*/, servers('auth'))
    .replace(/ {2}server deal-1 .*\n.*/, servers('deal'))
    .replace('inter 2s', 'inter 200ms')
    .replace('timeout connect 2s', 'timeout connect 2s\n  timeout check 2s')
    .replace(/ resolvers names init-addr last,libc,none/, '')
}

describe.skipIf(!hasProgram('haproxy'))(
  `two auth servers and ${deals} deal servers of two workers each behind HAProxy`,
  () => {
    describePostgresAndRedis('are restarted one by one', (openBackend) => {
      beforeAll(async () => {
        stack = await openStack(openBackend, {})
        members = await Promise.all(
          kinds.map(async (kind) => {
            const port = await freePort()
            return { kind, port, child: await start(kind, port) }
          }),
        )
        const port = await freePort()
        origin = `http://127.0.0.1:${port}`
        const file = join(folder, 'haproxy.cfg')
        writeFileSync(file, configuration(port))
        let output = ''
        proxy = spawn('haproxy', ['-db', '-f', file], { env: { PATH: process.env.PATH } })
        for (const stream of [proxy.stdout, proxy.stderr]) stream?.on('data', (data) => (output += data))
        await eventually(async () => {
          for (const path of ['/me', '/rest/v1/deals']) expect((await call(path)).status, output).toBe(401)
        })
      })
      afterAll(async () => {
        if (proxy?.exitCode === null) {
          const ended = once(proxy, 'exit')
          proxy.kill('SIGKILL')
          await ended
        }
        await Promise.all((members ?? []).map(({ child }) => child.end('SIGKILL')))
        await stack?.close()
        rmSync(folder, { recursive: true, force: true })
      })

      it('without one failed request', async () => {
        const json = { username: 'alice', password: passwordOf('alice') }
        const login = await call('/login', { json })
        expect(login.status, login.text).toBe(200)
        const token = String(login.body.access_token)
        const failures: string[] = []
        let answered = 0
        let isOver = false
        const ask = async (path: string, sent: Sent, status: number) => {
          const reply = await call(path, { token, ...sent }).catch((error: unknown) => ({
            status: 0,
            text: String(error),
          }))
          if (reply.status === status) answered += 1
          else failures.push(`${path}: ${reply.status} ${reply.text}`)
        }
        const caller = async () => {
          while (!isOver) {
            const id = randomUUID()
            const headers = { 'idempotency-key': randomUUID() }
            await ask('/rest/v1/deals', { headers, json: { id, name: 'deal', price: 1 } }, 201)
            await ask(`/rest/v1/deals/${id}/hold`, { method: 'PUT', json: { reason: 'restart' } }, 200)
            await ask(`/rest/v1/deals/${id}`, {}, 200)
            await ask('/me', {}, 200)
            await pause(5)
          }
        }
        const calling = Array.from({ length: callers }, caller)
        for (const member of members.slice(2 - restarted)) {
          expect(await member.child.end('SIGTERM')).toBe(0)
          member.child = await start(member.kind, member.port)
        }
        isOver = true
        await Promise.all(calling)
        expect(failures).toEqual([])
        expect(answered).toBeGreaterThan(500)
      })
    })
  },
)
