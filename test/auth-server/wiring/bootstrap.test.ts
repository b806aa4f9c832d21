import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import {
  createFirstAdmin,
  demoUserProblems,
  type FirstAdminPorts,
  holdsOnlyDemo,
  newDemoUsers,
} from '../../../auth-server/wiring/bootstrap.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'

const names = ['admin', 'alice', 'carol', 'bob', 'dave']
const demo = {
  hasPassword: async (username: string, password: string) =>
    names.includes(username) && password === `${username}-demo-password`,
}
const changed: typeof demo = { hasPassword: async () => false }
const none = { users: { findMadeByDemo: async () => undefined } }
const withMark = { users: { findMadeByDemo: async () => 'carol' } }

const variables = async (...parameters: Parameters<typeof demoUserProblems>) =>
  (await demoUserProblems(...parameters)).map(({ variable }) => variable)

it('gives each demo user a Digest secret of its own, another one each time', () => {
  const ids = createIdSource(systemClock)
  const secrets = [...newDemoUsers(ids), ...newDemoUsers(ids)].map(({ digestSecret }) => digestSecret)
  expect(new Set(secrets).size).toBe(2 * names.length)
  for (const secret of secrets) expect(Buffer.from(secret, 'base64url').length).toBeGreaterThanOrEqual(24)
})

describe('users of the demo, whatever their passwords are by now,', () => {
  it.each(['127.0.0.1', 'localhost', '::1'])(
    'are no problem where only this machine gets to them: %s',
    async (host) => {
      expect(await variables({ host, production: false }, withMark)).toEqual([])
    },
  )

  it.each(['0.0.0.0', '::', '192.0.2.1', 'auth.example'])(
    'are one on a HOST that others can reach: %s',
    async (host) => {
      expect(await variables({ host, production: false }, withMark)).toEqual(['HOST'])
      expect(await variables({ host, production: false }, none)).toEqual([])
    },
  )

  it('are one in production, wherever', async () => {
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      expect(await variables({ host, production: true }, withMark)).toEqual(['AUTH_DATABASE_URL'])
      expect(await variables({ host, production: true }, none)).toEqual([])
    }
  })
})

/** Members of a user that do not matter here. */
const plain = {
  displayName: null,
  email: null,
  emailVerified: false,
  roles: [],
  rights: [],
  createdAt: 0,
  updatedAt: 0,
}

describe('a database in which a demo was begun', () => {
  const holding = (held: readonly string[], { hasPassword }: typeof demo = demo) => {
    const items = held.map((username) => ({ ...plain, id: username, username, enabled: true }))
    return holdsOnlyDemo({
      hasPassword,
      list: async ({ limit }) => ({ items: items.slice(0, limit), next: undefined }),
    })
  }

  it('holds no one but users of the demo, some or all of them', async () => {
    expect(await holding(['anonymous'])).toBe(true)
    expect(await holding(['admin', 'alice', 'anonymous'])).toBe(true)
    expect(await holding([...names, 'anonymous'])).toBe(true)
  })

  it('is another one when it holds others, or users with passwords of their own', async () => {
    expect(await holding(['admin', 'anonymous', 'eve'])).toBe(false)
    expect(await holding([...names, 'anonymous', 'zoe'])).toBe(false)
    expect(await holding(['admin', 'anonymous'], changed)).toBe(false)
  })
})

describe('the first admin', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-first-'))
  const file = join(folder, 'own', 'password')
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  afterEach(() => vi.restoreAllMocks())

  /** What is printed, and with which password the user is created. */
  const create = async (config: FirstAdminPorts['config'], refusal?: ProblemError) => {
    const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    const passwords: string[] = []
    const made = { ...plain, id: '', username: 'admin', enabled: true }
    const users: FirstAdminPorts['users'] = {
      create: async ({ password = '' }) => {
        if (refusal) throw refusal
        passwords.push(password)
        return made
      },
    }
    await createFirstAdmin({ users, ids: createIdSource(systemClock), config })
    return { output: printed.mock.calls.join(''), password: passwords[0] ?? '' }
  }

  it('has a password that stands in the file of its owner, and nowhere in the output', async () => {
    const { output, password } = await create({ production: true, firstPasswordFile: file })
    expect(password.length).toBeGreaterThan(20)
    expect(readFileSync(file, 'utf8')).toBe(`${password}\n`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(output).toContain(file)
    expect(output).not.toContain(password)
  })

  it('leaves that file as it is when another server was faster', async () => {
    const before = readFileSync(file, 'utf8')
    const refusal = new ProblemError('user-exists', 'there is a user of this name')
    expect(await create({ production: true, firstPasswordFile: file }, refusal)).toEqual({ output: '', password: '' })
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(readdirSync(dirname(file))).toEqual(['password'])
  })

  it('is not made where the password could be left in a log alone', async () => {
    await expect(create({ production: true, firstPasswordFile: undefined })).rejects.toThrow(
      /^FIRST_PASSWORD_FILE: must/,
    )
    const development = await create({ production: false, firstPasswordFile: undefined })
    expect(development.output).toContain(`shown only now: ${development.password}\n`)
  })

  it('is not made when its password would go to a pipe or a device, and stays behind a link', async () => {
    const [link, pipe] = [join(folder, 'link'), join(folder, 'pipe')]
    symlinkSync('/dev/null', link)
    execFileSync('mkfifo', [pipe])
    for (const firstPasswordFile of [link, pipe]) {
      await expect(create({ production: true, firstPasswordFile })).rejects.toThrow(
        /^FIRST_PASSWORD_FILE: .* is no file/,
      )
    }
    expect([lstatSync(link).isSymbolicLink(), lstatSync(pipe).isFIFO()]).toEqual([true, true])
    symlinkSync(join(folder, 'real'), join(folder, 'to-file'))
    writeFileSync(join(folder, 'real'), 'old')
    const { password } = await create({ production: true, firstPasswordFile: join(folder, 'to-file') })
    expect(readFileSync(join(folder, 'real'), 'utf8')).toBe(`${password}\n`)
    expect(lstatSync(join(folder, 'to-file')).isSymbolicLink()).toBe(true)
    expect(statSync(join(folder, 'real')).mode & 0o777).toBe(0o600)
  })

  it('is not made when the file cannot be written', async () => {
    const config = { production: false, firstPasswordFile: join(file, 'below-a-file') }
    await expect(create(config)).rejects.toThrow(/^FIRST_PASSWORD_FILE: .* cannot be used: /)
  })
})
