/** `npx keyhold api` against both servers, as an operator uses it. */
import { execFile } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, rememberSecret, secretsIn } from '../support/clients/http-client.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'
import { runKeyholdWith } from './run-keyhold.ts'

describeEmbedded('npx keyhold api', (openBackend) => {
  let stack: Stack
  let home: string

  const run = (line: string | readonly string[], input = '', isTerminal = false) => {
    const urls = { KEYHOLD_AUTH_URL: stack.auth.url, KEYHOLD_DEAL_URL: stack.deal.url }
    return runKeyholdWith({ XDG_CONFIG_HOME: home, ...urls }, line, { input, isTerminal })
  }
  const json = async (line: string) => {
    const { code, output, errors } = await run(`--json api ${line}`)
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    return JSON.parse(output)
  }
  const done = { code: 0, output: '', errors: '' }

  beforeAll(async () => {
    stack = await openStack(openBackend)
    home = mkdtempSync(join(tmpdir(), 'keyhold-api-'))
    rememberSecret(passwordOf('admin'))
    expect((await run('login admin --password-stdin', passwordOf('admin'))).code).toBe(0)
  })

  afterAll(async () => {
    await stack.close()
    rmSync(home, { recursive: true, force: true })
  })

  describe('shows', () => {
    it('a list as a table, with the names of the API', async () => {
      const { code, output, errors } = await run('api GET /users')
      expect({ code, errors }).toEqual({ code: 0, errors: '' })
      expect(output).toMatch(/^id +username +roles +rights +enabled /)
      expect(output).toMatch(/\n\S+ +bob +viewer +- +true /)
      expect((await run('api GET /services')).output).toBe('There are none.\n')
    })

    it('an object a member a line, and nothing for an answer without a body', async () => {
      const { output } = await run('api GET /users/bob')
      expect(output).toMatch(/\nusername +bob\n/)
      expect(output).toMatch(/\nroles +viewer\n/)
      expect(await run('api DELETE /users/bob/lock')).toEqual(done)
    })

    it('a private key with its line breaks, which can be used as it is printed', async () => {
      const { output } = await run('api POST /api-keys kind=rsa name=program')
      const pem = /\nprivateKeyPem\n(-----BEGIN PRIVATE KEY-----\n.*-----END PRIVATE KEY-----\n)$/s.exec(output)?.[1]
      rememberSecret(pem ?? '')
      expect(createPrivateKey(pem ?? '').asymmetricKeyType).toBe('rsa')
    })

    it('the body as it is with --json', async () => {
      const { output } = await run('--json api GET /users/bob')
      const { access: token } = await stack.logIn('admin')
      expect(output).toBe(`${(await stack.auth.send('/users/bob', { token })).text}\n`)
    })

    it('the header fields of HEAD, and what is no JSON as it comes', async () => {
      expect((await run('api HEAD /users/bob')).output).toMatch(/^content-type +application\/json/m)
      const metrics = await run('api GET /metrics --server deal')
      expect(metrics.output).toMatch(/^# HELP .*\n# TYPE /)
      expect(metrics.code).toBe(0)
    })

    it('all pages with --all, and says that there are more without it', async () => {
      for (const name of ['ann', 'ben', 'cora', 'dora']) {
        await run(
          ['api', 'POST', '/users', `username=${name}`, 'password=@-', 'enabled:=false'],
          `${name}-long-password`,
        )
      }
      const first = await run('api GET /users limit=2')
      expect(first.output.trimEnd().split('\n')).toHaveLength(3)
      expect(first.errors).toBe('There are more: add --all.\n')
      const { output, errors } = await run('api GET /users limit:=2 --all')
      expect(errors).toBe('')
      const names = output.split('\n').map((line) => line.split(/ +/)[1])
      expect(names).toEqual(expect.arrayContaining(['admin', 'ann', 'bob', 'dora']))
      expect(new Set(names).size).toBe(names.length)
      expect(await run('api GET /users/bob --all')).toMatchObject({
        code: 2,
        errors: '--all: /users/bob is no list.\n',
      })
    })

    it('entries of the audit log with --json --all, a line each', async () => {
      const { output, code } = await run(['--json', 'api', 'GET', '/audit?limit=3', '--all', 'action=user.*'])
      const entries = output
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(code).toBe(0)
      expect(entries.length).toBeGreaterThan(3)
      expect(entries.every(({ action }) => action.startsWith('user.'))).toBe(true)
      expect(new Set(entries.map(({ seq }) => seq)).size).toBe(entries.length)
      expect((await run('api GET /audit order=desc limit=1')).output).toMatch(/^seq +at +actor +action .*\n\d+ /)
    })

    it('no character that could control the terminal', async () => {
      const name = 'a\u001b[31mb\u202ec'
      const { id } = await json('POST /rest/v1/deals name=deal123 price:=12 currency=EUR')
      const { access: token } = await stack.logIn('admin')
      await stack.auth.send('/login', {
        json: { username: 'carol', password: passwordOf('carol') },
        headers: { 'user-agent': 'a\u009b31m browser' },
      })
      const logins = await run('api GET /users/carol/sessions')
      expect(logins.output).toContain(' browser')
      await stack.deal.send(`/rest/v1/deals/${id}/rename`, { method: 'PUT', token, json: { newName: name } })
      const refused = await run(['api', 'POST', '/users', `username=${name}`, 'password=x'])
      const atTerminal = await run('--json api GET /users/carol/sessions', '', true)
      expect(JSON.parse(atTerminal.output).items).toHaveLength(1)
      const texts = [logins.output, (await run(`api GET /rest/v1/deals/${id}`)).output, refused.errors]
      for (const text of [...texts, atTerminal.output]) expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
      const metrics = await run('api GET /metrics --server auth', '', true)
      expect(metrics.output).toMatch(/^# HELP .*\n# TYPE /)
    })
  })

  describe('changes', () => {
    it('the roles of a user, and ends the logins', async () => {
      const { access } = await stack.logIn('bob')
      const { output } = await run(['api', 'PATCH', '/users/bob', 'roles[]=viewer', 'roles[]=agent'])
      expect(output).toMatch(/\nroles +viewer, agent\n/)
      expect((await json('PATCH /users/bob roles:=[]')).roles).toEqual([])
      const [{ id }] = (await json('GET /users/bob/sessions')).items
      expect(await run(`api DELETE /users/bob/sessions/${id}`)).toEqual(done)
      expectProblem(await stack.auth.send('/me', { token: access }), 401, 'login-ended')
      const { access: other } = await stack.logIn('bob')
      expect(await run('api POST /users/bob/logout?everything=true')).toEqual(done)
      expectProblem(await stack.auth.send('/me', { token: other }), 401, 'login-ended')
    })

    it('a password, which is no argument: from standard input or a file, without the line break at its end', async () => {
      const [password, other] = ['correct horse, blanks and all ', 'another long one, from a file']
      const made = await run(['api', 'POST', '/users', 'username=frank', 'password=@-'], `${password}\n`)
      expect(made).toMatchObject({ code: 0, errors: '' })
      expect(made.output).not.toContain('horse')
      expect((await stack.logIn('frank', password)).access).toMatch(/./)
      const file = join(home, 'secret')
      writeFileSync(file, `${other}\n`)
      expect(await run(`api PUT /users/frank/password newPassword=@${file}`)).toEqual(done)
      expect((await stack.logIn('frank', other)).access).toMatch(/./)
      expect(await run('api PUT /users/frank/password --input -', JSON.stringify({ newPassword: password }))).toEqual(
        done,
      )
      expect((await stack.logIn('frank', password)).access).toMatch(/./)
    })

    it('a deal under a precondition, once for a command id', async () => {
      const { id } = await json('POST /rest/v1/deals name=deal123 price:=12.5 currency=EUR')
      const hold = ['api', 'PUT', `/rest/v1/deals/${id}/hold`, 'reason=wait']
      const late = await run([...hold, '-H', 'If-Match: "9"'])
      expect(late).toMatchObject({ code: 1, errors: expect.stringContaining('(precondition-failed)') })
      const key = ['-H', 'Idempotency-Key: 11111111-2222-4333-8444-555555555555']
      expect((await run([...hold, ...key, '-H', 'If-Match: "1"'])).code).toBe(0)
      expect((await run([...hold, ...key, '-H', 'If-Match: "1"'])).code).toBe(0)
      expect((await json(`GET /rest/v1/deals/${id}`)).version).toBe(2)
    })
  })

  describe('refuses', () => {
    it('with the sentence of the server and the place of each wrong value', async () => {
      const refused = await run(
        ['api', 'POST', '/users', 'username=a b', 'password=@-', 'roles[]=king'],
        'long-password',
      )
      expect(refused).toMatchObject({ code: 1, output: '' })
      expect(refused.errors).toMatch(
        /^Refused: .*\(invalid-value\)\n {2}\/username: .*\n {2}\/roles\/0: is not a role\n$/,
      )
      expect(await run('api GET /users/nobody')).toMatchObject({
        code: 1,
        errors: expect.stringContaining('(not-found)'),
      })
    })

    it('somebody who is not logged in, with 3', async () => {
      expect(await run('--profile nobody api GET /users')).toMatchObject({
        code: 3,
        output: '',
        errors: expect.stringContaining('keyhold login'),
      })
    })

    it.each([
      ['a path that no server has', ['GET', '/nothing'], /No server has \/nothing\. Name one/],
      ['a path that both have', ['GET', '/readyz'], /Both servers have \/readyz\. Name one/],
      ['a URL', ['GET', 'http://evil.test/users'], /begins with one slash/],
      ['a path of another host', ['GET', '//evil.test/users'], /begins with one slash/],
      ['a way out of a path', ['GET', '/users/../me'], /begins with one slash/],
      ['an encoded way out', ['GET', '/users/%2e%2E/me'], /begins with one slash/],
      ['a backslash', ['GET', '/\\evil.test'], /begins with one slash/],
      ['a way out that a control character ends', ['GET', '/users/..\u0001'], /begins with one slash/],
      ['a number that JSON does not have', ['POST', '/users', 'a:=[1e999]'], /a:= needs JSON/],
      ['what is too deep', ['POST', '/users', `a:=${'['.repeat(50_000)}${']'.repeat(50_000)}`], /a:= needs JSON/],
      ['a header of the connection', ['POST', '/users', 'a=1', '-H', 'Content-Length: 3'], /sets Content-Length/],
      ['what controls a terminal', ['POST', '/users', 'a\u001b[2J'], /^'a\[2J' is no field=value/],
      ['another method', ['BREW', '/users'], /Allowed choices/],
      ['a field without a value', ['POST', '/users', 'bob'], /is no field=value/],
      ['a field twice', ['POST', '/users', 'a=1', 'a=2'], /a is given twice/],
      ['what is no JSON', ['POST', '/users', 'a:=x'], /a:= needs JSON/],
      ['a file that is not there', ['POST', '/users', 'a=@/nowhere'], /\/nowhere cannot be read \(ENOENT\)/],
      ['standard input twice', ['POST', '/users', 'a=@-', 'b=@-'], /can be read once/],
      ['a header without a colon', ['GET', '/users', '-H', 'If-Match'], /expected NAME:VALUE/],
      ['a body of a GET', ['GET', '/users', '--input', '-'], /GET has no body/],
      ['pages of a change', ['POST', '/users', '--all'], /only GET has pages/],
    ])('%s, with 2', async (_what, words, sentence) => {
      const { code, output, errors } = await run(['api', ...words])
      expect({ code, output }).toEqual({ code: 2, output: '' })
      expect(errors).toMatch(sentence)
    })

    it('nothing else because a value is the name of a command', async () => {
      expect((await run('--profile tasks api GET /users')).code).toBe(3)
      expect((await run('api POST /users --input deals')).errors).toBe('deals cannot be read (ENOENT).\n')
    })

    it('nothing that only the server knows: a path by --server is asked for', async () => {
      expect(await run('api GET /nothing --server auth')).toMatchObject({
        code: 1,
        errors: expect.stringContaining('(not-found)'),
      })
    })
  })

  it('has the paths of a method completed', async () => {
    const { output } = await run('completion bash')
    const complete = (...words: string[]) =>
      `COMP_WORDS=(keyhold ${words.join(' ')}); COMP_CWORD=${words.length}; _keyhold; echo "\${COMPREPLY[@]}"`
    const script = [
      output,
      complete('api', 'PA'),
      complete('api', 'PATCH', '/us'),
      complete('api', 'DELETE', "'/users/{username}/l'"),
    ].join('\n')
    const { stdout } = await promisify(execFile)('bash', ['-c', script])
    expect(stdout).toBe('PATCH\n/users/{username}\n/users/{username}/lock\n')
  })

  it('left no secret in what the servers logged', () => {
    expect(secretsIn(stack.logLines.join(''))).toEqual([])
  })
})
