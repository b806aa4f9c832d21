import { afterAll, beforeAll, expect, it } from 'vitest'
import { readAuthConfig } from '../../../auth-server/config.ts'
import { openKeyRing } from '../../../auth-server/key-ring/key-ring.ts'
import { createAuthServer } from '../../../auth-server/server.ts'
import { authConsole } from '../../../console/auth-console.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { createMetrics } from '../../../shared/platform/metrics/metrics.ts'
import type { Reply, Sent } from '../../support/clients/http-client.ts'
import {
  type Checker,
  createChecker,
  type Document,
  describedIn,
  examplePath,
  expectValidDocument,
  routesOf,
} from '../../support/clients/openapi.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let document: Document
let checker: Checker
let admin: string

/** Sends a request, expects this status, and that the answer is as the document says. */
async function ask(method: string, path: string, expected: { status: number } & Sent): Promise<Reply> {
  const { status, ...sent } = expected
  const reply = await stack.auth.send(path, { ...sent, method })
  expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(status)
  checker.expectDescribed(method, path.replace(/\?.*$/, ''), reply)
  return reply
}

interface DescribedParameter {
  readonly name: string
  readonly schema: Readonly<Record<string, unknown>>
}

const templateOf = (route: string): string =>
  route.replace(':file{.+\\.pem}', '{kid}.pem').replace(/:([A-Za-z]+)/g, '{$1}')

/** The routes of a server that is put together and not started. */
async function servedRoutes(): Promise<string[]> {
  const { config } = readAuthConfig('together', stack.environment)
  const log = createLog({ level: 'silent', format: 'json' }, { write: () => undefined })
  const keyRing = await openKeyRing({ directory: config.keysDir, passphrase: undefined }, log)
  const { database, clock } = stack
  const secrets = { serviceSecrets: config.serviceSecrets ?? [], secretsKeys: config.secretsKeys ?? [] }
  const systems = { database, clock, log, cache: {} as never, ids: createIdSource(clock), metrics: createMetrics() }
  const resources = { ...systems, keyRing, console: authConsole, ...secrets }
  const routes = routesOf(createAuthServer(config, resources).app)
  await keyRing.close()
  return routes
}

