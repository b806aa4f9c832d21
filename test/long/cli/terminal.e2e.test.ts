import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { expectProblem, rememberSecret } from '../../support/clients/http-client.ts'
import { compiled } from '../../support/processes/compiled.ts'
import { opsProcess, opsWith } from '../../support/processes/operators/ops.ts'
import { selfSigned } from '../../support/processes/self-signed.ts'
import { describeEmbedded, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { createScratchDatabase } from '../../support/stores/scratch-database.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const root = join(import.meta.dirname, '../../..')
const hasScript = spawnSync('script', ['--version']).status === 0

let stack: Stack
const children: ChildProcessWithoutNullStreams[] = []

const environmentOf = () => ({ ...stack.environment, AUTH_URL: stack.auth.url })
const asAdmin = () => ({
  ...environmentOf(),
  KEYHOLD_ADMIN_USER: 'admin',
  KEYHOLD_ADMIN_PASSWORD: passwordOf('admin'),
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

const main = [compiled('auth-server/cli/main.ts')]

const endAll = () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
}

describeEmbedded("the operators' tool at a terminal", (openBackend) => {
  beforeAll(async () => {
    rememberSecret(passwordOf('admin'))
    stack = await openStack(openBackend)
  })
  afterEach(endAll)
  afterAll(() => stack.close())

  const atTerminal = (...parameters: string[]) =>
    run(['script', '-qec', [process.execPath, ...main, ...parameters].join(' '), '/dev/null'], {
      ...environmentOf(),
      TERM: 'dumb',
    })

  it.skipIf(!hasScript)('asks who logs in, and shows no password that is typed', async () => {
    const { child, says, out, ended } = atTerminal('users', 'password', 'dave', '--ask-password')
    const password = 'typed by hand, twice'
    await says(/Administrator: $/)
    child.stdin.write('admin\n')
    await says(/Password of admin: $/)
    child.stdin.write(`${passwordOf('admin')}\n`)
    await says(/New password: $/)
    child.stdin.write(`${password}\n`)
    await says(/The same again: $/)
    child.stdin.write(`${password}\n`)
    expect(await ended()).toBe(0)
    expect(out()).toMatch(/The password of dave was changed\.\s*$/)
    for (const secret of [password, passwordOf('admin')]) expect(out()).not.toContain(secret)
    expect((await stack.logIn('dave', password)).access).toMatch(/./)
  })

  it.skipIf(!hasScript)('changes nothing when two passwords differ, nor after Ctrl-C', async () => {
    const first = atTerminal('users', 'add', 'nobody', '--ask-password')
    await first.says(/Administrator: $/)
    first.child.stdin.write('admin\n')
    await first.says(/Password of admin: $/)
    first.child.stdin.write(`${passwordOf('admin')}\n`)
    await first.says(/New password: $/)
    first.child.stdin.write('one password\n')
    await first.says(/The same again: $/)
    first.child.stdin.write('another password\n')
    expect(await first.ended()).toBe(2)
    expect(first.out()).toContain('The two passwords differ; nothing was changed.')
    const second = atTerminal('users', 'list')
    await second.says(/Administrator: $/)
    second.child.stdin.write('\x03')
    expect(await second.ended()).toBe(130)
    const { access: token } = await stack.logIn('admin')
    expectProblem(await stack.auth.send('/users/nobody', { token }), 404, 'not-found')
  })

  it('follows the audit log until it is interrupted, and then logs out', async () => {
    const { child, says, out, err, ended } = run(
      [process.execPath, ...main, 'audit', 'tail', '--follow', '--json', '--limit', '1'],
      asAdmin(),
    )
    await says(/"login.started"/)
    await stack.auth.send('/login', { json: { username: 'bob', password: 'not his password' } })
    await says(/"target":"bob","outcome":"invalid-credentials"/)
    child.kill('SIGINT')
    expect(await ended()).toBe(0)
    expect(err()).toBe('')
    const entries = out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => entries[0].seq + index))
    const { out: after } = await opsWith(asAdmin())(['audit', 'tail', '--json', '--limit', '2'])
    expect(JSON.parse(after)[0]).toMatchObject({ actor: 'admin', action: 'login.ended', outcome: 'succeeded' })
  })

  it('goes on with another access token when its own expires', async () => {
    const { says, child, ended } = run([process.execPath, ...main, 'audit', 'tail', '--follow', '--json'], asAdmin())
    await says(/"login.started"/)
    stack.clock.advanceSeconds(1801)
    await says(/"action":"token.refreshed","target":"[^"]+","outcome":"succeeded"/)
    child.kill('SIGINT')
    expect(await ended()).toBe(0)
  })
})

describeEmbedded("the operators' tool over TLS", (openBackend) => {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-ops-tls-'))
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
    const stranger = await opsProcess(asAdmin())(['users', 'list'])
    expect(stranger).toMatchObject({ code: 1, out: '' })
    expect(stranger.err).toMatch(/^Failed: .* its certificate is not trusted .* NODE_EXTRA_CA_CERTS\.\n$/)
    const told = await opsProcess({ ...asAdmin(), NODE_EXTRA_CA_CERTS: TLS_CERT })(['users', 'show', 'alice'])
    expect(told).toMatchObject({ code: 0, err: '' })
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

  it('verifies the log while it grows, and shows the first entry that is wrong', async () => {
    const ops = opsWith(stack.environment)
    await stack.logIn('alice')
    const { code, out } = await ops(['audit', 'verify', '--json'])
    expect(code).toBe(0)
    const { head } = JSON.parse(out)
    expect(head.count).toBeGreaterThan(2)
    const { database } = stack
    await database.query('alter table auth.audit_entries disable trigger user')
    await database.query("update auth.audit_entries set actor = 'mallory' where seq = 2")
    const broken = await ops(['audit', 'verify'])
    expect(broken).toMatchObject({ code: 1, err: '' })
    expect(broken.out).toMatch(/^Wrong: entry 2, or the one before it, is not what was written\.\nSound as far as 1:/)
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
