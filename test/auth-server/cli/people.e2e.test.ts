import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, rememberSecret, secretsIn } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { type CliOutcome, type Ops, opsProcess, opsWith } from '../../support/processes/operators/ops.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let folder: string
let environment: Readonly<Record<string, string>>
let ops: Ops

type Entry = Readonly<Record<string, unknown>>

/** The JSON that a command prints; nothing goes to standard error, and no error. */
async function json<Value = Entry>(...parameters: string[]): Promise<Value> {
  const { code, out, err } = await ops(['--json', ...parameters])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

const refused = (outcome: CliOutcome, code: string) => {
  expect(outcome).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^Refused: ./) })
  expect(outcome.err).toContain(`(${code})`)
}

const meAs = async (username: string, password: string) => {
  const { access: token } = await stack.logIn(username, password)
  return (await stack.auth.send('/me', { token })).body
}

const ended = async (token: string) => expectProblem(await stack.auth.send('/me', { token }), 401, 'login-ended')

describeOnce("the operators' tool for people", (openBackend) => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keyhold-ops-'))
    stack = await openStack(openBackend)
    environment = {
      ...stack.environment,
      AUTH_URL: stack.auth.url,
      KEYHOLD_ADMIN_USER: 'admin',
      KEYHOLD_ADMIN_PASSWORD: passwordOf('admin'),
    }
    rememberSecret(passwordOf('admin'))
    ops = opsWith(environment)
  })
  afterAll(async () => {
    await stack.close()
    await rm(folder, { recursive: true, force: true })
  })

  describe('users', () => {
    it('are made with a password that is shown once, and log in with it', async () => {
      const erin = await json('users', 'add', 'erin', '--role', 'agent', '--right', 'audit.read,key.read')
      rememberSecret(String(erin.password))
      expect(erin).toMatchObject({
        username: 'erin',
        roles: ['agent'],
        rights: ['audit.read', 'key.read'],
        enabled: true,
      })
      expect(await meAs('erin', String(erin.password))).toMatchObject({ username: 'erin', roles: ['agent'] })
      const { code, out } = await ops(['users', 'add', 'erin2', '--disabled'])
      expect(code).toBe(0)
      expect(out).toMatch(/^USER +ENABLED +ROLES.*\nerin2 +no +- .*\nPassword, shown only now: [\w-]{24}\n$/)
      refused(await ops(['users', 'add', 'erin']), 'user-exists')
      const wrong = await ops(['users', 'add', 'a b', '--role', 'king'])
      refused(wrong, 'invalid-value')
      expect(wrong.err).toMatch(/\n {2}\/username: .*\n {2}\/roles\/0: is not a role\n$/)
    })

    it('are made with a password from standard input, which is not shown', async () => {
      const password = 'correct horse, spaces and all '
      const { code, out, err } = await ops(['users', 'add', 'frank', '--password-stdin'], `${password}\n`)
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).not.toContain('horse')
      expect(await meAs('frank', password)).toMatchObject({ username: 'frank' })
      refused(await ops(['users', 'add', 'grace', '--password-stdin'], 'short'), 'invalid-value')
      expect(await ops(['users', 'add', 'grace', '--password-stdin'])).toMatchObject({ code: 2, out: '' })
      expect(await ops(['users', 'add', 'grace', '--ask-password'])).toMatchObject({ code: 2, out: '' })
    })

    it('are listed over all pages', async () => {
      const { access: token } = await stack.logIn('admin')
      const names = Array.from({ length: 230 }, (_, index) => `listed-${String(index).padStart(3, '0')}`)
      const { database } = stack
      await database.query(
        `insert into auth.principals (username_folded, username, user_id)
          select n, n, gen_random_uuid() from json_array_elements_text($1::text::json) n`,
        [JSON.stringify(names)],
      )
      await database.query(
        `insert into auth.users (id, username, username_folded, roles, rights, enabled, created_at, updated_at)
          select user_id, username, username_folded, '{}', '{}', false, now(), now() from auth.principals
          where username like 'listed-%'`,
      )
      const first = await stack.auth.send('/users?limit=200', { token })
      expect(first.body.nextCursor).not.toBeNull()
      const listed = await json<Entry[]>('users', 'list')
      expect(listed.filter(({ username }) => String(username).startsWith('listed-'))).toHaveLength(names.length)
      expect(new Set(listed.map(({ username }) => username)).size).toBe(listed.length)
      expect((await ops(['users', 'list'])).out.split('\n')).toHaveLength(listed.length + 2)
    })

    it('get and lose roles and rights, all at once or one by one', async () => {
      const roles = async (...parameters: string[]) => (await json('users', 'roles', 'dave', ...parameters)).roles
      expect(await roles('viewer', 'agent')).toEqual(['viewer', 'agent'])
      expect(await roles('--add', 'manager')).toEqual(['viewer', 'agent', 'manager'])
      expect(await roles('--remove', 'agent,viewer')).toEqual(['manager'])
      expect(await roles('viewer')).toEqual(['viewer'])
      expect(await roles('--none')).toEqual([])
      expect((await json('users', 'rights', 'dave', 'deal.read')).rights).toEqual(['deal.read'])
      expect((await json('users', 'show', 'Dave')).rights).toEqual(['deal.read'])
      expect((await json('users', 'rights', 'dave', '--none')).rights).toEqual([])
      refused(await ops(['users', 'roles', 'dave', 'king']), 'invalid-value')
      refused(await ops(['users', 'roles', 'nobody', 'viewer']), 'not-found')
      refused(await ops(['users', 'roles', 'admin', '--none']), 'last-admin')
      for (const wrong of [[], ['viewer', '--none'], ['viewer', '--add', '--remove']]) {
        expect(await ops(['users', 'roles', 'dave', ...wrong])).toMatchObject({ code: 2, out: '' })
      }
    })

    it('are shut out, let in, logged out, and given another password', async () => {
      const login = () => stack.auth.send('/login', { json: { username: 'bob', password: passwordOf('bob') } })
      const before = (await stack.logIn('bob')).access
      expect(await json('users', 'disable', 'bob')).toMatchObject({ enabled: false })
      expect((await stack.auth.send('/me', { token: before })).status).toBe(401)
      expectProblem(await login(), 401, 'invalid-credentials')
      expect(await json('users', 'enable', 'bob')).toMatchObject({ enabled: true })
      const { access } = await stack.logIn('bob')
      expect((await ops(['users', 'logout', 'bob'])).out).toBe('Every login, token and session of bob has ended.\n')
      await ended(access)
      await json('api-keys', 'add', '--kind', 'hmac', '--user', 'bob')
      expect(await json('users', 'logout', 'bob', '--everything')).toMatchObject({ everything: true })
      expect(JSON.parse((await ops(['api-keys', 'list', '--user', 'bob', '--json'])).out)).toEqual([])
      const { password } = await json('users', 'password', 'bob')
      rememberSecret(String(password))
      expectProblem(await login(), 401, 'invalid-credentials')
      expect(await meAs('bob', String(password))).toMatchObject({ username: 'bob' })
    })

    it('may be the one who asks: for the own password the old one is sent along', async () => {
      const added = await json('users', 'add', 'second', '--role', 'admin')
      const own = (password: string) =>
        opsWith({ ...environment, KEYHOLD_ADMIN_USER: 'Second', KEYHOLD_ADMIN_PASSWORD: password })
      const changed = await own(String(added.password))(['users', 'password', 'second', '--json'])
      expect(changed).toMatchObject({ code: 0, err: '' })
      const { password } = JSON.parse(changed.out)
      for (const secret of [added.password, password]) rememberSecret(String(secret))
      expect((await own(String(password))(['users', 'logout', 'second'])).code).toBe(0)
      refused(await own(String(added.password))(['users', 'list']), 'invalid-credentials')
    })

    it('of names that no path can carry are nobody', async () => {
      const { access } = await stack.logIn('admin')
      for (const name of ['.', '..', '']) {
        expect(await ops(['users', 'logout', name])).toMatchObject({ code: 2, out: '' })
      }
      refused(await ops(['users', 'show', '../sessions/x?y#z']), 'dot-segment')
      expect((await stack.auth.send('/me', { token: access })).status).toBe(200)
    })
  })

  describe('API keys', () => {
    it('are made, listed and revoked', async () => {
      const made = await json(
        'api-keys',
        'add',
        '--kind',
        'hmac',
        '--user',
        'carol',
        '--name',
        'night report',
        '--rights',
        'deal.read',
        '--rights',
        'deal.history.read',
        '--expires',
        '90d',
      )
      rememberSecret(String(made.secret))
      expect(made).toMatchObject({ kind: 'hmac', username: 'carol', name: 'night report', requireBodyHash: true })
      expect(made.rights).toEqual(['deal.read', 'deal.history.read'])
      const life = Date.parse(String(made.expiresAt)) - Date.parse(String(made.createdAt))
      expect(Math.round(life / 86_400_000)).toBe(90)
      const { out } = await ops(['api-keys', 'list', '--user', 'carol'])
      expect(out).toMatch(new RegExp(`${made.id} +hmac +carol +night report +deal.read,deal.history.read +required`))
      expect(out).not.toContain(String(made.secret))
      expect((await ops(['api-keys', 'revoke', String(made.id)])).code).toBe(0)
      expect(await json('api-keys', 'list', '--user', 'carol')).toEqual([])
      refused(await ops(['api-keys', 'revoke', String(made.id)]), 'not-found')
    })

    it('show a private key once, and take a public one from a file', async () => {
      const { out } = await ops(['api-keys', 'add', '--kind', 'rsa', '--no-body-hash'])
      expect(out).toMatch(/of admin was made\.\nPrivate key, shown only now:\n-----BEGIN PRIVATE KEY-----\n/)
      expect(out).toMatch(/need not bind the body/)
      const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const [publicFile, privateFile] = [join(folder, 'public.pem'), join(folder, 'private.pem')]
      await writeFile(publicFile, publicKey.export({ type: 'spki', format: 'pem' }))
      await writeFile(privateFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
      const made = await json('api-keys', 'add', '--kind', 'rsa', '--public-key', publicFile)
      expect(made).not.toHaveProperty('privateKeyPem')
      for (const file of [privateFile, join(folder, 'nothing.pem')]) {
        const { code, out, err } = await ops(['api-keys', 'add', '--kind', 'rsa', '--public-key', file])
        expect({ code, out }).toEqual({ code: 2, out: '' })
        expect(err).toContain(file)
      }
    })

    it('expire when it is said in a way that can be read', async () => {
      const expires = (when: string) => ops(['api-keys', 'add', '--kind', 'hmac', '--expires', when, '--json'])
      expect(JSON.parse((await expires('2090-01-31T00:00:00Z')).out).expiresAt).toBe('2090-01-31T00:00:00.000Z')
      refused(await expires('2020-01-31T00:00:00Z'), 'invalid-value')
      for (const wrong of ['tomorrow', '0d', '5', '2090-01-31']) expect((await expires(wrong)).code).toBe(2)
    })
  })

  describe('services', () => {
    it('are made, listed, rotated and removed', async () => {
      const made = await json('services', 'add', 'ledger', '--resource-server', 'deals')
      rememberSecret(String(made.secret))
      const { out } = await ops(['services', 'list', '--resource-server', 'deals'])
      expect(out).toMatch(new RegExp(`${made.id} +ledger +deals +- +-`))
      expect(out).not.toContain(String(made.secret))
      refused(await ops(['services', 'add', 'ledger', '--resource-server', 'deals']), 'service-exists')
      refused(await ops(['services', 'add', 'other', '--resource-server', 'none']), 'invalid-value')
      const rotated = await json('services', 'rotate', String(made.id), '--overlap', '12h')
      rememberSecret(String(rotated.secret))
      expect(rotated).toMatchObject({ id: made.id, formerUntil: expect.any(String) })
      expect((await ops(['services', 'rotate', String(made.id), '--overlap', 'long'])).code).toBe(2)
      expect((await ops(['services', 'remove', String(made.id)])).out).toBe(`The service ${made.id} is deleted.\n`)
      refused(await ops(['services', 'remove', String(made.id)]), 'not-found')
    })
  })

  describe('sessions', () => {
    it('are listed, and ended one by one', async () => {
      const { access } = await stack.logIn('alice')
      const session = await signIn(stack, 'alice', { headers: { 'user-agent': 'a\u00e9 browser' } })
      const logins = await json<Entry[]>('sessions', 'list', 'alice')
      expect(logins.map(({ kind }) => kind).sort()).toEqual(['login', 'session'])
      const { out } = await ops(['sessions', 'list', 'alice'])
      expect(out).toMatch(/^ID +KIND +CREATED +LAST USED +EXPIRES +ADDRESS +USER AGENT\n/)
      expect(out).toMatch(new RegExp(`^${session.id} +session .* 127\\.0\\.0\\.1 +a\\?? browser$`, 'm'))
      expect(out).not.toContain(session.key)
      for (const { id } of logins) {
        const { code, out } = await ops(['sessions', 'end', 'alice', String(id)])
        expect({ code, out }).toEqual({ code: 0, out: `The login ${id} of alice has ended.\n` })
      }
      await ended(access)
      expect((await stack.auth.send('/me', { headers: { cookie: session.cookie } })).status).toBe(401)
      expect(await json('sessions', 'list', 'alice')).toEqual([])
      refused(await ops(['sessions', 'end', 'alice', '0199a2f0-5d1e-7c3a-9f00-2b6a1d9c4e11']), 'not-found')
      refused(await ops(['sessions', 'list', 'nobody']), 'not-found')
    })

    it('of the administrator include the one of the tool itself', async () => {
      const logins = await json<Entry[]>('sessions', 'list', 'admin')
      expect(logins.filter(({ current }) => current)).toHaveLength(1)
    })
  })

  describe('the audit log', () => {
    it('shows its latest entries', async () => {
      const all = await json<Entry[]>('audit', 'tail', '--limit', '99999')
      expect(all.length).toBeGreaterThan(20)
      expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
      const latest = await json<Entry[]>('audit', 'tail', '--limit', '3')
      expect(latest).toHaveLength(3)
      expect(Number(latest[2]?.seq)).toBeGreaterThan(all.length)
      const { out } = await ops(['audit', 'tail'])
      expect(out.split('\n')).toHaveLength(21)
      expect(out).toMatch(/\n\d+ {2}\S+Z {2}admin {2}login\.started {2}admin {2}succeeded {2}- {2}127\.0\.0\.1\n$/)
      for (const wrong of ['0', 'x', '100000']) expect((await ops(['audit', 'tail', '--limit', wrong])).code).toBe(2)
    })

    it('knows every login of the tool, and its logout, after a refusal too', async () => {
      await ops(['users', 'show', 'nobody'])
      const latest = await json<Entry[]>('audit', 'tail', '--limit', '3')
      expect(latest.map(({ action }) => action)).toEqual(['login.started', 'login.ended', 'login.started'])
    })
  })

  describe('as a process', () => {
    it('does what it is asked, and keeps secrets out of its errors', async () => {
      const run = opsProcess(environment)
      const { code, out, err } = await run(['users', 'show', 'alice', '--json'])
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(JSON.parse(out)).toMatchObject({ username: 'alice', roles: ['manager'] })
      const wrong = await opsProcess({ ...environment, KEYHOLD_ADMIN_PASSWORD: 'the wrong secret' })(['users', 'list'])
      refused(wrong, 'invalid-credentials')
      expect(wrong.err).not.toContain('the wrong secret')
    })

    it('says what to set when nobody can be asked, and where nothing answers', async () => {
      const nobody = { ...environment, KEYHOLD_ADMIN_PASSWORD: '' }
      const unasked = await opsProcess(nobody)(['users', 'list'])
      expect(unasked).toMatchObject({ code: 2, out: '' })
      expect(unasked.err).toMatch(/KEYHOLD_ADMIN_USER and KEYHOLD_ADMIN_PASSWORD/)
      const away = await opsWith({ ...environment, AUTH_URL: 'http://127.0.0.1:9' })(['users', 'list'])
      expect(away).toMatchObject({ code: 1, out: '' })
      expect(away.err).toMatch(/^Failed: The auth server at http:\/\/127\.0\.0\.1:9 cannot be reached: /)
      const open = await opsWith({ ...environment, AUTH_URL: 'http://auth.test' })(['users', 'list'])
      expect(open).toMatchObject({ code: 2, err: expect.stringContaining('AUTH_URL must be https') })
      const elsewhere = await opsWith({ ...environment, AUTH_URL: `${stack.auth.url}/docs` })(['users', 'list'])
      expect(elsewhere.code).toBe(1)
    })
  })

  it('left no secret in what the servers logged', () => {
    expect(secretsIn(stack.logLines.join(''))).toEqual([])
  })
})
