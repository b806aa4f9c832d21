import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { changesInWords, type EntryChange } from '../../../shared/protocol/entry-changes.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { postForm } from '../../support/clients/oauth-requests.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { asApplication } from '../../support/clients/tool-calls.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

type Entry = Readonly<Record<string, unknown>>

let stack: Stack
let admin: string

/** Entries behind `after`, as an administrator reads them. */
async function entriesBehind(after: number): Promise<Entry[]> {
  const { status, body } = await stack.auth.send(`/audit?after=${after}&limit=200`, { token: admin })
  expect(status).toBe(200)
  return body.items as Entry[]
}

/** What is written down while `work` runs. */
async function entriesOf(work: () => Promise<unknown>): Promise<Entry[]> {
  const last = (await entriesBehind(0)).at(-1)?.seq ?? 0
  await work()
  return entriesBehind(Number(last))
}

/** The same of one user: of others, refusals that were left out may be told of meanwhile. */
const entriesBy = async (username: string, work: () => Promise<unknown>): Promise<Entry[]> =>
  (await entriesOf(work)).filter(({ actor }) => actor === username)

const told = (entries: Entry[]) =>
  entries.map(({ actor, action, target, outcome, scheme }) => [actor, action, target, outcome, scheme])

describeBackends('the audit log', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const auth = (path: string, sent = {}) => stack.auth.send(path, { token: admin, ...sent })

  it('tells of logins, accepted and refused', async () => {
    const entries = await entriesOf(async () => {
      await stack.logIn('alice')
      await stack.auth.send('/login', { json: { username: 'alice', password: 'not her password' } })
    })
    expect(told(entries)).toEqual([
      ['alice', 'login.started', 'alice', 'succeeded', null],
      ['alice', 'login.started', 'alice', 'invalid-credentials', null],
    ])
    expect(entries[0]).toMatchObject({ address: '127.0.0.1', at: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(entries[0]?.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('tells which roles, rights and settings were given and taken, and no secret', async () => {
    const secrets: unknown[] = []
    const right = (name: string) => ({ name, description: '', readsOnly: false })
    const calls: [string, string, object?][] = [
      [
        'POST',
        '/resource-servers',
        { id: 'books', audience: 'urn:books', name: 'Books', rights: [right('book.lend')] },
      ],
      ['PATCH', '/resource-servers/books', { name: 'Library', rights: [right('book.read')] }],
      ['POST', '/roles', { name: 'clerk', description: 'Lends', rights: ['deal.read', 'book.read'] }],
      ['PUT', '/roles/clerk', { description: 'Lends', rights: ['deal.hold', 'book.read'] }],
      [
        'POST',
        '/users',
        { username: 'erin', password: 'a long enough secret', roles: ['clerk'], rights: ['key.read'] },
      ],
      ['PATCH', '/users/erin', { roles: ['clerk', 'viewer'], rights: [], enabled: false }],
      ['PATCH', '/users/erin', { roles: ['viewer', 'clerk'] }],
      ['PATCH', '/users/erin', { displayName: 'Erin', email: 'erin@example.org', emailVerified: true }],
      ['PATCH', '/users/erin', { email: 'erin@example.net' }],
      ['POST', '/services', { name: 'lending', resourceServer: 'books', password: passwordOf('admin') }],
      ['DELETE', '/roles/clerk'],
      ['DELETE', '/users/erin'],
      ['DELETE', '/resource-servers/books'],
      ['POST', '/api-keys', { kind: 'hmac', name: 'nightly', rights: ['deal.read'] }],
    ]
    const entries = await entriesOf(async () => {
      for (const [method, path, json] of calls) {
        const reply = await auth(path, { method, ...(json && { json }) })
        expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300)
        secrets.push(reply.body.secret)
      }
    })
    expect(entries.map(({ action, changes = [] }) => `${action} ${changesInWords(changes as EntryChange[])}`)).toEqual([
      'resource-server.created audience +urn:books, name +Books, rights +book.lend',
      'resource-server.changed name Books → Library, rights book.lend → book.read',
      'role.created rights +deal.read +book.read, description +Lends',
      'role.changed rights deal.read → deal.hold',
      'user.created roles +clerk, rights +key.read, enabled +true',
      'user.changed roles +viewer, rights -key.read, enabled true → false',
      'user.changed ',
      'user.changed emailVerified +true, displayName changed, email changed',
      'user.changed emailVerified -true, email changed',
      'service.created name +lending, resourceServer +books',
      'role.deleted rights -deal.hold -book.read, description -Lends',
      'user.deleted roles -viewer, enabled -false, displayName changed, email changed',
      'resource-server.deleted audience -urn:books, name -Library, rights -book.read',
      expect.stringMatching(/^api-key.created id \+[0-9a-f-]{36}, kind \+hmac, name \+nightly, rights \+deal.read/),
    ])
    expect('changes' in (entries[6] ?? {})).toBe(false)
    for (const secret of [...secrets, 'a long enough secret', 'erin@example', 'Erin', passwordOf('admin')].filter(
      (one) => one !== undefined,
    ))
      expect(JSON.stringify(entries)).not.toContain(String(secret))
  })

  it('keeps nothing of a password that somebody typed as a user name', async () => {
    const password = `my secret ${randomUUID()}`
    const entries = await entriesOf(() => stack.auth.send('/login', { json: { username: password, password } }))
    expect(told(entries)).toEqual([[null, 'login.started', null, 'invalid-credentials', null]])
  })

  it('tells of new pairs, and of a refresh token that came back', async () => {
    const { access, refresh } = await stack.logIn('carol')
    const sid = decodeJwt(access).sid
    const post = (path: string, token: string) => stack.auth.send(path, { method: 'POST', token })
    const entries = await entriesOf(async () => {
      const second = await post('/refresh', refresh)
      const third = await post('/refresh', String(second.body.refresh_token))
      await post('/refresh', String(third.body.refresh_token))
      expectProblem(await post('/refresh', refresh), 400, 'invalid_grant')
      await post('/refresh', 'junk')
    })
    expect(told(entries)).toEqual([
      ['carol', 'token.refreshed', sid, 'succeeded', null],
      ['carol', 'token.refreshed', sid, 'succeeded', null],
      ['carol', 'token.refreshed', sid, 'succeeded', null],
      ['carol', 'login.ended', sid, 'refresh-token-reused', null],
      ['carol', 'token.refreshed', sid, 'invalid_grant', null],
    ])
  })

  it('tells of sessions by their public ids: begun, refused, replaced and ended', async () => {
    const entries = await entriesOf(async () => {
      const first = await signIn(stack, 'carol')
      const json = { username: 'carol', password: passwordOf('carol') }
      const second = await signIn(stack, 'carol', { json, headers: { cookie: first.cookie } })
      expect((await auth(`/users/carol/sessions/${second.id}`, { method: 'DELETE' })).status).toBe(204)
      await stack.auth.send('/sessions', { json: { ...json, password: 'a wrong one' } })
      const third = await signIn(stack, 'carol')
      await stack.auth.send(`/sessions/${third.key}`, { method: 'DELETE' })
      await stack.auth.send(`/sessions/${third.key}`, { method: 'DELETE' })
    })
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/)
    expect(told(entries)).toEqual([
      ['carol', 'session.started', 'carol', 'succeeded', null],
      ['carol', 'session.started', 'carol', 'succeeded', null],
      ['carol', 'login.ended', id, 'replaced', null],
      ['admin', 'login.ended', id, 'succeeded', 'bearer'],
      ['carol', 'session.started', 'carol', 'invalid-credentials', null],
      ['carol', 'session.started', 'carol', 'succeeded', null],
      ['carol', 'login.ended', id, 'succeeded', null],
    ])
  })

  it('tells of the administration of users, and of who may not', async () => {
    const { access: bob } = await stack.logIn('bob')
    const json = { username: 'erin', password: 'a long enough secret' }
    const entries = await entriesOf(async () => {
      await auth('/users', { json })
      await auth('/users', { json })
      await auth('/users/erin', { method: 'PATCH', json: { roles: ['viewer'] } })
      await auth('/users/erin/password', { method: 'PUT', json: { newPassword: 'another long secret' } })
      await auth('/users/erin/logout', { method: 'POST' })
      await stack.auth.send('/users/erin', { method: 'DELETE', token: bob })
      await auth('/users/erin', { method: 'DELETE' })
      await auth('/users/%00x', { method: 'DELETE' })
      await auth('/users/erin', { method: 'DELETE' })
      await auth('/users')
    })
    expect(told(entries)).toEqual([
      ['admin', 'user.created', 'erin', 'succeeded', 'bearer'],
      ['admin', 'user.created', 'erin', 'user-exists', 'bearer'],
      ['admin', 'user.changed', 'erin', 'succeeded', 'bearer'],
      ['admin', 'user.password-changed', 'erin', 'succeeded', 'bearer'],
      ['admin', 'user.logged-out', 'erin', 'succeeded', 'bearer'],
      ['bob', 'user.deleted', 'erin', 'missing-right', 'bearer'],
      ['admin', 'user.deleted', 'erin', 'succeeded', 'bearer'],
      ['admin', 'user.deleted', null, 'not-found', 'bearer'],
    ])
  })

  it('names the application by which a user acted, in what took place and in what was refused', async () => {
    const clerk = await asApplication(admin, { client_name: 'Clerk' })
    const entries = await entriesOf(async () => {
      await auth('/users', { json: { username: 'erin', password: 'a long enough secret' } })
      await auth('/users/erin', { method: 'DELETE', token: clerk })
      for (const token of [admin, clerk, clerk]) await auth('/roles/lost', { method: 'DELETE', token })
    })
    expect(entries.map(({ actor, client, action, outcome }) => [actor, client, action, outcome])).toEqual([
      ['admin', null, 'user.created', 'succeeded'],
      ['admin', 'Clerk', 'user.deleted', 'succeeded'],
      ['admin', null, 'role.deleted', 'not-found'],
      ['admin', 'Clerk', 'role.deleted', 'not-found'],
    ])
  })

  it('has one entry of one dead refresh token, however often it comes, and none of a login that is not known', async () => {
    const [dead, unknown] = [await stack.logIn('dave'), await stack.logIn('dave')]
    const sid = String(decodeJwt(dead.access).sid)
    const post = (path: string, token: string) => stack.auth.send(path, { method: 'POST', token })
    const entries = await entriesBy('dave', async () => {
      await post('/logout', dead.refresh)
      await stack.database.query('delete from auth.login_families where id = $1::text::uuid', [
        String(decodeJwt(unknown.access).sid),
      ])
      for (let times = 0; times < 5; times += 1) {
        expectProblem(await post('/refresh', dead.refresh), 400, 'invalid_grant')
        expectProblem(await post('/refresh', unknown.refresh), 400, 'invalid_grant')
      }
    })
    expect(told(entries)).toEqual([
      ['dave', 'login.ended', sid, 'succeeded', null],
      ['dave', 'token.refreshed', sid, 'invalid_grant', null],
    ])
    expect(entries.map(({ count }) => count)).toEqual([1, 1])
  })

  it('has no entry of a logout that ended nothing', async () => {
    const [first, second] = [await stack.logIn('dave'), await stack.logIn('dave')]
    const revoke = (token: string) => postForm(stack, '/oauth/revoke', { token })
    const entries = await entriesOf(async () => {
      for (let times = 0; times < 3; times += 1) {
        expect((await stack.auth.send('/logout', { method: 'POST', token: first.access })).status).toBe(204)
        expect((await revoke(second.refresh)).status).toBe(200)
      }
    })
    expect(told(entries.filter(({ action }) => action === 'login.ended'))).toEqual(
      [first, second].map(({ access }) => ['dave', 'login.ended', decodeJwt(access).sid, 'succeeded', null]),
    )
  })

  it('is read in pages', async () => {
    const first = await auth('/audit?limit=2')
    expect(first.body).toMatchObject({ items: [{ seq: 1 }, { seq: 2 }], nextCursor: '2' })
    expect(first.headers.get('link')).toBe(`<${stack.auth.url}/audit?after=2&limit=2>; rel="next"`)
    expect(first.headers.get('cache-control')).toBe('no-store')
    const second = await auth('/audit?after=2&limit=2')
    expect(second.body).toMatchObject({ items: [{ seq: 3 }, { seq: 4 }] })
    for (const query of ['cursor=2&limit=2', 'after=0&cursor=2&limit=2'])
      expect((await auth(`/audit?${query}`)).body).toEqual(second.body)
    expect((await auth('/audit?after=999999999999999')).body).toEqual({ items: [], nextCursor: null })
    for (const query of [
      'after=x',
      'after=-1',
      'limit=0',
      'limit=201',
      'limit=',
      'seq=1',
      'after=1&after=2',
      'cursor=x',
    ])
      expectProblem(await auth(`/audit?${query}`), 400, 'invalid-parameter')
  })

  it('tells of refusals by a limit, also of passwords that come with each request, to either server', async () => {
    const limited = await openStack(openBackend, {
      inProcess: true,
      environment: { LOGIN_FAILURES_PER_ACCOUNT: '2/60' },
    })
    try {
      const { access: token } = await limited.logIn('admin')
      for (const [server, path, username] of [
        [limited.auth, '/me', 'alice'],
        [limited.deal, '/rest/v1/deals', 'bob'],
      ] as const) {
        const authorization = `Basic ${Buffer.from(`${username}:not the password`).toString('base64')}`
        const statuses: number[] = []
        for (let count = 0; count < 4; count += 1)
          statuses.push((await server.send(path, { headers: { authorization } })).status)
        expect(statuses).toEqual([401, 401, 429, 429])
        await limited.auth.send('/login', { json: { username, password: 'not the password' } })
        const { body } = await limited.auth.send('/audit?limit=200', { token })
        const refused = (body.items as Entry[]).filter(({ actor }) => actor === username)
        expect(told(refused)).toEqual([
          [username, 'password.verified', username, 'too-many-attempts', 'basic'],
          [username, 'login.started', username, 'too-many-attempts', null],
        ])
        expect(refused[0]?.address).toBe('127.0.0.1')
      }
    } finally {
      await limited.close()
    }
  })

  it('is one sound chain at the end of all that', async () => {
    const secretsKeys = parseSecretsKeys(stack.environment.SECRETS_KEY ?? '')
    expect((await verifyChain({ database: stack.database, secretsKeys })).fault).toBeUndefined()
  })
})
