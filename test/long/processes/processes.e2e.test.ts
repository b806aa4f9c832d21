import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { logIn, type TestServer, testServer } from '../../support/worlds/stack.ts'

let backend: Backend
let dataDir: string
let auth: TestServer
let deals: readonly TestServer[]
let admin: string
let environment: Readonly<Record<string, string>>
const children: ChildServer[] = []

const start = async (
  file: string,
  environment: Readonly<Record<string, string>>,
  port: number,
): Promise<TestServer> => {
  const child = startChild(file, { environment })
  children.push(child)
  const server = testServer(port)
  await answering(`${server.url}/readyz`, child)
  return server
}

describePostgresAndRedis('one auth server and two deal servers, each a process of its own', (openBackend) => {
  beforeAll(async () => {
    backend = await openBackend()
    dataDir = mkdtempSync(join(tmpdir(), 'keyhold-processes-'))
    const [authPort, ...dealPorts] = [await freePort(), await freePort(), await freePort()]
    environment = {
      ...backend.environment,
      AUTH_PORT: String(authPort),
      DATA_DIR: dataDir,
      KEYS_DIR: await preparedKeysDir(),
      LOG_FORMAT: 'json',
    }
    auth = await start('auth-server/main.ts', environment, authPort ?? 0)
    const settings = { ...environment, DEAL_PUBLIC_ORIGIN: 'http://deals.test' }
    deals = await Promise.all(
      dealPorts.map((port) => start('deal-server/main.ts', { ...settings, DEAL_PORT: String(port) }, port)),
    )
    const password = /password, shown only now: (\S+)/.exec(children[0]?.output() ?? '')?.[1]
    admin = (await logIn(auth, 'admin', password ?? '')).access
  })

  afterAll(async () => {
    for (const child of children.splice(0)) await child.end('SIGKILL')
    await backend.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('records who made the first administrator: the user of the operating system', async () => {
    const { body } = await auth.send('/audit?action=user.created', { token: admin })
    expect(body.items).toMatchObject([
      { target: 'admin', actor: userInfo().username, scheme: 'ops', outcome: 'succeeded', reason: 'first start' },
    ])
  })

  it('gives the same answers to the same calls', async () => {
    const [one, two] = deals as [TestServer, TestServer]
    const id = randomUUID()
    const created = await one.send('/rest/v1/deals/', { token: admin, json: { id, name: 'deal123', price: 1234 } })
    expect(created.status).toBe(201)
    const path = `/rest/v1/deals/${id}`
    expect((await two.send(path, { token: admin })).text).toBe(created.text)
    const held = await two.send(`${path}/hold`, { method: 'PUT', token: admin, json: { reason: 'test' } })
    expect(held.body).toMatchObject({ id, held: true, holdReason: 'test', version: 2 })
    const calls: [string, object][] = [
      [path, {}],
      ['/rest/v1/deals', {}],
      [path, { headers: { 'if-none-match': '"2"' } }],
      [`${path}/hold`, { method: 'PUT', json: { reason: 'test' } }],
      [`${path}/hold`, { method: 'PUT', json: { reason: 'other' }, headers: { 'if-match': '"1"' } }],
      ['/rest/v1/deals', { json: { id, name: 'deal123', price: 1 } }],
      [path, { method: 'POST' }],
      [path, { token: 'junk' }],
      [`/rest/v1/deals/${randomUUID()}`, {}],
      ['/healthz', {}],
    ]
    for (const [target, sent] of calls) {
      const [first, second] = [
        await one.send(target, { token: admin, ...sent }),
        await two.send(target, { token: admin, ...sent }),
      ]
      const plain = (text: string, request: unknown) => text.replaceAll(String(request), 'REQUEST')
      expect(second.status).toBe(first.status)
      expect(plain(second.text, second.body.requestId)).toBe(plain(first.text, first.body.requestId))
    }
  })

  it('generates the secret that the three share, readable by their user alone', () => {
    expect(readFileSync(join(dataDir, 'service-secret'), 'utf8')).toMatch(/^[\w-]{43}$/)
  })

  it('ends with 0 on SIGTERM and on SIGINT, and writes no secret to its log', async () => {
    const [authChild, ...dealChildren] = children.splice(0) as [ChildServer, ...ChildServer[]]
    const codes = [
      ...(await Promise.all(dealChildren.map((child, index) => child.end(index === 0 ? 'SIGTERM' : 'SIGINT')))),
      await authChild.end('SIGTERM'),
    ]
    expect(codes).toEqual([0, 0, 0])
    const written = [authChild, ...dealChildren].map((child) => child.output()).join('')
    expect(written).toContain('answering accepted requests, then closing')
    expect(written).not.toContain(admin)
    expect(written).not.toContain(readFileSync(join(dataDir, 'service-secret'), 'utf8'))
  })
})

describe('a server without its settings', () => {
  const refused = async (file: string, environment: Readonly<Record<string, string>>): Promise<string> => {
    const child = startChild(file, { environment })
    expect(await child.ended()).toBe(2)
    return child.output()
  }

  it.each([
    ['auth-server/main.ts', ['AUTH_DATABASE_URL', 'REDIS_URL', 'ACCESS_TOKEN_TTL', 'KEY_BITS', 'SECRETS_KEY']],
    ['deal-server/main.ts', ['DEAL_DATABASE_URL', 'REDIS_URL', 'DEFAULT_CURRENCY', 'AUTH_URL']],
  ])('%s names each of them at once, and exits with 2', async (file, own) => {
    const wrong = { ACCESS_TOKEN_TTL: '0', KEY_BITS: '1024', SECRETS_KEY: 'too-short', DEFAULT_CURRENCY: 'XXX' }
    const output = await refused(file, { ...wrong, AUTH_URL: 'ftp://a', TRUST_PROXY: 'x', EXPIRED_TOKEN_STATUS: '402' })
    for (const name of [...own, 'TRUST_PROXY', 'EXPIRED_TOKEN_STATUS'])
      expect(output).toMatch(new RegExp(`^ {2}${name}: .`, 'm'))
    expect(output.match(/^ {2}[A-Z_]+:/gm)?.length).toBe(own.length + 2)
    expect(output).not.toContain('too-short')
  })

  it.each([
    ['auth-server/main.ts', ['AUTH_DATABASE_URL', 'REDIS_URL', 'SERVICE_SECRET', 'SECRETS_KEY'], 'AUTH_PORT'],
    ['deal-server/main.ts', ['DEAL_DATABASE_URL', 'REDIS_URL', 'SERVICE_SECRET'], 'DEAL_PORT'],
  ])('%s says what was expected of a value that is no good, files and ports included', async (file, names, port) => {
    const values = Object.fromEntries(names.map((name) => [name, 'http:a']))
    const files = { TLS_CERT: '/nowhere/cert.pem', TLS_KEY: '/nowhere/key.pem' }
    const metrics = { [port]: '4711', METRICS_PORT: '4711' }
    const output = await refused(file, { ...values, ...files, ...metrics, NODE_ENV: 'production' })
    for (const name of names) expect(output).toMatch(new RegExp(`^ {2}${name}: expected .`, 'm'))
    for (const name of Object.keys(files)) expect(output).toContain(`  ${name}: the file cannot be read (ENOENT)`)
    expect(output).toContain(`  METRICS_PORT: must be another port than ${port}`)
    expect(output.match(/^ {2}[A-Z_]+:/gm)?.length).toBe(names.length + 3)
  })

  it.each([
    ['auth-server/main.ts', ['AUTH_DATABASE_URL', 'REDIS_URL', 'SERVICE_SECRET', 'SECRETS_KEY']],
    ['deal-server/main.ts', ['DEAL_DATABASE_URL', 'REDIS_URL', 'SERVICE_SECRET']],
  ])('%s generates nothing in production', async (file, names) => {
    const output = await refused(file, { NODE_ENV: 'production' })
    expect(output.match(/[A-Z_]+(?=: must be set in production)/g)?.sort()).toEqual(names.toSorted())
  })
})
