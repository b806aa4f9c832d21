import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, send } from '../../support/clients/http-client.ts'
import { signUrl } from '../../support/clients/signing.ts'
import { answering, type ChildServer, startChild, startScript } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { logIn, passwordOf, type TestServer, testServer } from '../../support/worlds/stack.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'keyhold-start-'))
const children: ChildServer[] = []
let keysDir: string

interface AuditEntry {
  readonly action: string
  readonly target: string | null
}

interface Started {
  readonly child: ChildServer
  readonly auth: TestServer
  readonly deal: TestServer
}

const begin = (name: string, environment: Readonly<Record<string, string>>, ...options: string[]): ChildServer => {
  const own = { DATA_DIR: join(folder, name), KEYS_DIR: keysDir, LOG_FORMAT: 'json' }
  const child = startChild('start.ts', { environment: { ...own, ...environment }, arguments: options })
  children.push(child)
  return child
}

const start = async (name: string, ...options: string[]): Promise<Started> => {
  const [auth, deal] = [testServer(await freePort()), testServer(await freePort())]
  const child = begin(name, { AUTH_PORT: String(auth.port), DEAL_PORT: String(deal.port) }, ...options)
  await answering(`${deal.url}/readyz`, child)
  await expect.poll(() => child.output()).toContain('Keyhold is running.')
  return { child, auth, deal }
}

/** Starts it and expects that it refuses to, with exit code 2; gives what it says. */
const refused = async (name: string, environment: Readonly<Record<string, string>>, ...options: string[]) => {
  const child = begin(name, environment, ...options)
  expect(await child.ended()).toBe(2)
  return child.output()
}

const create = async ({ auth, deal }: Started): Promise<string> => {
  const { access: token } = await logIn(auth, 'alice', passwordOf('alice'))
  const { status, headers } = await deal.send('/rest/v1/deals/', { token, json: { name: 'deal123', price: 1234 } })
  expect(status).toBe(201)
  return String(headers.get('location'))
}

const read = async ({ auth, deal }: Started, path: string) => {
  const { access: token } = await logIn(auth, 'alice', passwordOf('alice'))
  return (await deal.send(path, { token })).body
}

/** Gives every user of the demo another password and another Digest secret. */
const replaceSecrets = async ({ auth }: Started): Promise<void> => {
  const { access: token } = await logIn(auth, 'admin', passwordOf('admin'))
  for (const username of ['alice', 'carol', 'bob', 'dave', 'admin']) {
    const newPassword = 'a password that is not published'
    const json = { newPassword, ...(username === 'admin' && { oldPassword: passwordOf('admin') }) }
    expect((await auth.send(`/users/${username}/digest-secret`, { method: 'PUT', token })).status).toBe(200)
    expect((await auth.send(`/users/${username}/password`, { method: 'PUT', token, json })).status).toBe(204)
  }
}

const hostMustBeLoopback = 'HOST: must be loopback while demo users exist'

/** Some other program on a port. */
const listenSomewhere = async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => new Promise((resolve) => server.close(resolve)) }
}

