import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { expectProblem, expectProblemForm, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { cookieSetBy, signIn } from '../../support/clients/pages/sign-in.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { fingerprintOfData } from '../../support/stores/data-fingerprint.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let before: string

/** Sends these bytes to the auth server. */
async function raw(bytes: string): Promise<Reply> {
  const reply = await sendRaw(stack.auth.port, bytes)
  if (!reply) throw new Error('no answer')
  return reply
}

describeOnce('hostile sessions', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    before = await fingerprintOfData(stack.database)
  })

  it('refuses what is not even a path', async () => {
    for (const segment of ['%', '%zz', '%ff', '%00', 'a%2fb', '.%2e', ';', '%0d%0aset-cookie:a=b']) {
      const bytes = `DELETE /sessions/${segment} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`
      const { status, headers } = await raw(bytes)
      expect(status, segment).toBeGreaterThanOrEqual(400)
      expect(status, segment).toBeLessThan(500)
      expect(headers.get('set-cookie')).toBeNull()
    }
  })

  it('counts cookies over several lines of the field', async () => {
    const { cookie } = await signIn(stack, 'carol')
    const ask = (lines: string) => raw(`GET /me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines}\r\n`)
    expect((await ask(`cookie: ${cookie}\r\ncookie: a=b\r\n`)).status).toBe(200)
    expect((await ask(`cookie: ${cookie}\r\ncookie: ${cookie}\r\n`)).status).toBe(400)
    expect((await ask(`cookie: keyhold_session=x\r\ncookie: ${cookie}\r\n`)).status).toBe(400)
    expect((await ask(`cookie: a=\x80\xff; ${cookie}\r\n`)).status).toBe(200)
  })

  it('does not let itself be flooded with cookies at a login', async () => {
    const cookie = Array.from({ length: 150 }, () => `keyhold_session=${randomBytes(32).toString('base64url')}`).join(
      '; ',
    )
    const json = { username: 'carol', password: passwordOf('carol') }
    expect((await stack.auth.send('/sessions', { json, headers: { cookie } })).status).toBe(201)
    expectProblem(await stack.auth.send('/me', { headers: { cookie } }), 400, 'several-credentials')
  })

  it.each([
    ['__proto__=1&username=carol&password=x', 400],
    ['constructor=1', 400],
    ['username[]=carol&password=x', 400],
    ['username=carol&password=%00', 401],
    ['username=%00&password=x', 401],
    ['username=%ED%A0%80&password=x', 400],
    [`username=${'x'.repeat(100_000)}&password=${'y'.repeat(100_000)}`, 413],
  ])('answers the form %.40s clearly', async (body, status) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const reply = await stack.auth.send('/sessions', { body, headers })
    expect(reply.status).toBe(status)
    expectProblemForm(reply)
    expect(cookieSetBy(reply)).toBeUndefined()
    expect(await fingerprintOfData(stack.database)).toBe(before)
  })

  it.each(['PUT', 'GET', 'delete ', 'DELETE, POST', '', 'x'])('takes no method %j in place of POST', async (method) => {
    const { key: mine, cookie } = await signIn(stack, 'carol')
    const headers = { 'x-http-method-override': method }
    const reply = await stack.auth.send(`/sessions/${mine}`, { method: 'POST', headers })
    if (method.trim().toUpperCase() === 'DELETE') expect(reply.status).toBe(204)
    else {
      expectProblem(reply, 405, 'method-not-allowed')
      expect((await stack.auth.send('/me', { headers: { cookie } })).status).toBe(200)
    }
  })

  it('never lets a key into a log line or a problem document, wherever in the URL it stands', async () => {
    const { key: mine, cookie } = await signIn(stack, 'carol')
    const { access: token } = await stack.logIn('admin')
    rememberSecret(mine)
    const paths = [`/sessions/${mine}`, `/sessions/${mine}/`, `/sessions/${mine}/x`, `/users/carol/sessions/${mine}`]
    for (const path of [...paths, `/users/${mine}/sessions`, `/me?session=${mine}`, `/sessions?cursor=${mine}`]) {
      for (const method of ['GET', 'PUT', 'PATCH', 'POST']) {
        const reply = await stack.auth.send(path, { method, token })
        expect(reply.text, `${method} ${path}`).not.toContain(mine)
        expect(reply.headers.get('link') ?? '').not.toContain(mine)
      }
    }
    expect((await stack.auth.send(`/users/carol/sessions/${mine}`, { method: 'DELETE', token })).status).toBe(404)
    const { text } = await stack.auth.send('/audit?limit=200', { token })
    expect(text).not.toContain(mine)
    expect((await stack.auth.send('/me', { headers: { cookie } })).status).toBe(200)
    expect(stack.logLines.join('')).not.toContain(mine)
  })
})
