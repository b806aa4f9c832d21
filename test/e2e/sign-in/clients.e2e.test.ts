import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { rsaPair } from '../../support/rsa-pair.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string

const redirectUris = ['https://app.example/callback']
const publicKeyPem = rsaPair().publicKey.export({ type: 'spki', format: 'pem' }).toString()

describeBackends('clients', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const send = async (path: string, json?: object, method?: string): Promise<Reply> => {
    const reply = await stack.auth.send(path, { token: admin, ...(json && { json }), ...(method && { method }) })
    if (typeof reply.body?.secret === 'string') rememberSecret(reply.body.secret)
    return reply
  }

  const entries = async (target: string) => {
    const { body } = await stack.auth.send(`/audit?target=${target}&limit=200`, { token: admin })
    return (body.items as { action: string; actor: string }[]).map(({ action, actor }) => `${actor} ${action}`)
  }

  it('have a secret that is shown once, unless they are public or have a key', async () => {
    const made = await send('/clients', { name: '  shop ', kind: 'confidential', redirectUris, rights: ['deal.read'] })
    expect(made.status).toBe(201)
    const { id, secret, ...rest } = made.body
    expect(made.headers.get('location')).toBe(`/clients/${id}`)
    expect(Buffer.from(String(secret), 'base64url')).toHaveLength(32)
    expect(rest).toEqual({
      name: 'shop',
      kind: 'confidential',
      firstParty: false,
      redirectUris,
      postLogoutRedirectUris: [],
      rights: ['deal.read'],
      resourceServers: ['deals'],
      needsRight: null,
      requirePkce: true,
      mode: 'run',
      publicKeyPem: null,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: rest.createdAt,
      formerUntil: null,
      lastUsedAt: null,
    })
    expect((await send(`/clients/${String(id).toUpperCase()}`)).body).toEqual({ id, ...rest })
    const list = await send('/clients')
    expect(list.body.items).toContainEqual({ id, ...rest })
    expect(list.text).not.toContain(String(secret))
    const rows = await stack.database.query('select v::text as text from auth.clients v')
    expect(JSON.stringify(rows)).not.toContain(String(secret))
    const page = await send('/clients', { name: 'page', kind: 'public', redirectUris, firstParty: true })
    expect(page.status).toBe(201)
    expect(page.body).toMatchObject({ kind: 'public', rights: null })
    const signing = { name: 'signing', kind: 'confidential', redirectUris, rights: [] }
    const keyed = await send('/clients', { ...signing, publicKeyPem })
    expect(keyed.status).toBe(201)
    for (const { body } of [page, keyed]) {
      expect(body).not.toHaveProperty('secret')
      expectProblem(await send(`/clients/${body.id}/rotate`, {}), 409, 'client-without-secret')
    }
    expect(await entries(String(id))).toEqual(['admin client.created'])
  })

  it('are refused with a pointer and a code for each wrong value', async () => {
    const base = { name: 'wrong', kind: 'confidential', redirectUris, rights: [] }
    const wrong: [object, string, string][] = [
      [{ redirectUris: ['/cb'] }, '/redirectUris/0', 'redirect-form'],
      [{ redirectUris: ['http://app.example/'] }, '/redirectUris/0', 'redirect-scheme'],
      [{ redirectUris: [...redirectUris, ...redirectUris] }, '/redirectUris/1', 'redirect-duplicate'],
      [{ redirectUris: [] }, '/redirectUris', 'too-small'],
      [{ postLogoutRedirectUris: ['x'] }, '/postLogoutRedirectUris/0', 'redirect-form'],
      [{ rights: null }, '/rights', 'rights-missing'],
      [{ rights: null, firstParty: true, mode: 'propose' }, '/rights', 'rights-missing'],
      [{ rights: ['deal.read', 'no.right'] }, '/rights/1', 'unknown-right'],
      [{ needsRight: 'no.right' }, '/needsRight', 'unknown-right'],
      [{ resourceServers: ['none'] }, '/resourceServers/0', 'unknown-resource'],
      [{ kind: 'public', requirePkce: false }, '/requirePkce', 'pkce-needed'],
      [{ kind: 'public', publicKeyPem }, '/publicKeyPem', 'confidential-only'],
      [{ publicKeyPem: 'no key' }, '/publicKeyPem', 'public-key'],
      [{ name: ' ' }, '/name', 'name-form'],
    ]
    for (const [values, pointer, code] of wrong) {
      const reply = await send('/clients', { ...base, ...values })
      expectProblem(reply, 422, 'invalid-value')
      expect(reply.body.errors).toMatchObject([{ pointer, code }])
    }
    for (const values of [{ kind: 'secret' }, { name: undefined }, { redirectUris: 'x' }, { more: 1 }]) {
      const { status } = await send('/clients', { ...base, ...values })
      expect([400, 422]).toContain(status)
    }
    await send('/clients', { ...base, name: 'taken' })
    expectProblem(await send('/clients', { ...base, name: 'taken' }), 409, 'client-exists')
  })

  it('change by PATCH, and keep what it does not name', async () => {
    const { body: client } = await send('/clients', { name: 'before', kind: 'confidential', redirectUris, rights: [] })
    const path = `/clients/${client.id}`
    const uris = ['https://other.example/cb', 'http://127.0.0.1/cb']
    const changed = await send(path, { name: 'after', redirectUris: uris, needsRight: 'deal.read' }, 'PATCH')
    expect(changed.status).toBe(200)
    const { secret: _secret, ...shown } = client
    const { updatedAt } = changed.body
    expect(changed.body).toEqual({ ...shown, name: 'after', redirectUris: uris, needsRight: 'deal.read', updatedAt })
    expect((await send(path, { needsRight: null }, 'PATCH')).body.needsRight).toBeNull()
    expect((await send(path, { mode: 'propose' }, 'PATCH')).body.mode).toBe('propose')
    expectProblem(await send(path, { mode: 'wait' }, 'PATCH'), 422, 'invalid-value')
    expectProblem(await send(path, { kind: 'public' }, 'PATCH'), 400, 'invalid-body')
    expectProblem(await send(path, { name: 'taken' }, 'PATCH'), 409, 'client-exists')
    const keyed = await send(path, { publicKeyPem }, 'PATCH')
    expectProblem(keyed, 422, 'invalid-value')
    expect(await entries(String(client.id))).toContain('admin client.changed')
  })

  it('are made, changed and rotated only by holders of every right that their tokens may have', async () => {
    await send('/roles', { name: 'registrar', rights: ['client.manage', 'deal.read'] })
    await send('/users/carol', { roles: ['registrar'] }, 'PATCH')
    const { access: token } = await stack.logIn('carol')
    const as = (path: string, json: object, method = 'POST') => stack.auth.send(path, { token, json, method })
    const base = { kind: 'confidential', redirectUris }
    expectProblem(await as('/clients', { ...base, name: 'all', firstParty: true }), 403, 'missing-right')
    expectProblem(await as('/clients', { ...base, name: 'more', rights: ['deal.hold'] }), 403, 'missing-right')
    const made = await as('/clients', { ...base, name: 'reading', rights: ['deal.read'] })
    expect(made.status).toBe(201)
    rememberSecret(String(made.body.secret))
    const { body: strong } = await send('/clients', { ...base, name: 'strong', firstParty: true })
    const evil = { redirectUris: ['https://evil.example/'] }
    expectProblem(await as(`/clients/${strong.id}`, evil, 'PATCH'), 403, 'missing-right')
    expectProblem(await as(`/clients/${strong.id}/rotate`, {}), 403, 'missing-right')
    expect((await send(`/clients/${strong.id}`)).body.redirectUris).toEqual(redirectUris)
  })

  it('need recent proof', async () => {
    const { body } = await send('/clients', { name: 'old', kind: 'confidential', redirectUris, rights: [] })
    stack.clock.advanceSeconds(360)
    const asked: [string, object, string][] = [
      ['/clients', { name: 'late', kind: 'public', redirectUris, rights: [] }, 'POST'],
      [`/clients/${body.id}`, { name: 'later' }, 'PATCH'],
      [`/clients/${body.id}/rotate`, {}, 'POST'],
    ]
    for (const [path, json, method] of asked) {
      expectProblem(await send(path, json, method), 403, 'recent-login-required')
      const reply = await send(path, { ...json, password: passwordOf('admin') }, method)
      expect(reply.status).toBeLessThan(300)
    }
    expect((await send(`/clients/${body.id}`, undefined, 'DELETE')).status).toBe(204)
    expectProblem(await send(`/clients/${body.id}`), 404, 'not-found')
    expectProblem(await send(`/clients/${body.id}`, undefined, 'DELETE'), 404, 'not-found')
    expect(await entries(String(body.id))).toContain('admin client.deleted')
    expectProblem(await send('/clients/none'), 404, 'not-found')
  })
})
