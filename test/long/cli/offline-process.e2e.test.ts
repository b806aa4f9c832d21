import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { opsProcess, opsWith } from '../../support/processes/operators/ops.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { logIn, testServer } from '../../support/worlds/stack.ts'

const newKey = Buffer.alloc(32, 3).toString('base64url')

describe("the operators' tool on the embedded database", () => {
  let folder = ''
  let environment: Record<string, string>
  let child: ChildServer | undefined

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keyhold-offline-'))
    const [AUTH_PORT, DEAL_PORT] = [String(await freePort()), String(await freePort())]
    const DATA_DIR = join(folder, 'data')
    environment = { DATA_DIR, AUTH_PORT, DEAL_PORT, KEYS_DIR: await preparedKeysDir(), LOG_FORMAT: 'json' }
  })
  afterEach(async () => {
    await child?.end('SIGKILL')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const start = async (more: Record<string, string> = {}) => {
    const settings = { ...environment, ...more }
    child = startChild('start.ts', { environment: settings, arguments: ['--no-demo'] })
    const auth = testServer(Number(environment.AUTH_PORT))
    await answering(`${auth.url}/readyz`, child)
    await expect.poll(() => child?.output()).toContain('Keyhold is running.')
    return { auth, stop: async () => child?.end('SIGTERM') }
  }

  it('makes nothing where there is nothing', async () => {
    const nothing = opsWith({ ...environment, DATA_DIR: join(folder, 'nothing') })
    for (const command of [
      ['users', 'recover-admin'],
      ['audit', 'verify'],
      ['secrets', 'reencrypt'],
    ]) {
      expect(await nothing(command)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('SECRETS_KEY') })
    }
    const withKey = opsWith({ ...environment, SECRETS_KEY: newKey, DATA_DIR: join(folder, 'nothing') })
    const { code, err } = await withKey(['audit', 'verify'])
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('AUTH_DATABASE_URL') })
  })

  it('recovers a lost administrator while no server runs, verifies the log, and takes a new SECRETS_KEY along', async () => {
    const run = opsProcess(environment)
    const first = await start()
    const held = await run(['users', 'recover-admin'])
    expect(held).toMatchObject({ code: 1, out: '' })
    expect(held.err).toMatch(/^Refused: .* is in use by process \d+/)
    await first.stop()

    const recovered = JSON.parse((await run(['users', 'recover-admin', '--json'])).out)
    expect(recovered).toMatchObject({ username: 'admin', created: false })
    rememberSecret(recovered.password)
    const ops = opsWith(environment)
    const verified = await ops(['audit', 'verify'])
    expect(verified).toMatchObject({ code: 0, err: '' })
    const [, head = ''] = /The head is (\S+)\n$/.exec(verified.out) ?? []
    expect(await ops(['audit', 'verify', '--head', head])).toMatchObject({ code: 0 })
    const other = await ops(['audit', 'verify', '--json', '--head', head.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A'))])
    expect(other.code).toBe(1)
    expect(JSON.parse(other.out)).toMatchObject({ ok: false, fault: { fault: 'other-log' } })
    expect((await ops(['audit', 'verify', '--head', 'x'])).code).toBe(2)

    const oldKey = (await readFile(join(environment.DATA_DIR ?? '', 'secrets-key'), 'utf8')).trim()
    const second = await start({ SECRETS_KEY: `${newKey},${oldKey}` })
    const { access: token } = await logIn(second.auth, 'admin', recovered.password)
    const renewed = await second.auth.send('/users/admin/digest-secret', { method: 'PUT', token, json: {} })
    expect(renewed.status).toBe(200)
    await second.stop()
    const sealed = await opsWith({ ...environment, SECRETS_KEY: `${oldKey},${newKey}` })([
      'secrets',
      'reencrypt',
      '--json',
    ])
    expect(JSON.parse(sealed.out)).toMatchObject({
      complete: true,
      done: { 'Digest secrets': { resealed: 1, left: 0 } },
    })
    const without = opsWith({ ...environment, SECRETS_KEY: newKey })
    const unreadable = await without(['secrets', 'reencrypt'])
    expect(unreadable).toMatchObject({ code: 1, err: '' })
    expect(unreadable.out).toMatch(/Digest secrets +0 +1 +1\n/)
    const unknown = await without(['audit', 'verify'])
    expect(unknown).toMatchObject({ code: 1, err: '' })
    expect(unknown.out).toMatch(/^Wrong: entry 1 was written under a key .*\nSound as far as 0:\n$/)
    const former = opsWith({ ...environment, SECRETS_KEY: newKey, FORMER_SECRETS_KEYS: oldKey })
    expect(await former(['audit', 'verify'])).toMatchObject({ code: 0 })
  })
})

describe('secrets generate', () => {
  it('prints values that the settings take, never the same', async () => {
    const ops = opsWith({})
    const { out } = await ops(['secrets', 'generate'])
    const [, service = '', key = ''] = /^SERVICE_SECRET=(\S{43})\nSECRETS_KEY=(\S{43})\n$/.exec(out) ?? []
    expect((await opsWith({ SERVICE_SECRET: service, SECRETS_KEY: key })(['secrets', '--help'])).code).toBe(0)
    const { SECRETS_KEY: another, ...rest } = JSON.parse(
      (await ops(['secrets', 'generate', 'SECRETS_KEY', '--json'])).out,
    )
    expect([another === key, rest]).toEqual([false, {}])
    expect((await ops(['secrets', 'generate', 'PASSWORD'])).code).toBe(2)
    expect((await opsWith({ SECRETS_KEY: 'short' })(['secrets', 'generate'])).code).toBe(2)
  })
})
