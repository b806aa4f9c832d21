import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { compiled } from '../../support/processes/compiled.ts'
import { opsProcess, opsWith } from '../../support/processes/operators/ops.ts'
import { selfSigned } from '../../support/processes/self-signed.ts'
import { describeEmbedded, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { createScratchDatabase } from '../../support/stores/scratch-database.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const root = join(import.meta.dirname, '../../..')
const hasScript = spawnSync('script', ['--version']).status === 0

const home = mkdtempSync(join(tmpdir(), 'keyhold-terminal-'))
let stack: Stack
const children: ChildProcessWithoutNullStreams[] = []

const environmentOf = () => ({
  XDG_CONFIG_HOME: home,
  KEYHOLD_AUTH_URL: stack.auth.url,
  KEYHOLD_DEAL_URL: stack.deal.url,
})

/** A process whose output can be waited for. */
function run(command: readonly [string, ...string[]], environment: Readonly<Record<string, string>>) {
  const [file, ...parameters] = command
  const child = spawn(file, parameters, { cwd: root, env: { PATH: process.env.PATH, ...environment } })
  children.push(child)
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => (out += data))
  child.stderr.on('data', (data) => (err += data))
  const closed = once(child, 'close')
  const says = (text: string | RegExp) => expect.poll(() => out).toMatch(text)
  return { child, says, out: () => out, err: () => err, ended: async () => (await closed)[0] as number }
}

const main = compiled('cli/main.ts')

const endAll = () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
}

afterAll(() => rmSync(home, { recursive: true, force: true }))

describeEmbedded('the command line at a terminal', (openBackend) => {
  beforeAll(async () => {
    rememberSecret(passwordOf('admin'))
    stack = await openStack(openBackend)
  })
  afterEach(endAll)
  afterAll(() => stack.close())

  const atTerminal = (...parameters: string[]) =>
    run(['script', '-qec', [process.execPath, main, ...parameters].join(' '), '/dev/null'], {
      ...environmentOf(),
      TERM: 'dumb',
    })

  it.skipIf(!hasScript)('asks who logs in, shows no password that is typed, and calls a route then', async () => {
    const { child, says, out, ended } = atTerminal('login')
    await says(/User: $/)
    child.stdin.write('admin\n')
    await says(/Password of admin: $/)
    child.stdin.write(`${passwordOf('admin')}\n`)
    expect(await ended()).toBe(0)
    expect(out()).toMatch(/You are logged in as admin\.\s*$/)
    expect(out()).not.toContain(passwordOf('admin'))
    const called = atTerminal('api', 'GET', '/users/bob')
    expect(await called.ended()).toBe(0)
    expect(called.out()).toMatch(/username +bob\s/)
  })

  it.skipIf(!hasScript)('ends at Ctrl-C, at a question and in a stream', async () => {
    const asking = atTerminal('login')
    await asking.says(/User: $/)
    asking.child.stdin.write('\x03')
    expect(await asking.ended()).toBe(130)
    const following = run(
      [process.execPath, main, 'api', 'GET', '/rest/v1/events', '-H', 'Last-Event-ID: 0'],
      environmentOf(),
    )
    await following.says(/^retry: /)
    following.child.kill('SIGINT')
    expect(await following.ended()).toBe(130)
    expect(following.err()).toBe('Interrupted.\n')
  })
})

describeEmbedded('the command line over TLS', (openBackend) => {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-tls-'))
  const [TLS_CERT, TLS_KEY] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]

  beforeAll(async () => {
    const { certPem, keyPem } = selfSigned()
    writeFileSync(TLS_CERT, certPem)
    writeFileSync(TLS_KEY, keyPem)
    stack = await openStack(openBackend, { environment: { TLS_CERT, TLS_KEY } })
  })
  afterAll(async () => {
    await stack.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('trusts a private authority that it is told of, and no other', async () => {
    const login = (more: Readonly<Record<string, string>>) =>
      run([process.execPath, main, 'login', 'admin'], {
        ...environmentOf(),
        KEYHOLD_PASSWORD: passwordOf('admin'),
        ...more,
      })
    const stranger = login({})
    expect(await stranger.ended()).toBe(1)
    expect(stranger.err()).toMatch(
      /^Failed: .* cannot be reached: \w*(CERT|SIGN)\w*\. Name .* NODE_EXTRA_CA_CERTS\.\n$/,
    )
    const told = login({ NODE_EXTRA_CA_CERTS: TLS_CERT })
    expect(await told.ended()).toBe(0)
    expect(told.out()).toBe('You are logged in as admin.\n')
  })
})

describePostgresAndRedis("the operators' tool beside servers that run", (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  it('recovers an administrator: running servers follow within a second', async () => {
    const { access } = await stack.logIn('bob')
    const whoami = () => stack.deal.send('/rest/v1/deals', { token: access })
    expect((await whoami()).status).toBe(200)
    const { code, out } = await opsProcess(stack.environment)(['users', 'recover-admin', '--user', 'Bob', '--json'])
    expect(code).toBe(0)
    const { username, password } = JSON.parse(out)
    rememberSecret(password)
    expect(username).toBe('bob')
    await withinASecond(whoami, { from: 200, to: 401 })
    const again = await stack.logIn('bob', password)
    expect((await stack.auth.send('/me', { token: again.access })).body.roles).toEqual(['viewer', 'admin'])
    const entries = await stack.auth.send('/audit?limit=200', { token: again.access })
    expect(entries.body.items).toContainEqual(expect.objectContaining({ action: 'user.recovered', target: 'bob' }))
  })

  it('says that the database is away, or holds something else', async () => {
    const away = opsWith({ ...stack.environment, AUTH_DATABASE_URL: 'postgres://postgres@127.0.0.1:9/postgres' })
    expect(await away(['audit', 'verify'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^Failed: the database cannot/),
    })
    const scratch = await createScratchDatabase(process.env.TEST_DATABASE_URL ?? '')
    try {
      const empty = opsWith({ ...stack.environment, AUTH_DATABASE_URL: scratch.url })
      for (const command of ['users recover-admin', 'audit verify', 'secrets reencrypt']) {
        const { code, out, err } = await empty(command.split(' '))
        expect({ code, out, err }).toMatchObject({
          code: 1,
          out: '',
          err: expect.stringMatching(/^Refused: .* tables/),
        })
      }
    } finally {
      await scratch.drop()
    }
  })
})
