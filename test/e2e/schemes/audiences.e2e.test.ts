/**
 * Resource chooses the audience of what is issued (RFC 8707): each issuing route, with each audience, at each server.
 */
import { createHash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../../support/clients/http-client.ts'
import {
  basicOf,
  clientCredentials,
  expectOAuthError,
  type MadeKey,
  makeApiKey,
  postAsKey,
  postForm,
} from '../../support/clients/oauth-requests.ts'
import { cookieSetBy, formOf, signIn } from '../../support/clients/pages/sign-in.ts'
import { keySignedHeaders } from '../../support/clients/scheme-clients/key-signed.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let key: MadeKey

const invoices = 'urn:example:invoices'
const password = passwordOf('alice')
const user = { username: 'alice', password }

/** The resource server with this audience, made a moment ago by the servers' clock. */
const addServer = (id: string, audience: string) =>
  stack.database.query(
    `insert into auth.resource_servers (id, audience, name, created_at, updated_at)
      values ($1, $2, $1, $3::text::timestamptz, $3::text::timestamptz)`,
    [id, audience, new Date(stack.clock.now()).toISOString()],
  )
const removeServer = (id: string) => stack.database.query('delete from auth.resource_servers where id = $1', [id])

/** The header fields that carry a credential. */
type Fields = Record<string, string>

/** A way to get a credential for `resource`; the fields of the credential, or the refusal. */
type Issue = (resource: string | undefined) => Promise<Fields | Reply>

const issued = (reply: Reply, fields: (reply: Reply) => Fields) => (reply.status < 300 ? fields(reply) : reply)
const bearer = ({ body }: Reply): Fields => ({ authorization: `Bearer ${body.access_token}` })
const cookie = (reply: Reply): Fields => {
  const set = cookieSetBy(reply)
  return { cookie: `${set?.name}=${set?.value}` }
}
const asked = (resource: string | undefined) => (resource === undefined ? {} : { resource })

const routes: Readonly<Record<string, Issue>> = {
  'POST /login': async (resource) =>
    issued(await stack.auth.send('/login', { json: { ...user, ...asked(resource) } }), bearer),
  'POST /sessions': async (resource) =>
    issued(await stack.auth.send('/sessions', { json: { ...user, ...asked(resource) } }), cookie),
  'POST /sessions, a form': async (resource) =>
    issued(await stack.auth.send('/sessions', formOf({ ...user, ...asked(resource) })), cookie),
  'POST /key-signed-tokens': async (resource) =>
    issued(await stack.auth.send('/key-signed-tokens', { json: { ...user, ...asked(resource) } }), ({ body }) =>
      keySignedHeaders(String(body.token)),
    ),
  'POST /key-signed-tokens, all parts': async (resource) => {
    const json = { ...user, ...asked(resource), include: ['username', 'ip', 'password'] }
    return issued(await stack.auth.send('/key-signed-tokens', { json }), ({ body }) =>
      keySignedHeaders(String(body.token), password),
    )
  },
  'POST /oauth/token, an API key': async (resource) =>
    issued(await postAsKey(stack, key, '/oauth/token', { ...clientCredentials, ...asked(resource) }), bearer),
  'POST /oauth/token, a refresh': async (resource) => {
    const login = await stack.auth.send('/login', { json: { ...user, ...asked(resource) } })
    const form = { grant_type: 'refresh_token', refresh_token: String(login.body.refresh_token ?? 'none') }
    return issued(await postForm(stack, '/oauth/token', { ...form, ...asked(resource) }), bearer)
  },
  'POST /refresh': async (resource) => {
    const login = await stack.auth.send('/login', { json: { ...user, ...asked(resource) } })
    if (login.status !== 200) return login
    return issued(
      await stack.auth.send('/refresh', { method: 'POST', token: String(login.body.refresh_token) }),
      bearer,
    )
  },
}

const fieldsOf = async (issue: Issue, resource: string | undefined): Promise<Fields> => {
  const result = await issue(resource)
  if ('status' in result) throw new Error(String((result as Reply).text))
  return result
}

/** What both servers answer to this credential. */
const askBoth = async (headers: Fields): Promise<Reply[]> => [
  await stack.auth.send('/me', { headers }),
  await stack.auth.send('/sessions', { headers }),
  ...(await Promise.all(stack.deals.map((deal) => deal.send('/rest/v1/deals', { headers })))),
  ...(await Promise.all(
    stack.deals.map((deal) => deal.send('/rest/v1/deals', { headers, json: { name: 'a deal', price: 5 } })),
  )),
]

const refreshTokenOf = async (json: object): Promise<string> =>
  String((await stack.auth.send('/login', { json })).body.refresh_token)

describeBackends('the audience of what is issued', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2, environment: { LOGIN_FAILURES_PER_ADDRESS: '1000/60' } })
    key = await makeApiKey(stack, (await stack.logIn('alice')).access, { kind: 'hmac' })
    await addServer('invoices', invoices)
  })
  afterAll(() => stack.close())

  describe.each(Object.entries(routes))('%s', (name, issue) => {
    it('is for the pair without resource, and with its audience or one of its origins', async () => {
      const origin = String(stack.environment.DEAL_PUBLIC_ORIGIN)
      const others = name === 'POST /login' ? ['deals', `${origin}/`, stack.auth.url] : []
      for (const resource of [undefined, origin, ...others]) {
        const replies = await askBoth(await fieldsOf(issue, resource))
        expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 201, 201])
      }
    })

    it('is for the resource server alone whose audience was asked for', async () => {
      const fields = await fieldsOf(issue, invoices)
      // Twice: the verdict on a token is remembered.
      for (const reply of [...(await askBoth(fields)), ...(await askBoth(fields))]) {
        expectProblem(reply, 401, 'wrong-audience')
        expect(reply.headers.getSetCookie()).toEqual([])
        const challenge = reply.headers.get('www-authenticate')
        if (fields.authorization?.startsWith('Bearer')) expect(challenge).toContain('error="invalid_token"')
        if (fields.authorization?.startsWith('KeySigned')) expect(challenge).toBe('KeySigned realm="keyhold"')
      }
    })

    it('is refused for what is the audience of no resource server', async () => {
      const origin = String(stack.environment.DEAL_PUBLIC_ORIGIN)
      const others = [
        `${invoices}/`,
        `${invoices}\0`,
        'invoices',
        `${origin}/rest`,
        `${origin}#part`,
        ' deals',
        '\ud83d',
      ]
      for (const resource of [
        `${invoices}#part`,
        invoices.toUpperCase(),
        'x'.repeat(10_000),
        ...(name === 'POST /login' ? others : []),
      ]) {
        const reply = await issue(resource)
        expect(reply.status, resource.slice(0, 40)).toBeDefined()
        if (name.startsWith('POST /oauth')) expectOAuthError(reply as Reply, 400, 'invalid_target')
        else {
          expectProblem(reply as Reply, 422, 'invalid-value')
          const errors = [{ pointer: '/resource', code: 'unknown-resource', message: expect.any(String) }]
          expect((reply as Reply).body.errors).toEqual(errors)
        }
      }
    })
  })

  it('refuses a resource that is no text, or two, with a pointer', async () => {
    for (const path of ['/login', '/sessions', '/key-signed-tokens']) {
      for (const resource of [null, 1, true, {}, [], [invoices], [invoices, 'deals']]) {
        const reply = await stack.auth.send(path, { json: { ...user, resource } })
        expectProblem(reply, 400, 'invalid-body')
        expect(reply.body.errors).toEqual([{ pointer: '/resource', code: 'wrong-type', message: expect.any(String) }])
      }
      expectProblem(await stack.auth.send(path, { json: { ...user, resource: '' } }), 422, 'invalid-value')
      expectProblem(await stack.auth.send(path, { json: { ...user, audience: invoices } }), 400, 'invalid-body')
      expectProblem(
        await stack.auth.send(path, { json: { ...user, resource: 'x'.repeat(20_000) } }),
        413,
        'body-too-large',
      )
    }
    const twice: Sent = {
      ...formOf({}),
      body: `username=alice&password=${password}&resource=deals&resource=${invoices}`,
    }
    const reply = await stack.auth.send('/sessions', twice)
    expectProblem(reply, 400, 'invalid-body')
    expect(reply.body.errors).toMatchObject([{ pointer: '/resource', code: 'duplicate' }])
    for (const second of ['deals', invoices]) {
      const form = [...Object.entries(clientCredentials), ['resource', 'deals'], ['resource', second]] as [
        string,
        string,
      ][]
      expectOAuthError(await postForm(stack, '/oauth/token', form, basicOf(key.id, key.secret)), 400, 'invalid_target')
    }
  })

  it('says the audience in access tokens, which a refresh keeps', async () => {
    for (const [resource, aud] of [
      [undefined, 'deals'],
      [stack.auth.url, 'deals'],
      [invoices, invoices],
    ]) {
      let { body } = await stack.auth.send('/login', { json: { ...user, ...asked(resource) } })
      for (let round = 0; round < 3; round += 1) {
        expect(decodeJwt(String(body.access_token)).aud).toBe(aud)
        ;({ body } = await stack.auth.send('/refresh', { method: 'POST', token: String(body.refresh_token) }))
      }
      // A lost answer: the token before is repeated.
      const former = String(body.refresh_token)
      for (let round = 0; round < 2; round += 1) {
        const again = await stack.auth.send('/refresh', { method: 'POST', token: former })
        expect(decodeJwt(String(again.body.access_token)).aud).toBe(aud)
      }
    }
  })

  it('refreshes for the audience of the login alone, and uses no token up for another', async () => {
    for (const own of ['deals', invoices]) {
      const token = await refreshTokenOf({ ...user, resource: own })
      const other = own === 'deals' ? invoices : 'deals'
      const form = { grant_type: 'refresh_token', refresh_token: token }
      for (const resource of [other, 'urn:example:none', `${own}#part`]) {
        for (let times = 0; times < 2; times += 1) {
          expectOAuthError(await postForm(stack, '/oauth/token', { ...form, resource }), 400, 'invalid_target')
        }
      }
      const { status, body } = await postForm(stack, '/oauth/token', { ...form, resource: own })
      expect({ status, aud: decodeJwt(String(body.access_token)).aud }).toEqual({ status: 200, aud: own })
      const next = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
      const without = await postForm(stack, '/oauth/token', next)
      expect(decodeJwt(String(without.body.access_token)).aud).toBe(own)
    }
    const nonsense = { grant_type: 'refresh_token', refresh_token: 'nonsense', resource: invoices }
    expectOAuthError(await postForm(stack, '/oauth/token', nonsense), 400, 'invalid_grant')
  })

  it('shows tokens of every audience at introspection, and revokes them', async () => {
    const introspect = (token: string) => postAsKey(stack, key, '/oauth/introspect', { token })
    for (const resource of [undefined, invoices]) {
      const json = { ...user, ...asked(resource) }
      const aud = resource ?? 'deals'
      const login = (await stack.auth.send('/login', { json })).body
      const [access, refresh] = [String(login.access_token), String(login.refresh_token)]
      expect((await introspect(access)).body).toMatchObject({ active: true, username: 'alice', aud })
      expect((await introspect(refresh)).body).toMatchObject({ active: true, username: 'alice' })
      const keySigned = String((await stack.auth.send('/key-signed-tokens', { json })).body.token)
      expect((await introspect(keySigned)).body).toMatchObject({ active: true, token_type: 'KeySigned', aud })
      const { body } = await postAsKey(stack, key, '/oauth/token', { ...clientCredentials, ...asked(resource) })
      expect((await introspect(String(body.access_token))).body).toMatchObject({ active: true, aud })

      expect((await postForm(stack, '/oauth/revoke', { token: keySigned })).status).toBe(200)
      expect((await postAsKey(stack, key, '/oauth/revoke', { token: String(body.access_token) })).status).toBe(200)
      expect((await postForm(stack, '/oauth/revoke', { token: access })).status).toBe(200)
      for (const token of [access, refresh, keySigned, String(body.access_token)]) {
        expect((await introspect(token)).body).toEqual({ active: false })
      }
    }
  })

  it('asks no caller with a token for another audience in, at introspection either', async () => {
    const token = String((await stack.auth.send('/login', { json: { ...user, resource: invoices } })).body.access_token)
    const reply = await postForm(stack, '/oauth/introspect', { token }, { authorization: `Bearer ${token}` })
    expectOAuthError(reply, 401, 'invalid_token')
    expect(reply.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  it('ends a login by its access token, and a session by its cookie, whatever their audience', async () => {
    const { body } = await stack.auth.send('/login', { json: { ...user, resource: invoices } })
    expect((await stack.auth.send('/logout', { method: 'POST', token: String(body.access_token) })).status).toBe(204)
    const refused = await stack.auth.send('/refresh', { method: 'POST', token: String(body.refresh_token) })
    expectProblem(refused, 400, 'invalid_grant')

    const session = await signIn(stack, 'alice', { json: { ...user, resource: invoices } })
    const headers = { cookie: session.cookie }
    expect((await stack.auth.send('/sessions/current', { method: 'DELETE', headers })).status).toBe(204)
    expectProblem(await stack.auth.send('/me', { headers }), 401, 'invalid-session')
  })

  it('tells deal servers the audience of a session, whose use is asked of the auth server', async () => {
    const { cookie: field, key: sessionKey } = await signIn(stack, 'alice', { json: { ...user, resource: invoices } })
    const keyHash = createHash('sha256').update(sessionKey).digest('base64url')
    const rows = await stack.database.query<{ audience: string }>(
      'select audience from auth.sessions where key_hash = $1',
      [keyHash],
    )
    expect(rows).toEqual([{ audience: invoices }])
    for (const server of [...stack.deals, ...stack.deals]) {
      expectProblem(await server.send('/rest/v1/deals', { headers: { cookie: field } }), 401, 'wrong-audience')
    }
    const page = await stack.deal.send('/console', { headers: { cookie: field, accept: 'text/html' } })
    expect([303, 401]).toContain(page.status)
    expect(page.headers.getSetCookie()).toEqual([])
  })

  describe('of a resource server that is no longer there', () => {
    const archive = 'https://archive.example'
    const introspect = async (token: string) => (await postAsKey(stack, key, '/oauth/introspect', { token })).body
    const refresh = (token: string) => stack.auth.send('/refresh', { method: 'POST', token })
    const listed = async () => {
      const { access: token } = await stack.logIn('alice')
      return JSON.stringify((await stack.auth.send('/sessions?limit=200', { token })).body)
    }

    it.each([
      ['was deleted', () => removeServer('archive'), () => addServer('archive', archive)],
      [
        'has another audience',
        () => stack.database.query(`update auth.resource_servers set audience = 'urn:other' where id = 'archive'`),
        () => addServer('archive-2', archive),
      ],
    ])(
      'because it %s: nothing is issued or refreshed for it, nor after another one has its audience',
      async (_how, change, replace) => {
        await addServer('archive', archive)
        const json = { ...user, resource: archive }
        const login = (await stack.auth.send('/login', { json })).body
        const session = await signIn(stack, 'alice', { json })
        const keySigned = String((await stack.auth.send('/key-signed-tokens', { json })).body.token)
        const first = await refresh(String(login.refresh_token))
        expect(first.status).toBe(200)
        expect(await listed()).toContain(session.id)

        await change()
        expectProblem(await refresh(String(first.body.refresh_token)), 400, 'invalid_grant')
        expectProblem(await refresh(String(login.refresh_token)), 400, 'invalid_grant')
        for (const token of [first.body.access_token, first.body.refresh_token, keySigned]) {
          expect(await introspect(String(token))).toEqual({ active: false })
        }
        expectProblem(await stack.auth.send('/me', { headers: { cookie: session.cookie } }), 401, 'invalid-session')
        expect(await listed()).not.toContain(session.id)
        expectProblem(await stack.auth.send('/login', { json }), 422, 'invalid-value')
        const form = { ...clientCredentials, resource: archive }
        expectOAuthError(await postAsKey(stack, key, '/oauth/token', form), 400, 'invalid_target')

        stack.clock.advanceSeconds(120)
        await replace()
        expectProblem(await refresh(String(first.body.refresh_token)), 400, 'invalid_grant')
        expectProblem(await stack.auth.send('/me', { headers: { cookie: session.cookie } }), 401, 'invalid-session')
        const later = await stack.auth.send('/login', { json })
        expect((await refresh(String(later.body.refresh_token))).status).toBe(200)
        for (const id of ['archive', 'archive-2']) await removeServer(id)
      },
    )
  })
})
