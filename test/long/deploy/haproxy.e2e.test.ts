import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Exchange, Reply, Sent } from '../../support/clients/http-client.ts'
import { send } from '../../support/clients/http-client.ts'
import { cookieSetBy } from '../../support/clients/pages/sign-in.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { selfSigned } from '../../support/processes/self-signed.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { hasProgram, root, run } from './tools.ts'

const configuration = join(root, 'deploy/haproxy/haproxy.cfg')
const folder = mkdtempSync(join(tmpdir(), 'keyhold-haproxy-'))
const { certPem, keyPem } = selfSigned()
let stack: Stack
let proxy: ChildProcess | undefined
let environment: Readonly<Record<string, string>>
let ports: { http: number; https: number }
let output = ''

const overTls: Exchange = (url, { method, headers, body }) =>
  new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers, ca: certPem, servername: 'localhost', agent: false },
      async (response) => {
        let text = ''
        for await (const chunk of response) text += chunk
        const fields = new Headers()
        for (let at = 0; at < response.rawHeaders.length; at += 2) {
          fields.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '')
        }
        resolve({ status: response.statusCode ?? 0, headers: fields, text: async () => text })
      },
    )
    sent.on('error', reject).end(body)
  })

const call = (path: string, sent: Sent = {}): Promise<Reply> =>
  send(`https://localhost:${ports.https}${path}`, sent, overTls)

const logIn = async (): Promise<string> => {
  const json = { username: 'alice', password: passwordOf('alice') }
  const reply = await call('/login', { json })
  expect(reply.status, reply.text).toBe(200)
  return String(reply.body.access_token)
}