beforeAll(async () => {
  keysDir = await preparedKeysDir()
})
afterEach(async () => {
  for (const child of children.splice(0)) await child.end('SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('npm start', () => {
  it('makes demo data, prints lines that work when pasted, and keeps deals over an end and a kill', async () => {
    const first = await start('demo')
    const { access: token } = await logIn(first.auth, 'alice', passwordOf('alice'))
    const lines = first.child.output().match(/^ {2}(TOKEN=|curl ).*$/gm) ?? []
    expect(lines.length).toBeGreaterThanOrEqual(2)
    const { stdout } = await run('sh', ['-ec', lines.join('\n')])
    expect(stdout).toContain('"name":"deal123","price":1234')
    const listed = await first.deal.send('/rest/v1/deals', { token })
    const items = listed.body.items as { name: string; status: string; held: boolean }[]
    expect(items[0]?.name).toBe('deal123')
    const demoDeals = items.slice(1)
    expect(demoDeals).toHaveLength(12)
    expect(new Set(demoDeals.map(({ status, held }) => (held ? 'held' : status))).size).toBe(4)
    const tasks = await first.deal.send('/query/AssignedTask/carol', { token })
    expect(JSON.parse(tasks.text)).toMatchObject([
      { dealName: 'Spare parts, Hamburg' },
      { title: 'Translate the manual' },
    ])
    const [path, kept] = [await create(first), await create(first)]

    const demoFile = join(folder, 'demo', 'demo.json')
    expect(statSync(demoFile).mode & 0o777).toBe(0o600)
    const demo = JSON.parse(readFileSync(demoFile, 'utf8'))
    expect(Object.keys(demo)).toEqual(['authUrl', 'dealUrl', 'users', 'apiKeys'])
    expect(demo).toMatchObject({ authUrl: first.auth.url, dealUrl: first.deal.url, apiKeys: expect.any(Array) })
    const users = { admin: ['admin'], alice: ['manager'], carol: ['agent'], bob: ['viewer'], dave: [] }
    expect(demo.users).toEqual(
      Object.entries(users).map(([username, roles]) => ({
        username,
        password: expect.any(String),
        roles,
        digestSecret: expect.any(String),
      })),
    )
    for (const { username, password } of demo.users) await logIn(first.auth, username, password)
    expect(readFileSync(demoFile, 'utf8')).not.toContain('-demo-digest-secret')
    expect(demo.apiKeys.map(({ kind, username }: { kind: string; username: string }) => `${kind} ${username}`)).toEqual(
      ['hmac alice', 'hmac alice', 'rsa alice', 'hmac bob', 'hmac admin'],
    )
    for (const key of demo.apiKeys) {
      const timestamp = Math.floor(Date.now() / 1000)
      const url = signUrl(key, { method: 'GET', url: `${first.deal.url}/rest/v1/deals` }, { timestamp })
      expect((await send(url)).status).toBe(200)
    }

    const beside = await refused('demo', { AUTH_PORT: String(await freePort()), DEAL_PORT: String(await freePort()) })
    expect(beside).toContain(`is in use by process ${first.child.pid} `)
    expect((await first.deal.send(path, { token })).status).toBe(200)

    await first.child.end('SIGKILL')
    const second = await start('demo')
    const demoAgain = JSON.parse(readFileSync(demoFile, 'utf8'))
    expect(demoAgain).toEqual({ ...demo, authUrl: second.auth.url, dealUrl: second.deal.url })
    expect(statSync(demoFile).mode & 0o777).toBe(0o600)
    for (const each of [path, kept]) expect((await read(second, each)).name).toBe('deal123')
    const later = await create(second)
    expect(await second.child.end('SIGINT')).toBe(0)
    expect(await refused('demo', { HOST: '0.0.0.0' }, '--no-demo')).toContain(hostMustBeLoopback)
    const third = await start('demo')
    for (const each of [path, kept, later]) expect((await read(third, each)).version).toBe(1)
    await replaceSecrets(third)
    expect(await third.child.end('SIGTERM')).toBe(0)
    rmSync(demoFile)
    expect(await refused('demo', { HOST: '0.0.0.0' }, '--no-demo')).toContain(hostMustBeLoopback)
  })

  it('says each step before it is ready and logs nothing between, and names who made the first keys and users', async () => {
    const [auth, deal] = [testServer(await freePort()), testServer(await freePort())]
    const ports = { AUTH_PORT: String(auth.port), DEAL_PORT: String(deal.port) }
    const own = join(folder, 'first-keys')
    const child = begin('first', { ...ports, KEYS_DIR: own })
    await expect.poll(() => child.output()).toContain('Keyhold is running.')
    const [before = ''] = child.output().split('Keyhold is running.')
    expect(before.trim().split('\n')).toEqual([
      `Making keys in ${own} …`,
      `Opening the database in ${join(folder, 'first')} …`,
      'Making the demo users …',
      'Making the demo deals …',
    ])

    const { access: token } = await logIn(auth, 'admin', passwordOf('admin'))
    const { body } = await auth.send('/audit?to=2999-01-01T00:00:00Z&limit=200', { token })
    const made = (body.items as AuditEntry[]).filter(({ action }) => action !== 'login.started')
    const names = ['admin', 'alice', 'carol', 'bob', 'dave']
    expect(
      made.map(({ action, target }) => (action.startsWith('key.') ? action : `${action} ${target}`)).sort(),
    ).toEqual(
      [
        'key.generated',
        'key.generated',
        'key.promoted',
        'key.promoted',
        ...names.flatMap((name) => [`user.created ${name}`, `user.digest-secret-made ${name}`]),
        ...['alice', 'alice', 'alice', 'bob', 'admin'].map((name) => `api-key.created ${name}`),
      ].sort(),
    )
    const { username: actor } = userInfo()
    for (const entry of made) {
      expect(entry).toMatchObject({ actor, scheme: 'ops', outcome: 'succeeded', reason: 'first start' })
    }

    await answering(`${deal.url}/readyz`, child)
    await expect.poll(() => child.output()).toContain('"route":"/readyz"')
    await child.end('SIGTERM')
    const second = begin('first', { ...ports, KEYS_DIR: own })
    await expect.poll(() => second.output()).toContain('Keyhold is running.')
    expect(second.output().split('\n')[0]).toBe(`Opening the database in ${join(folder, 'first')} …`)
  })

  it('finishes the demo that a start was killed in', async () => {
    const [dataDir, ports] = [
      join(folder, 'cut-off'),
      { AUTH_PORT: String(await freePort()), DEAL_PORT: String(await freePort()) },
    ]
    const child = begin('cut-off', ports)
    await expect.poll(() => existsSync(join(dataDir, 'demo.json.new')), { interval: 2 }).toBe(true)
    await child.end('SIGKILL')
    expect(existsSync(join(dataDir, 'demo.json'))).toBe(false)

    const { auth, deal } = await start('cut-off')
    const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
    expect(demo.users.length).toBe(5)
    for (const { username, password } of demo.users) await logIn(auth, username, password)
    expect(demo.apiKeys.length).toBe(5)
    for (const key of demo.apiKeys) {
      const timestamp = Math.floor(Date.now() / 1000)
      const url = signUrl(key, { method: 'GET', url: `${deal.url}/rest/v1/deals` }, { timestamp })
      expect((await send(url)).status).toBe(200)
    }
  })

  // These two go on with the data of the test before, or make their own: to make data takes the longest.
  it('finishes what is under way at Ctrl-C, and ends with 0', async () => {
    const [auth, deal] = [testServer(await freePort()), testServer(await freePort())]
    const ports = { AUTH_PORT: String(auth.port), DEAL_PORT: String(deal.port) }
    const own = { DATA_DIR: join(folder, 'cut-off'), KEYS_DIR: keysDir, npm_config_update_notifier: 'false' }
    const child = startScript('start', { environment: { ...own, ...ports } })
    children.push(child)
    await answering(`${deal.url}/readyz`, child)
    await expect.poll(() => child.output()).toContain('Keyhold is running.')
    const body = JSON.stringify({ username: 'alice', password: passwordOf('alice') })
    const socket = connect(auth.port, '127.0.0.1')
    let answer = ''
    socket.on('data', (data) => (answer += data))
    const head = ['POST /login HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
    socket.write([...head, `Content-Length: ${body.length}`, 'Expect: 100-continue', '', ''].join('\r\n'))
    await expect.poll(() => answer).toContain('100 Continue')
    socket.write(body.slice(0, 5))
    const ended = child.end('SIGINT')
    await expect.poll(() => child.output()).toContain('SIGINT: answering')
    await pause(200)
    socket.write(body.slice(5))
    expect(await ended).toBe(0)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /m)
    await expect(fetch(`${auth.url}/healthz`)).rejects.toThrow()
  })

  it('goes on at signals of log rotation and reloads, with what is under way, and says that the list of the demo is no list', async () => {
    const first = await start('cut-off')
    const socket = connect(first.auth.port, '127.0.0.1')
    let answer = ''
    socket.on('data', (data) => (answer += data))
    socket.write(
      'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{',
    )
    for (const signal of ['SIGHUP', 'SIGUSR2', 'SIGUSR1'] as const) process.kill(first.child.pid, signal)
    await expect.poll(() => first.child.output()).toMatch(/SIGUSR2: there are no workers/)
    socket.write('}')
    await expect.poll(() => answer).toMatch(/^HTTP\/1\.1 4/)
    // The debugger says where it listens.
    expect(first.child.output()).not.toContain('Debugger listening')
    await first.child.end('SIGTERM')
    writeFileSync(join(folder, 'cut-off', 'demo.json'), '{')
    const output = await refused('cut-off', {})
    expect(output).toContain('demo.json is not the list that a start has written')
    expect(output).not.toContain('    at ')
  })

  it.each(['AUTH_PORT', 'DEAL_PORT', 'METRICS_PORT'])(
    'names %s when it is taken, before anything else is done',
    async (name) => {
      const another = await listenSomewhere()
      const free = { AUTH_PORT: String(await freePort()), DEAL_PORT: String(await freePort()) }
      const own = { KEYS_DIR: join(folder, 'never-keys'), [name]: String(another.port) }
      const output = await refused('never', { ...free, ...own })
      expect(output).toMatch(
        new RegExp(`^${name}: Cannot listen on 127\\.0\\.0\\.1:${another.port}: .* address already in use .*\\n$`),
      )
      for (const untouched of ['never', 'never-keys']) expect(existsSync(join(folder, untouched))).toBe(false)
      await another.close()
    },
  )

  it('--no-demo: one admin, whose password is printed once', async () => {
    const first = await start('plain', '--no-demo')
    const printed = first.child.output()
    const password = /user admin .*password, shown only now: (\S+)/.exec(printed)?.[1] ?? ''
    const { access: token } = await logIn(first.auth, 'admin', password)
    const { body } = await first.auth.send('/users', { token })
    expect((body.items as { username: string }[]).map(({ username }) => username)).toEqual(['admin', 'anonymous'])
    expect(existsSync(join(folder, 'plain', 'demo.json'))).toBe(false)
    expect(await first.child.end('SIGTERM')).toBe(0)

    // As a demo leaves it that was cut off before the database became another one.
    writeFileSync(join(folder, 'plain', 'demo.json.new'), '{}')
    const second = await start('plain')
    expect(second.child.output()).not.toContain('password')
    await logIn(second.auth, 'admin', password)
    const login = await second.auth.send('/login', { json: { username: 'alice', password: passwordOf('alice') } })
    expectProblem(login, 401, 'invalid-credentials')
    expect(existsSync(join(folder, 'plain', 'demo.json'))).toBe(false)
  })

  it('refuses a HOST that others can reach while it would make demo users', async () => {
    const output = await refused('never', { HOST: '::', LOG_LEVEL: 'loud' })
    expect(output).toContain(hostMustBeLoopback)
    expect(output).toContain('LOG_LEVEL: ')
    expect(existsSync(join(folder, 'never'))).toBe(false)
  })

  it('refuses one port for two listeners, by name', async () => {
    const port = String(await freePort())
    const output = await refused('never', { AUTH_PORT: port, DEAL_PORT: port, METRICS_PORT: port })
    expect(output).toContain('  DEAL_PORT: must be another port than AUTH_PORT')
    expect(output).toContain('  METRICS_PORT: must be another port than AUTH_PORT')
    expect(existsSync(join(folder, 'never'))).toBe(false)
  })

  it('refuses a key ring that cannot be used, and lets go of the data', async () => {
    const keys = mkdtempSync(join(folder, 'keys-'))
    writeFileSync(join(keys, 'keyring.json'), '{}')
    const output = await refused('unlocked', { KEYS_DIR: keys })
    expect(output).toContain(`${join(keys, 'keyring.json')} is not a Keyhold key ring`)
    expect(output).not.toContain('    at ')
    expect(readdirSync(join(folder, 'unlocked')).filter((name) => name.startsWith('keyhold.lock'))).toEqual([])
  })

  it('refuses embedded defaults, generated secrets and demo data in production, each by name', async () => {
    const output = await refused('never', { NODE_ENV: 'production' })
    const names = ['AUTH_DATABASE_URL', 'DEAL_DATABASE_URL', 'REDIS_URL', 'SERVICE_SECRET', 'SECRETS_KEY', '--no-demo']
    expect(
      output
        .match(/^ {2}\S+(?=: must be (set|given) in production)/gm)
        ?.map((name) => name.trim())
        .sort(),
    ).toEqual(names.sort())
    const withoutDemo = await refused('never', { NODE_ENV: 'production' }, '--no-demo')
    expect(withoutDemo).not.toContain('--no-demo')
    expect(existsSync(join(folder, 'never'))).toBe(false)
  })

  it('refuses what it does not know on the command line', async () => {
    expect(await refused('never', {}, '--nodemo')).toMatch(/^Usage: npm start .*\nUnknown: --nodemo/)
  })
})
