/** `npx keyhold` against both servers. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { commands } from '../../deal-server/use-cases/index.ts'
import { projectVersion } from '../../shared/platform/project-folder.ts'
import { rememberSecret } from '../support/clients/http-client.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'
import { runKeyholdWith } from './run-keyhold.ts'

describeEmbedded('npx keyhold', (openBackend) => {
  let stack: Stack
  let home: string

  beforeAll(async () => {
    stack = await openStack(openBackend)
    home = mkdtempSync(join(tmpdir(), 'keyhold-cli-'))
  })

  afterAll(async () => {
    await stack.close()
    rmSync(home, { recursive: true, force: true })
  })

  const environment = () => ({
    XDG_CONFIG_HOME: home,
    KEYHOLD_AUTH_URL: stack.auth.url,
    KEYHOLD_DEAL_URL: stack.deal.url,
  })

  const run = (line: string | readonly string[], { input = '', more = {} } = {}) =>
    runKeyholdWith({ ...environment(), ...more }, line, { input })

  const json = async (line: string | readonly string[]) => {
    const { code, output, errors } = await run(['--json', ...(typeof line === 'string' ? line.split(' ') : line)])
    expect(code, errors).toBe(0)
    return JSON.parse(output)
  }

  const logIn = (username: string) => {
    const password = passwordOf(username)
    rememberSecret(password)
    return run(`--profile ${username} login ${username} --password-stdin`, { input: `${password}\n` })
  }

  const newDeal = async (): Promise<string> => {
    const { deal } = await json('--profile alice deals create --name deal123 --price 12.50 --currency EUR')
    return deal
  }

  it('says its version, and that of the operators’ tool', async () => {
    for (const line of ['--version', 'ops --version']) {
      expect(await run(line)).toEqual({ code: 0, output: `${projectVersion()}\n`, errors: '' })
    }
  })

  it('logs in from standard input, and keeps the login where only its owner can read it', async () => {
    expect(await logIn('alice')).toMatchObject({ code: 0, output: 'You are logged in as alice.\n' })
    const folder = join(home, 'keyhold/alice')
    expect(readdirSync(folder)).toEqual(['login.json'])
    expect(statSync(join(folder, 'login.json')).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect((await run('--profile alice whoami')).output).toContain('roles   manager')
  })

  it.each(['\n', '\r\n'])('takes a password with a line break at its end: %j', async (end) => {
    for (const [name, extra, expected] of [
      ['alice', '', 0],
      ['alice', ' ', 1],
    ] as const) {
      const more = { KEYHOLD_PASSWORD: `${passwordOf(name)}${extra}${end}` }
      expect((await run(`--profile line-end login ${name}`, { more })).code).toBe(expected)
    }
  })

  it('exits with 3 without a login, and with 1 after a wrong password', async () => {
    expect(await run('deals list')).toMatchObject({ code: 3, errors: expect.stringContaining('keyhold login') })
    expect(await run('login alice', { more: { KEYHOLD_PASSWORD: 'wrong' } })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('(invalid-credentials)'),
    })
    expect((await run('login alice --auth-url http://example.com', { more: { KEYHOLD_PASSWORD: 'x' } })).code).toBe(2)
    expect((await run('login')).code).toBe(2)
  })

  it('has a command for each use case of the registry', async () => {
    const { output } = await run('deals --help')
    for (const { verb } of commands) expect(output).toContain(`  ${verb} [options]`)
  })

  it('creates, holds, shows and lists deals', async () => {
    const id = await newDeal()
    const held = await run(['--profile', 'alice', 'deals', 'hold', id, '--reason', 'wait for it', '--no-reason-code'])
    expect(held).toMatchObject({ code: 0, output: `HoldDeal on ${id}: done, version 2.\n` })
    await run(['--profile', 'alice', 'deals', 'add-task', id, '--title', 'Call', '--assignee-id', 'alice'])
    const { output } = await run(`--profile alice deals show ${id}`)
    expect(output).toContain('price    12.50 EUR')
    expect(output).toContain('open, held for "wait for it" by alice')
    expect(output).toMatch(/Call +open +alice +-/)
    const listed = await run('--profile alice deals list --held --limit 1')
    expect(listed.output).toMatch(
      new RegExp(`^ID +NAME +PRICE .*\n${id} +deal123 +12\\.50 EUR +open, held +alice +-\n$`),
    )
    expect((await run('--profile alice deals summary')).output).toMatch(/\nopen +true +alice +1 +12\.50 EUR\n/)
    expect((await run('--profile alice tasks')).output).toContain(`${id}  deal123 (held)`)
    expect((await json(`--profile alice deals history ${id}`)).map(({ type }: { type: string }) => type)).toEqual([
      'deal.created',
      'deal.held',
      'deal.task-added',
    ])
  })

  it('runs a command with an id once, checks without changing, and keeps a precondition', async () => {
    const id = await newDeal()
    const line = `--profile alice deals change-price ${id} --new-price 20.00 --reason r`
    expect((await run(`${line} --dry-run`)).output).toBe('ChangePrice would succeed.\n')
    const command = randomUUID()
    expect((await run(`${line} --id ${command}`)).output).toBe(`ChangePrice on ${id}: done, version 2.\n`)
    expect((await run(`${line} --id ${command}`)).output).toContain('version 2. It had been done before.')
    const late = await run(`${line} --if-match 1`)
    expect(late).toMatchObject({ code: 1, errors: expect.stringContaining('(precondition-failed)') })
    expect((await run(`--profile alice deals hold ${id}`)).errors).toBe('hold needs --reason.\n')
    expect((await run(`--profile alice deals hold ${id}`)).code).toBe(2)
    expect((await run(`--profile alice deals fly ${id}`)).code).toBe(2)
  })

  it('follows events, a line of JSON each', async () => {
    const id = await newDeal()
    const { output } = await run(`--json --profile alice deals events ${id} --after 0 --limit 1`)
    expect(JSON.parse(output)).toMatchObject({ type: 'deal.created', data: { subject: id } })
  })

  it('refreshes an expired login once, however many programs run at once', async () => {
    const refreshes = () => stack.logLines.filter((line) => line.includes('"route":"/refresh"')).length
    const before = refreshes()
    stack.clock.advanceSeconds(3600)
    const ran = await Promise.all(Array.from({ length: 8 }, () => run('--profile alice whoami')))
    expect(ran.map(({ code, errors }) => [code, errors])).toEqual(Array(8).fill([0, '']))
    expect(refreshes() - before).toBe(1)
    expect(readdirSync(join(home, 'keyhold/alice'))).toEqual(['login.json'])
  })

  it('says that a login has ended, and forgets it at logout', async () => {
    await logIn('bob')
    const { access } = await stack.logIn('admin')
    await stack.auth.send('/users/bob/logout', { method: 'POST', token: access })
    expect(await run('--profile bob whoami')).toMatchObject({ code: 3, errors: expect.stringContaining('has ended') })
    expect((await run('--profile bob logout')).code).toBe(0)
    expect(await run('--profile alice logout')).toMatchObject({ code: 0, output: 'alice is logged out.\n' })
    expect(readdirSync(join(home, 'keyhold/alice'))).toEqual([])
    expect((await run('--profile alice whoami')).code).toBe(3)
  })

  it('completes commands and options in bash', async () => {
    const { output } = await run('completion bash')
    const complete = (words: string, index: number) =>
      `COMP_WORDS=(${words}); COMP_CWORD=${index}; _keyhold; echo "\${COMPREPLY[@]}"`
    const script = [output, complete('keyhold deals ho', 2), complete('keyhold deals complete-task x --ta', 4)].join(
      '\n',
    )
    const printed = await new Promise((resolve) =>
      execFile('bash', ['-c', script], (_error, stdout) => resolve(stdout)),
    )
    expect(printed).toBe('hold\n--task-id\n')
    expect((await run('completion zsh')).output).toContain('compdef _keyhold keyhold')
    expect((await run('completion fish')).output).toContain('complete -c keyhold')
  })

  it('is a program of the project, and leads to the tool of operators', async () => {
    const root = join(import.meta.dirname, '../..')
    const program = join(root, 'scripts/keyhold.mjs')
    const exec = (...args: string[]) =>
      new Promise<[number, string]>((resolve) =>
        execFile(process.execPath, [program, ...args], { env: { ...process.env, ...environment() } }, (error, stdout) =>
          resolve([Number(error?.code ?? 0), stdout]),
        ),
      )
    expect((await exec('whoami'))[0]).toBe(3)
    expect((await exec('ops', '--help'))[1]).toContain('Keyhold for operators.')
  })
})
