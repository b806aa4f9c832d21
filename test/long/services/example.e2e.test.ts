/** `examples/invoices`, as its README says it is used. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { startAuthProcess } from '../../support/processes/auth-process.ts'
import { type ChildServer, startScript } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describeBackends, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer, testServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const folder = join(import.meta.dirname, '../../../examples/invoices')
const resource = 'urn:example:invoices'

let stack: Stack
let example: ChildServer
let invoices: TestServer

async function start(authUrl: string): Promise<void> {
  const port = await freePort()
  const environment = { AUTH_URL: authUrl, PORT: String(port) }
  example = startScript('example:invoices', { environment })
  await eventually(() => expect(example.output()).toContain('Invoices listen'))
  invoices = testServer(port)
}

const logIn = async (username: string, json: object = { resource }): Promise<string> => {
  const credential = { username, password: passwordOf(username), ...json }
  return String((await stack.auth.send('/login', { json: credential })).body.access_token)
}

async function giveRoles(username: string, roles: readonly string[]): Promise<void> {
  const { access: token } = await stack.logIn('admin')
  expect((await stack.auth.send(`/users/${username}`, { method: 'PATCH', token, json: { roles } })).status).toBe(200)
}

const read = (token: string) => invoices.send('/invoices', { token })

describeBackends('examples/invoices', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { hashing: 'costly' })
    await start(stack.auth.url)
  })
  afterAll(async () => {
    await example.end('SIGTERM')
    await stack.close()
  })

  it('answers what its README says, when it is pasted', async () => {
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    const scripts = [...readme.matchAll(/^```sh\n(.*?)^```/gms)].map(([, script = '']) => script)
    const pasted = scripts
      .filter((script) => !script.startsWith('npm'))
      // A reader takes a moment from block to block. By the last one, the example hears of changes as they happen.
      .join('sleep 1\n')
      .replace('http://127.0.0.1:4000', stack.auth.url)
      .replace('http://127.0.0.1:4002', invoices.url)
    const { stdout } = await promisify(execFile)('bash', ['-euc', pasted])
    const lines = stdout.trim().split('\n')
    expect(
      lines.map((line) => /"code":"([a-z-]+)"/.exec(line)?.[1] ?? line.replace(/^.*"approvedBy":"bob".*\}/, 'bob')),
    ).toEqual(['200', '200', 'missing-right', 'bob', '200', 'missing-right', 'wrong-audience', 'bob 200'])
  })

  it('refuses what is no invoice, with a problem document', async () => {
    await giveRoles('dave', ['clerk', 'approver'])
    const token = await logIn('dave')
    const post = (sent: object) => invoices.send('/invoices', { method: 'POST', token, ...sent })
    const long = { customer: 'x'.repeat(201), amount: 1 }
    for (const json of [{}, [], null, { customer: 'Ada', amount: 0.5 }, { customer: '', amount: 1 }, long])
      expect([(await post({ json })).body.code]).toEqual(['invalid-invoice'])
    const headers = { 'content-type': 'application/json' }
    for (const body of ['', '{', '\0']) expect((await post({ body, headers })).status).toBe(422)
    expect((await post({ json: { ...long, customer: 'x'.repeat(20_000) } })).status).toBe(413)
    const { body } = await post({ json: { customer: 'Ada', amount: 1 } })
    const approve = (id: unknown) => invoices.send(`/invoices/${id}/approve`, { method: 'POST', token })
    expect((await approve(body.id)).body.code).toBe('own-invoice')
    expect((await approve('none')).status).toBe(404)
    expectProblem(await invoices.send('/invoices'), 401, 'unauthenticated')
  })

  it('starts again, with what is registered', async () => {
    await example.end('SIGTERM')
    await start(stack.auth.url)
    await giveRoles('dave', ['clerk'])
    expect((await read(await logIn('dave'))).status).toBe(200)
  })
})

describePostgresAndRedis('examples/invoices, when its auth server is killed', (openBackend) => {
  it('goes on with callers that it knows, and knows all that changed after the restart', async () => {
    stack = await openStack(openBackend, { hashing: 'costly' })
    let auth = await startAuthProcess(stack)
    await start(auth.server.url)
    await giveRoles('dave', ['clerk'])
    const token = await logIn('dave')
    expect((await read(token)).status).toBe(200)
    await auth.child.end('SIGKILL')
    expect((await read(token)).status).toBe(200)
    await giveRoles('dave', [])
    auth = await startAuthProcess(stack, auth.server.port)
    await eventually(async () => expect((await read(token)).status).toBe(403))
    await giveRoles('dave', ['clerk'])
    await eventually(async () => expect((await read(token)).status).toBe(200))
    await giveRoles('dave', [])
    await withinASecond(() => read(token), { from: 200, to: 403 })
    await example.end('SIGTERM')
    await auth.child.end('SIGTERM')
    await stack.close()
  })
})
