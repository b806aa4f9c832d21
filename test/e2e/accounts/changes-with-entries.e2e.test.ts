import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInternalRequest } from '../../../shared/protocol/internal-api/requests.ts'
import type { Reply, Sent } from '../../support/clients/http-client.ts'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { formOf, signIn } from '../../support/clients/pages/sign-in.ts'
import {
  answerOf,
  exchange,
  newVerifier,
  requestOf,
  signedInBrowser,
} from '../../support/clients/sign-in/applications.ts'
import { hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { beginOn, poll } from '../../support/clients/sign-in/devices.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

/** A request that changes something. It is sent until it succeeds. */
interface Change {
  readonly send: () => Promise<Reply>
  /** Action, target and outcome of each entry. */
  readonly entries: readonly (readonly [action: string, target: unknown, outcome?: string])[]
}

/** Routes that change nothing that an entry tells of, or change it as another route of the walk. */
const others = [
  'POST /access/v1/evaluation',
  'POST /access/v1/evaluations',
  'POST /key-signed-tokens',
  'POST /oauth/authorize',
  // A request that nobody has answered yet.
  'POST /oauth/device_authorization',
  'POST /oauth/introspect',
  'POST /oauth/logout',
  'POST /oauth/par',
  'POST /oauth/userinfo',
  'POST /me/second-factors/totp',
  'POST /me/second-factors/passkeys/options',
  // As POST /me/second-factors/totp/confirm.
  'POST /me/second-factors/passkeys',
]

const tables = [
  'users',
  'principals',
  'principal_change_counter',
  'login_families',
  'sessions',
  'api_keys',
  'digest_secrets',
  'password_resets',
  'second_factors',
  'recovery_codes',
  'ended_tokens',
  'resource_servers',
  'rights',
  'roles',
  'services',
  'clients',
  'ended_clients',
  'consents',
  'device_requests',
]
/** What the use of a credential moves. */
const uses = ['last_used_at', 'tokens_expire_at', 'used_step'].map((column) => ` - '${column}'`).join('')
const digests = tables.map(
  (table) => `(select md5(coalesce(string_agg((to_jsonb(t)${uses})::text, ' ' order by (to_jsonb(t)${uses})::text), ''))
    from auth.${table} t)`,
)

describeBackends('each change of the auth server', (openBackend) => {
  let stack: Stack
  let admin: string

  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const data = async () => {
    const rows = await stack.database.query<{ all: string }>(`select concat_ws(' ', ${digests.join(', ')}) as all`)
    return rows[0]?.all
  }
  /** From now on, the database stores no entry, as with a full disk; or it does again. */
  const refuseEntries = (refuses: boolean) =>
    stack.database.transaction(async (transaction) => {
      await transaction.execute(`create or replace function auth.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'full' using errcode = '53100'; end $$`)
      await transaction.execute(
        refuses
          ? 'create trigger refused before insert on auth.audit_journal execute function auth.refuse()'
          : 'drop trigger refused on auth.audit_journal',
      )
    })
  const lastEntry = async () => {
    const { body } = await stack.auth.send('/audit?order=desc&limit=1', { token: admin })
    return Number((body.items as { seq: number }[])[0]?.seq ?? 0)
  }
  const entriesBehind = async (after: number) => {
    const { body } = await stack.auth.send(`/audit?after=${after}`, { token: admin })
    return (body.items as Record<string, unknown>[]).map(({ action, target, outcome }) => [action, target, outcome])
  }
  const walked = new Set<string>()

  /** A change without its entry fails and changes nothing; then it succeeds, with exactly its entries. */
  async function walk(route: string, { send, entries }: Change): Promise<Reply> {
    walked.add(route)
    const [before, last] = [await data(), await lastEntry()]
    await refuseEntries(true)
    const refused = await send().finally(() => refuseEntries(false))
    expect(refused.status, `${route}: ${refused.text}`).toBe(503)
    expect(await data(), route).toBe(before)
    expect(await entriesBehind(last), route).toEqual([])
    const reply = await send()
    expect(reply.status, `${route}: ${reply.text}`).toBeLessThan(400)
    expect(await data(), route).not.toBe(before)
    const expected = entries.map(([action, target, outcome = 'succeeded']) => [action, target, outcome])
    expect(await entriesBehind(last), route).toEqual(expected)
    return reply
  }

  const ask =
    (method: string, path: string, sent: Sent = {}) =>
    () =>
      stack.auth.send(path, { method, token: admin, ...sent })
  const post = (path: string, json: object, token?: string) => () =>
    stack.auth.send(path, { json, ...(token === undefined ? {} : { token }) })
  /** As a deal server whose use cases need a right that the catalogue lacks. */
  const declareRight = () => {
    const json = { rights: [{ name: 'deal.engrave', description: 'Engrave deals', readsOnly: false }] }
    const target = '/internal/declared-rights'
    const request = { method: 'POST', target, body: JSON.stringify(json) }
    const signing = { secret: stack.environment.SERVICE_SECRET ?? '', clock: stack.clock, nonce: randomUUID() }
    return stack.auth.send(target, { json, headers: { authorization: signInternalRequest(request, signing) } })
  }
  const password = { password: passwordOf('admin') }
  const sidOf = (token: string) => String(decodeJwt(token).sid)
  function codeOf(secret: unknown): string {
    stack.clock.advanceSeconds(60)
    rememberSecret(String(secret))
    return new TOTP({ secret: Secret.fromBase32(String(secret)) }).generate({ timestamp: stack.clock.now() })
  }

  it('has its entry in its transaction: users', async () => {
    const json = { username: 'erin', password: 'a long enough secret', roles: ['viewer'] }
    const on = (action: string): Change['entries'] => [[action, 'erin']]
    await walk('POST /users', { send: ask('POST', '/users', { json }), entries: on('user.created') })
    const user = '/users/erin'
    const patch = { json: { roles: ['agent'] } }
    await walk('PATCH /users/:username', { send: ask('PATCH', user, patch), entries: on('user.changed') })
    const newPassword = 'another long secret'
    await walk('PUT /users/:username/password', {
      send: ask('PUT', `${user}/password`, { json: { newPassword } }),
      entries: on('user.password-changed'),
    })
    await walk('PUT /users/:username/digest-secret', {
      send: ask('PUT', `${user}/digest-secret`, { json: password }),
      entries: on('user.digest-secret-made'),
    })
    const { body } = await walk('POST /users/:username/password-reset', {
      send: ask('POST', `${user}/password-reset`),
      entries: on('user.password-reset-made'),
    })
    await walk('POST /password-resets', {
      send: post('/password-resets', { code: body.code, newPassword: json.password }),
      entries: on('user.password-reset'),
    })
    await stack.logIn('erin', json.password)
    await walk('DELETE /users/:username/sessions', {
      send: ask('DELETE', `${user}/sessions`),
      entries: on('user.logins-ended'),
    })
    await walk('DELETE /users/:username/lock', { send: ask('DELETE', `${user}/lock`), entries: on('user.unlocked') })
    await walk('POST /users/:username/logout', {
      send: ask('POST', `${user}/logout`),
      entries: on('user.logged-out'),
    })
    await walk('DELETE /users/:username', { send: ask('DELETE', user), entries: on('user.deleted') })
  })

  it('has its entry in its transaction: logins and sessions', async () => {
    const { body } = await walk('POST /login', {
      send: post('/login', { username: 'carol', password: passwordOf('carol') }),
      entries: [['login.started', 'carol']],
    })
    const sid = sidOf(String(body.access_token))
    const refresh = (token: unknown) => () => stack.auth.send('/refresh', { method: 'POST', token: String(token) })
    const refreshed: Change['entries'] = [['token.refreshed', sid]]
    const second = await walk('POST /refresh', { send: refresh(body.refresh_token), entries: refreshed })
    const form = { grant_type: 'refresh_token', refresh_token: String(second.body.refresh_token) }
    await walk('POST /oauth/token', {
      send: () => stack.auth.send('/oauth/token', { method: 'POST', ...formOf(form) }),
      entries: refreshed,
    })
    await walk('POST /logout', {
      send: () => stack.auth.send('/logout', { method: 'POST', token: String(second.body.access_token) }),
      entries: [['login.ended', sid]],
    })
    const { refresh: token } = await stack.logIn('carol')
    await walk('POST /oauth/revoke', {
      send: () => stack.auth.send('/oauth/revoke', { method: 'POST', ...formOf({ token }) }),
      entries: [['login.ended', sidOf(token)]],
    })
    const first = await signIn(stack, 'carol')
    const json = { username: 'carol', password: passwordOf('carol') }
    await walk('POST /sessions', {
      send: () => stack.auth.send('/sessions', { json, headers: { cookie: first.cookie } }),
      entries: [
        ['session.started', 'carol'],
        ['login.ended', first.id, 'replaced'],
      ],
    })
    const [ended, byForm, byAdmin] = [
      await signIn(stack, 'carol'),
      await signIn(stack, 'carol'),
      await signIn(stack, 'carol'),
    ]
    await walk('DELETE /sessions/:key', {
      send: () => stack.auth.send(`/sessions/${ended.key}`, { method: 'DELETE' }),
      entries: [['login.ended', ended.id]],
    })
    const headers = { 'x-http-method-override': 'DELETE' }
    await walk('POST /sessions/:key', {
      send: () => stack.auth.send(`/sessions/${byForm.key}`, { method: 'POST', headers }),
      entries: [['login.ended', byForm.id]],
    })
    await walk('DELETE /users/:username/sessions/:id', {
      send: ask('DELETE', `/users/carol/sessions/${byAdmin.id}`),
      entries: [['login.ended', byAdmin.id]],
    })
  })

  it('has its entry in its transaction: second factors and API keys', async () => {
    const bob = (await stack.logIn('bob')).access
    const proof = { password: passwordOf('bob') }
    const on = (action: string): Change['entries'] => [[action, 'bob']]
    const own = '/me/second-factors'
    const { secret, challenge } = (await post(`${own}/totp`, proof, bob)()).body
    const added = await walk(`POST ${own}/totp/confirm`, {
      send: () => post(`${own}/totp/confirm`, { challenge, code: codeOf(secret) }, bob)(),
      entries: on('second-factor.added'),
    })
    const { body } = await walk(`POST ${own}/recovery-codes`, {
      send: post(`${own}/recovery-codes`, proof, bob),
      entries: on('second-factor.recovery-codes-made'),
    })
    const [code = ''] = body.codes as string[]
    await walk('POST /login', {
      send: post('/login', { username: 'bob', ...proof, code }),
      entries: [...on('second-factor.recovery-code-used'), ...on('login.started')],
    })
    const made = await walk('POST /api-keys', {
      send: post('/api-keys', { kind: 'hmac', ...proof }, bob),
      entries: on('api-key.created'),
    })
    const key = `/api-keys/${made.body.id}`
    const onKey = (action: string): Change['entries'] => [[action, made.body.id]]
    const rotate = post(`${key}/rotate`, proof, bob)
    await walk('POST /api-keys/:id/rotate', { send: rotate, entries: onKey('api-key.rotated') })
    await stack.database.write('update auth.api_keys set confirmed = false returning 1 as changed')
    await walk('POST /api-keys/:id/confirm', {
      send: post(`${key}/confirm`, proof, bob),
      entries: onKey('api-key.confirmed'),
    })
    const revoke = () => stack.auth.send(key, { method: 'DELETE', token: bob })
    await walk('DELETE /api-keys/:id', { send: revoke, entries: onKey('api-key.revoked') })
    const [factor] = added.body.factors as { id: string }[]
    await walk(`DELETE ${own}/enrolled/:id`, {
      send: () => stack.auth.send(`${own}/enrolled/${factor?.id}`, { method: 'DELETE', token: bob, json: proof }),
      entries: on('second-factor.removed'),
    })
    const again = (await post(`${own}/totp`, proof, bob)()).body
    await post(`${own}/totp/confirm`, { challenge: again.challenge, code: codeOf(again.secret) }, bob)()
    await walk('DELETE /users/:username/second-factors', {
      send: ask('DELETE', '/users/bob/second-factors', { json: password }),
      entries: on('user.second-factors-reset'),
    })
  })

  it('has its entry in its transaction: the catalogue and services', async () => {
    const right = { name: 'invoice.approve', description: 'Approve invoices', readsOnly: false }
    const invoices = { id: 'invoices', audience: 'urn:example:invoices', name: 'Invoices', rights: [right] }
    const onServer = (action: string): Change['entries'] => [[`resource-server.${action}`, 'invoices']]
    await walk('POST /resource-servers', {
      send: ask('POST', '/resource-servers', { json: invoices }),
      entries: onServer('created'),
    })
    await walk('PATCH /resource-servers/:id', {
      send: ask('PATCH', '/resource-servers/invoices', { json: { name: 'Bills' } }),
      entries: onServer('changed'),
    })
    const role = { description: 'Approves', rights: [right.name] }
    const onRole = (action: string): Change['entries'] => [[`role.${action}`, 'approver']]
    await walk('POST /roles', {
      send: ask('POST', '/roles', { json: { name: 'approver', ...role } }),
      entries: onRole('created'),
    })
    await walk('PUT /roles/:name', {
      send: ask('PUT', '/roles/approver', { json: { ...role, rights: [] } }),
      entries: onRole('changed'),
    })
    await walk('DELETE /roles/:name', { send: ask('DELETE', '/roles/approver'), entries: onRole('deleted') })
    await walk('POST /internal/declared-rights', {
      send: declareRight,
      entries: [['resource-server.changed', 'deals']],
    })
    const json = { name: 'invoices-1', resourceServer: 'invoices' }
    const { body } = await walk('POST /services', {
      send: ask('POST', '/services', { json }),
      entries: [['service.created', expect.stringMatching(/./)]],
    })
    const service = `/services/${body.id}`
    const onService = (action: string): Change['entries'] => [[`service.${action}`, body.id]]
    await walk('POST /services/:id/rotate', {
      send: ask('POST', `${service}/rotate`),
      entries: onService('rotated'),
    })
    await walk('DELETE /services/:id', { send: ask('DELETE', service), entries: onService('deleted') })
    await walk('DELETE /resource-servers/:id', {
      send: ask('DELETE', '/resource-servers/invoices'),
      entries: onServer('deleted'),
    })
  })

  it('has its entry in its transaction: clients, consents, codes', async () => {
    const json = { name: 'shop', kind: 'confidential', redirectUris: ['https://app.example/callback'], rights: [] }
    const { body } = await walk('POST /clients', {
      send: ask('POST', '/clients', { json: { ...json, ...password } }),
      entries: [['client.created', expect.stringMatching(/./)]],
    })
    const path = `/clients/${body.id}`
    const onClient = (action: string): Change['entries'] => [[action, body.id]]
    await walk('PATCH /clients/:id', {
      send: ask('PATCH', path, { json: { name: 'the shop', ...password } }),
      entries: onClient('client.changed'),
    })
    const rotated = await walk('POST /clients/:id/rotate', {
      send: ask('POST', `${path}/rotate`, { json: password }),
      entries: onClient('client.rotated'),
    })
    const client = {
      id: String(body.id),
      secret: String(rotated.body.secret),
      redirectUri: 'https://app.example/callback',
    }
    rememberSecret(client.secret)
    const browser = await signedInBrowser(stack, 'carol')
    const { verifier, challenge } = newVerifier()
    const consent = await browser.go(`/oauth/authorize?${requestOf(client, { code_challenge: challenge })}`)
    let arrival = consent
    const form = (path: string, fields: Readonly<Record<string, string>>) => async () => {
      arrival = await browser.go(path, fields)
      return arrival.reply
    }
    await walk('POST /oauth/authorize/decision', {
      send: form('/oauth/authorize/decision', { ...hiddenFields(consent.reply.text), decision: 'allow' }),
      entries: onClient('consent.granted'),
    })
    const code = { code: answerOf(arrival).code ?? '', verifier }
    const getTokens = () => exchange(stack, client, code)
    await walk('POST /oauth/token', { send: getTokens, entries: onClient('client.login-started') })
    const withdraw = ask('DELETE', `/consents/${client.id}`, { token: (await stack.logIn('carol')).access })
    await walk('DELETE /consents/:clientId', { send: withdraw, entries: onClient('consent.withdrawn') })
    const device = await beginOn(stack)
    const allow = form('/oauth/device/decision', { user_code: device.userCode, decision: 'allow' })
    await walk('POST /oauth/device/decision', { send: allow, entries: [['device.approved', 'keyhold-cli']] })
    const pollOnce = () => poll(stack, device)
    await walk('POST /oauth/token', { send: pollOnce, entries: [['client.login-started', 'keyhold-cli']] })
    const signOut = form('/oauth/logout/decision', hiddenFields((await browser.go('/oauth/logout')).reply.text))
    const ended: Change['entries'] = [['login.ended', expect.stringMatching(/./)]]
    await walk('POST /oauth/logout/decision', { send: signOut, entries: ended })
    await walk('DELETE /clients/:id', { send: ask('DELETE', path), entries: onClient('client.deleted') })
  })

  it('has exactly one entry when nothing changed, and none that says so when it was refused', async () => {
    const last = await lastEntry()
    const json = { roles: ['admin'] }
    expect((await ask('PATCH', '/users/admin', { json })()).status).toBe(200)
    expect((await ask('PATCH', '/users/admin', { json: { roles: [] } })()).status).toBe(409)
    const key = { username: 'carol', password: passwordOf('carol') }
    expect((await post('/key-signed-tokens', key)()).status).toBe(201)
    expect(await entriesBehind(last)).toEqual([
      ['user.changed', 'admin', 'succeeded'],
      ['user.changed', 'admin', 'last-admin'],
      ['key-signed-token.issued', 'carol', 'succeeded'],
    ])
  })

  it('is one of this walk', () => {
    const changing = stack.served.endpoints.filter(({ method }) => method !== 'GET')
    const routes = changing.map(({ method, path }) => `${method} ${path}`)
    const ofUsers = [...walked].filter((route) => !route.includes(' /internal/'))
    expect([...ofUsers, ...others].sort()).toEqual([...new Set(routes)].sort())
  })
})