describe.skipIf(!hasProgram('haproxy'))('both servers behind deploy/haproxy/haproxy.cfg', () => {
  beforeAll(async () => {
    ports = { http: await freePort(), https: await freePort() }
    const origin = `https://localhost:${ports.https}`
    const AUTH_PORT = String(await freePort())
    // Deal servers reach the auth server without the proxy, which keeps /internal from everybody.
    const own = { AUTH_PORT, AUTH_URL: `http://127.0.0.1:${AUTH_PORT}` }
    const settings = { ...own, AUTH_PUBLIC_ORIGIN: origin, DEAL_PUBLIC_ORIGIN: origin, TRUST_PROXY: '127.0.0.1/32' }
    stack = await openStack(openEmbedded, { dealServers: 2, environment: settings })
    writeFileSync(join(folder, 'certificate.pem'), certPem + keyPem)
    const [one, two] = stack.deals
    environment = {
      KEYHOLD_HOST: 'localhost',
      KEYHOLD_CERTIFICATE: join(folder, 'certificate.pem'),
      KEYHOLD_HTTP_BIND: `127.0.0.1:${ports.http}`,
      KEYHOLD_HTTPS_BIND: `127.0.0.1:${ports.https}`,
      KEYHOLD_HTTPS_PORT: String(ports.https),
      KEYHOLD_AUTH: `127.0.0.1:${stack.auth.port}`,
      KEYHOLD_DEAL_1: `127.0.0.1:${one?.port}`,
      KEYHOLD_DEAL_2: `127.0.0.1:${two?.port}`,
    }
    proxy = spawn('haproxy', ['-db', '-f', configuration], { env: { PATH: process.env.PATH, ...environment } })
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
    await stack?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('is a valid configuration', () => {
    expect(run('haproxy', ['-c', '-f', configuration], environment)).toMatchObject({ status: 0 })
  })

  it('lead a login and all paths of deals to the right server', async () => {
    const token = await logIn()
    const id = randomUUID()
    const created = await call('/rest/v1/deals', { token, json: { id, name: 'deal123', price: 1234 } })
    expect(created.status, created.text).toBe(201)
    const held = await call(`/rest/v1/deals/${id}/hold`, { method: 'PUT', token, json: { reason: 'test' } })
    expect([held.status, held.body.held]).toEqual([200, true])
    const json = { deal: id, action: 'UnholdDeal', params: {} }
    expect((await call(`/commands/${randomUUID()}`, { method: 'PUT', token, json })).status).toBe(201)
    expect((await call('/command/HoldDeal/', { token, json: { id, reason: '7' } })).status).toBe(200)
    expect((await call(`/query/Deal/${id}`, { token })).status).toBe(200)
    expect((await call('/me', { token })).body.username).toBe('alice')
    expect((await call('/.well-known/jwks.json')).status).toBe(200)
    expect((await call('/console', { headers: { accept: 'text/html' } })).status).not.toBe(404)
  })

  it('set a cookie that a host owns alone, and take it at both servers', async () => {
    const headers = { origin: `https://localhost:${ports.https}` }
    const json = { username: 'carol', password: passwordOf('carol') }
    const begun = await call('/sessions', { json, headers })
    expect(begun.status, begun.text).toBe(201)
    const { name, value, attributes } = cookieSetBy(begun) ?? {}
    expect(name).toMatch(/^__Host-/)
    expect(attributes).toContain('Secure')
    const cookie = `${name}=${value}`
    expect((await call('/me', { headers: { cookie } })).body).toMatchObject({ username: 'carol', scheme: 'session' })
    expect((await call('/rest/v1/deals', { headers: { cookie } })).status).toBe(200)
  })

  it('stream live events', async () => {
    const token = await logIn()
    const headers = { authorization: `Bearer ${token}` }
    const options = { ca: certPem, agent: false, headers }
    let text = ''
    const stream = request(`https://localhost:${ports.https}/rest/v1/events`, options, (response) => {
      response.on('data', (data) => (text += data)).on('error', () => {})
    })
    stream.on('error', () => {}).end()
    await eventually(() => expect(text).not.toBe(''))
    const id = randomUUID()
    expect((await call('/rest/v1/deals', { token, json: { id, name: 'deal', price: 1 } })).status).toBe(201)
    await eventually(() => expect(text).toContain(id))
    stream.destroy()
  })

  it('believe the proxy about the client, and nothing that the client writes', async () => {
    const token = await logIn()
    const lies = { forwarded: 'for=192.0.2.1;proto=http', 'x-forwarded-for': '192.0.2.1', 'x-real-ip': '192.0.2.1' }
    expect((await call('/me', { token, headers: { ...lies, 'x-forwarded-proto': 'http' } })).status).toBe(200)
    const line = stack.logLines.filter((one) => one.includes('"route":"/me"')).at(-1)
    expect(JSON.parse(line ?? '{}').address).toBe('127.0.0.1')
  })

  it.each(['/metrics', '/internal/feed', '/internal', '/verify', '/verify/', '/%76erify', '/%6detrics', '/metrics/'])(
    'keep %s away from clients',
    async (path) => {
      const reply = await call(path)
      expect([reply.status, reply.headers.get('content-type')]).not.toContain('application/problem+json')
      expect(reply.status).toBe(404)
    },
  )

  it.each(['/docs?a=b', '/', '/console', '/console/deals', '/problems/not-found'])(
    'send a reader of %s by plain HTTP to HTTPS',
    async (path) => {
      const plain = await send(`http://localhost:${ports.http}${path}`)
      expect([plain.status, plain.headers.get('location')]).toEqual([308, `https://localhost:${ports.https}${path}`])
    },
  )

  it.each([
    ['GET', '/me'],
    ['GET', '/rest/v1/deals'],
    ['POST', '/login'],
    ['POST', '/oauth/token'],
    ['POST', '/console'],
  ])('refuse %s %s by plain HTTP: a program must learn what it does', async (method, path) => {
    const plain = await send(`http://localhost:${ports.http}${path}`, { method })
    expect([plain.status, plain.headers.get('location')]).toEqual([403, null])
  })

  it('refuse another host name', async () => {
    expect((await send(`http://127.0.0.1:${ports.http}/docs`)).status).toBe(421)
    expect((await call('/me', { headers: { host: 'other.test' } })).status).toBe(421)
  })
})
