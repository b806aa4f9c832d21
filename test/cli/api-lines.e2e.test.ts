/** `npx keyhold api POST --lines`: users of another system, a request for each line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../support/campaign.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'
import { type Ran, runKeyholdWith } from './run-keyhold.ts'

const passwordHash = '$2b$06$abcdefghijklmnopqrstuuXjhdP0KWcWzfIk/fIVmuuqBBqKE3C/6'

describeEmbedded('npx keyhold api POST --lines', (openBackend) => {
  let stack: Stack
  let home: string

  const run = (line: string | readonly string[], input = ''): Promise<Ran> =>
    runKeyholdWith(
      { XDG_CONFIG_HOME: home, KEYHOLD_AUTH_URL: stack.auth.url, KEYHOLD_DEAL_URL: stack.deal.url },
      line,
      {
        input,
      },
    )
  const line = (username: string, more: object = {}) =>
    JSON.stringify({ username, passwordHash, roles: ['viewer'], ...more })
  const fileOf = (name: string, lines: readonly string[]) => {
    const file = join(home, name)
    writeFileSync(file, lines.join('\n'))
    return file
  }
  const usersNamed = async (q: string) => JSON.parse((await run(`--json api GET /users q=${q} limit=200`)).output).items

  beforeAll(async () => {
    stack = await openStack(openBackend)
    home = mkdtempSync(join(tmpdir(), 'keyhold-lines-'))
    expect((await run('login admin --password-stdin', passwordOf('admin'))).code).toBe(0)
  })
  afterAll(async () => {
    await stack.close()
    rmSync(home, { recursive: true, force: true })
  })

  it('creates many users, names the wrong lines by number, and finds the others there when it runs again', async () => {
    const count = campaign({ short: 120, long: 2000 })
    const wrong = new Map([
      [3, line('bad-hash', { passwordHash: 'e10adc3949ba59abbe56e057f20f883e' })],
      [50, '{"username": "cut-off", "passw'],
      [101, line('no role', { roles: ['emperor'] })],
      [count, '["no object"]'],
    ])
    const lines = Array.from({ length: count }, (_, at) => wrong.get(at + 1) ?? line(`moved-${at + 1}`))
    lines[110] = ''
    const file = fileOf('users.ndjson', lines)
    const words = ['api', 'POST', '/users', '--input', file, '--lines']
    const { code, output, errors } = await run(words)
    expect({ code, output }).toEqual({
      code: 1,
      output: `${(count - 5).toLocaleString('en-US')} created, 0 there already, 4 refused.\n`,
    })
    const told = errors.split('\n').filter((text) => text.startsWith('Line '))
    expect(told.sort()).toEqual([
      expect.stringMatching(/^Line 101: \/username: .* \(username-form\) \/roles\/0: is not a role \(unknown-role\)$/),
      expect.stringMatching(/^Line (120|2000): : Invalid input: expected object, .* \(wrong-type\)$/),
      expect.stringMatching(/^Line 3: \/passwordHash: must be a hash of Argon2id, .* \(hash-form\)$/),
      expect.stringMatching(/^Line 50: .* \(invalid-body\)$/),
    ])
    expect(errors).not.toContain('e10adc39')
    const again = await run(['--json', ...words, '--from', '51'])
    expect(again.code).toBe(1)
    expect(JSON.parse(again.output)).toEqual({ created: 0, thereAlready: count - 53, refused: 2 })
    const { status } = await stack.auth.send('/login', {
      json: { username: 'moved-99', password: 'Gr\u00fc\u00dfe vom alten System' },
    })
    expect(status).toBe(200)
  })

  it('reads standard input, and ends with 0 when no line was refused', async () => {
    const text = `\ufeff${line('first-piped')}\r\n\r\n${line('second-piped')}`
    expect(await run('api POST /users --input - --lines', text)).toEqual({
      code: 0,
      output: '2 created, 0 there already, 0 refused.\n',
      errors: '',
    })
    expect(await usersNamed('piped')).toHaveLength(2)
  })

  it('sends lines to other routes too, and to those with a query and header fields', async () => {
    const right = (name: string) => JSON.stringify({ name, description: '', rights: ['deal.read'] })
    const file = fileOf('roles.ndjson', [right('reader'), right('viewer')])
    expect(await run(['api', 'POST', '/roles', '--input', file, '--lines', '-H', 'X-Request-Id: import-1'])).toEqual({
      code: 0,
      output: '1 created, 1 there already, 0 refused.\n',
      errors: '',
    })
  })

  it('stops where the file is no text, after the requests under way, and says where to go on', async () => {
    const file = join(home, 'broken.ndjson')
    writeFileSync(file, Buffer.concat([Buffer.from(`${line('before-broken')}\n`), Buffer.from([0xff, 0x0a])]))
    const { code, errors } = await run(['api', 'POST', '/users', '--input', file, '--lines'])
    expect(code).toBe(1)
    expect(errors).toMatch(/Go on with --from 1\.\nRefused: Line 2 is no text in UTF-8/)
  })

  it('ends the whole when the login has ended, and goes on from the line that it names', async () => {
    const file = fileOf('more.ndjson', [line('more-1'), line('more-2')])
    await run('--profile other login bob --password-stdin', passwordOf('bob'))
    const asBob = ['--profile', 'other', 'api', 'POST', '/users', '--input', file, '--lines']
    const refused = await run(asBob)
    expect(refused.code).toBe(1)
    expect(refused.errors).toMatch(/Line [12]: .*\(missing-right\)/)
    await stack.auth.send('/users/bob/logout', { method: 'POST', token: (await stack.logIn('admin')).access })
    const ended = await run(asBob)
    expect(ended.code).toBe(3)
    expect(ended.errors).toMatch(/^0 created, 0 there already, 0 refused\. Go on with --from 1\.\nYour login has ended/)
  })

  it('stops at Ctrl-C after the requests under way, and goes on from the line that it names', async () => {
    const lines = Array.from({ length: 150 }, (_, at) => line(`halted-${at + 1}`))
    const file = fileOf('halted.ndjson', lines)
    const words = ['api', 'POST', '/users', '--input', file, '--lines']
    const running = run(words)
    const posts = () => stack.logLines.filter((logLine) => logLine.includes('"POST"')).length
    const before = posts()
    // At each turn: a busy machine would be through with all lines between two looks at a clock.
    while (posts() < before + 20) await nextTurn()
    process.emit('SIGINT')
    const { code, errors } = await running
    expect(code).toBe(130)
    const told = /(?:^|\n)([\d,]+) created, .* Go on with --from (\d+)\.\nInterrupted\.\n$/
    expect(errors).toMatch(told)
    const [, created = '', from = ''] = told.exec(errors) ?? []
    // No request was cut off, so the lines before are there, and no other one.
    expect(Number(from)).toBe(Number(created.replace(',', '')) + 1)
    const rest = await run([...words, '--from', from])
    expect(rest.code).toBe(0)
    expect(rest.output).toBe(`${151 - Number(from)} created, 0 there already, 0 refused.\n`)
  })

  it.each([
    [['POST', '/users', '--lines'], '--lines: needs POST and --input.'],
    [['PUT', '/users/bob/password', '--lines', '--input', '-'], '--lines: needs POST and --input.'],
    [['POST', '/users', '--input', '-', '--from', '2'], '--from: needs --lines.'],
    [['POST', '/users', '--input', '-', '--lines', '--from', '0'], 'Expected the number of a line, from 1.'],
    [['POST', '/users', '--input', 'not-there', '--lines'], 'not-there cannot be read (ENOENT).'],
  ])('refuses wrong usage: %j', async (words, reason) => {
    const { code, errors } = await run(['api', ...words])
    expect(code).toBe(2)
    expect(errors).toContain(reason)
  })
})