describeEmbedded('the OpenAPI document of the auth server', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    document = JSON.parse((await stack.auth.send('/openapi.json')).text)
    checker = createChecker(document)
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it('is valid OpenAPI 3.1', () => expectValidDocument(document))

  it.each(['/login', '/refresh', '/logout', '/key-signed-tokens', '/sessions', '/api-keys', '/oauth/token'])(
    'says of %s that a body may be too large',
    async (path) => {
      await ask('POST', path, { status: 413, body: 'x'.repeat(262_145) })
    },
  )

  it('describes every route but those for deal servers, and nothing else', async () => {
    const served = await servedRoutes()
    expect(served.length).toBeGreaterThan(15)
    const expected = served.filter((route) => !/^[A-Z]+ \/internal\//.test(route)).map(templateOf)
    const described = describedIn(document).map(({ method, path }) => `${method} ${path}`)
    expect(described.sort()).toEqual(expected.sort())
  })

  it('describes nothing that is not served', async () => {
    for (const { method, path, operation } of describedIn(document)) {
      const { status, body } = await stack.auth.send(examplePath(path), {
        method,
        headers: { 'x-http-method-override': 'DELETE' },
      })
      const isOpen = JSON.stringify(operation.security) === '[]'
      if (isOpen) expect(path === '/verify' ? [403] : [200, 303, 400, 404, 415], `${method} ${path}`).toContain(status)
      else expect({ method, path, status }).toEqual({ method, path, status: 401 })
      expect(body.detail).not.toBe('There is no such route.')
    }
  })

  it('says of every list that it takes nextCursor as it was given, and how long a page is unless said', () => {
    const parameters = describedIn(document).map(
      ({ operation }) => (operation.parameters ?? []) as DescribedParameter[],
    )
    const named = (name: string) => parameters.flat().filter((parameter) => parameter.name === name)
    expect(named('cursor').length).toBeGreaterThan(4)
    for (const { schema } of named('cursor')) expect(schema.type).toBe('string')
    expect(named('limit').length).toBe(named('cursor').length)
    for (const { schema } of named('limit'))
      expect(schema).toMatchObject({ type: 'integer', maximum: 200, default: 50 })
  })

  it('uses every tag that it has, and no other', () => {
    const used = describedIn(document).flatMap(({ operation: { tags } }) => tags)
    expect(new Set(used)).toEqual(new Set((document.tags as { name: string }[]).map(({ name }) => name)))
  })

  it('describes the answers of the token flow', async () => {
    const json = { username: 'carol', password: 'wrong password' }
    await ask('POST', '/login', { status: 401, json })
    await ask('POST', '/login', { status: 400, json: { username: 'carol' } })
    await ask('POST', '/login', { status: 415, body: 'a=b' })
    const { access, refresh } = await stack.logIn('carol')
    await ask('GET', '/me', { status: 200, token: access })
    const { body } = await ask('POST', '/refresh', { status: 200, token: refresh })
    await ask('POST', '/refresh', { status: 400, token: access })
    await ask('POST', '/refresh', { status: 401 })
    await ask('POST', '/logout', { status: 204, token: String(body.refresh_token) })
    await ask('POST', '/logout', { status: 401, token: 'nonsense' })
    await ask('GET', '/me', { status: 401, token: access })
    await ask('GET', '/me', { status: 401 })
  })

  it('describes the answers about key-signed tokens', async () => {
    const json = { username: 'carol', password: passwordOf('carol') }
    const { body } = await ask('POST', '/key-signed-tokens', { status: 201, json: { ...json, include: ['password'] } })
    await ask('POST', '/key-signed-tokens', { status: 401, json: { ...json, password: 'wrong password' } })
    await ask('POST', '/key-signed-tokens', { status: 400, json: { ...json, include: 'ip' } })
    await ask('POST', '/key-signed-tokens', { status: 422, json: { ...json, include: ['ip', 'ip'] } })
    const authorization = `KeySigned ${body.token}`
    const password = { 'x-key-signed-password': Buffer.from(json.password).toString('base64url') }
    await ask('GET', '/me', { status: 200, headers: { authorization, ...password } })
    await ask('GET', '/me', { status: 401, headers: { authorization } })
    await ask('GET', '/me', { status: 400, headers: { authorization, 'x-key-signed-password': '=' } })
    expect(document.components.securitySchemes).toMatchObject({ keySigned: { type: 'http', scheme: 'KeySigned' } })
    expect(document.security).toContainEqual({ keySigned: [], keySignedPassword: [] })
  })

  it('describes the answers of OAuth, in both forms of errors', async () => {
    const { access, refresh } = await stack.logIn('alice')
    const made = await stack.auth.send('/api-keys', { token: access, json: { kind: 'hmac' } })
    const client = { client_id: String(made.body.id), client_secret: String(made.body.secret) }
    const post = (path: string, status: number, form: Record<string, string>) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return ask('POST', path, { status, body: new URLSearchParams(form).toString(), headers })
    }
    const { body } = await post('/oauth/token', 200, { grant_type: 'client_credentials', ...client })
    const token = String(body.access_token)
    await post('/oauth/token', 200, { grant_type: 'refresh_token', refresh_token: refresh })
    await post('/oauth/token', 400, { grant_type: 'password' })
    await post('/oauth/token', 401, { grant_type: 'client_credentials' })
    await ask('POST', '/oauth/token', { status: 413, body: 'x'.repeat(300_000) })
    await post('/oauth/introspect', 200, { token, ...client })
    await post('/oauth/introspect', 401, { token })
    await post('/oauth/revoke', 200, { token, ...client })
    await post('/oauth/introspect', 200, { token, ...client })
    await post('/oauth/revoke', 400, {})
    await ask('GET', '/.well-known/oauth-authorization-server', { status: 200 })
    await ask('GET', '/.well-known/oauth-authorization-server', { status: 304, headers: { 'if-none-match': '*' } })
  })

  it('describes the answers about users', async () => {
    const user = { username: 'erin', password: 'a long enough secret', roles: ['viewer'] }
    const asAdmin = (method: string, path: string, expected: { status: number; json?: unknown }) =>
      ask(method, path, { token: admin, ...expected })
    await asAdmin('POST', '/users', { status: 201, json: user })
    await asAdmin('POST', '/users', { status: 409, json: user })
    await asAdmin('POST', '/users', { status: 422, json: { ...user, username: 'fred', roles: ['none such'] } })
    await asAdmin('POST', '/users', { status: 400, json: { username: 'fred' } })
    await asAdmin('GET', '/users?limit=2', { status: 200 })
    await asAdmin('GET', '/users?limit=0', { status: 400 })
    await asAdmin('GET', '/users/erin', { status: 200 })
    await asAdmin('GET', '/users/nobody', { status: 404 })
    await asAdmin('PATCH', '/users/erin', { status: 200, json: { roles: [], rights: ['deal.read'] } })
    await asAdmin('PATCH', '/users/admin', { status: 409, json: { roles: [] } })
    await asAdmin('PUT', '/users/erin/password', { status: 204, json: { newPassword: 'another long secret' } })
    const erin = (await stack.logIn('erin', 'another long secret')).access
    const json = { oldPassword: 'not the old one', newPassword: 'a third long secret' }
    await ask('PUT', '/users/erin/password', { status: 403, token: erin, json })
    await ask('GET', '/users', { status: 403, token: erin })
    await asAdmin('GET', '/users/erin/lock', { status: 200 })
    await asAdmin('DELETE', '/users/erin/lock', { status: 204 })
    await asAdmin('POST', '/users/erin/logout', { status: 204 })
    await asAdmin('DELETE', '/users/erin', { status: 204 })
    await asAdmin('DELETE', '/users/erin', { status: 404 })
    await asAdmin('GET', '/audit?limit=2', { status: 200 })
    await asAdmin('GET', '/audit?limit=x', { status: 400 })
  })

  it('describes the answers about the key ring', async () => {
    await ask('GET', '/keys', { status: 200, token: admin })
    await ask('GET', '/keys?state=active', { status: 400, token: admin })
    await ask('GET', '/keys', { status: 403, token: (await stack.logIn('alice')).access })
  })

  it('describes the answers about sessions', async () => {
    const json = { username: 'carol', password: passwordOf('carol') }
    const cookieOf = (reply: Reply) => (reply.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
    const cookie = cookieOf(await ask('POST', '/sessions', { status: 201, json }))
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const form = (fields: Record<string, string>) => ({ headers, body: new URLSearchParams(fields).toString() })
    await ask('POST', '/sessions', { status: 303, ...form({ ...json, return_to: `${stack.auth.url}/docs` }) })
    await ask('POST', '/sessions', { status: 422, ...form({ ...json, return_to: 'https://evil.test' }) })
    await ask('POST', '/sessions', { status: 401, json: { ...json, password: 'not the password' } })
    await ask('POST', '/sessions', { status: 403, json, headers: { origin: 'https://evil.test' } })
    const { body } = await ask('GET', '/sessions?limit=1', { status: 200, headers: { cookie } })
    const [login] = body.items as { id: string }[]
    await ask('GET', '/sessions', { status: 400, token: admin, headers: { cookie } })
    await ask('GET', '/users/carol/sessions', { status: 200, token: admin })
    await ask('GET', '/users/carol/sessions', { status: 403, headers: { cookie } })
    await ask('GET', `/users/carol/sessions/${login?.id}`, { status: 200, token: admin })
    await ask('DELETE', `/users/carol/sessions/${login?.id}`, { status: 204, token: admin })
    await ask('GET', `/users/carol/sessions/${login?.id}`, { status: 404, token: admin })
    await ask('DELETE', '/sessions/current', { status: 204, headers: { cookie } })
    await ask('GET', '/me', { status: 401, headers: { cookie } })
    await ask('DELETE', `/sessions/${'A'.repeat(43)}`, { status: 404 })
    await ask('POST', '/sessions/current', { status: 405, ...form({}) })
    const again = cookieOf(await ask('POST', '/sessions', { status: 201, json }))
    const out = form({ _method: 'DELETE', return_to: `${stack.auth.url}/docs` })
    await ask('POST', '/sessions/current', { status: 303, ...out, headers: { ...headers, cookie: again } })
  })

  it('describes the answers that need no caller', async () => {
    await ask('GET', '/healthz', { status: 200 })
    await ask('GET', '/readyz', { status: 200 })
    await ask('GET', '/openapi.json', { status: 200 })
    await ask('GET', '/.well-known/key-signed-keys.json', { status: 200 })
    const { body, headers } = await ask('GET', '/.well-known/jwks.json', { status: 200 })
    const etag = String(headers.get('etag'))
    await ask('GET', '/.well-known/jwks.json', { status: 304, headers: { 'if-none-match': etag } })
    const [key] = body.keys as { kid: string }[]
    await ask('GET', `/.well-known/keys/${key?.kid}.pem`, { status: 200 })
    await ask('GET', '/.well-known/keys/none.pem', { status: 404 })
  })
})
