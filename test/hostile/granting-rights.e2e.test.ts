/** Nobody gives what they have not got: neither rights, nor keys, nor an account that may do more than they. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../support/clients/http-client.ts'
import { clientKeyOf, signUrl } from '../support/clients/signing.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let admin: string
let count = 0

const asAdmin = (path: string, sent: Sent = {}) => stack.auth.send(path, { token: admin, ...sent })

/** A new user. */
async function newUser(grants: { roles?: string[]; rights?: string[]; enabled?: boolean } = {}) {
  const username = `grantor-${++count}`
  const password = `the password of ${username}`
  const { status, text } = await asAdmin('/users', { json: { username, password, ...grants } })
  expect(status, text).toBe(201)
  return { username, password }
}

/** An access token of a new user with these rights. */
async function tokenWith(...rights: string[]): Promise<string> {
  const { username, password } = await newUser({ rights })
  return (await stack.logIn(username, password)).access
}

/** A call of `method` as this user. */
const as = (token: string) => ({
  post: (path: string, json: object) => stack.auth.send(path, { method: 'POST', token, json }),
  put: (path: string, json: object) => stack.auth.send(path, { method: 'PUT', token, json }),
  patch: (path: string, json: object) => stack.auth.send(path, { method: 'PATCH', token, json }),
  call: (method: string, path: string) => stack.auth.send(path, { method, token }),
})

function expectMissing(reply: Reply, ...rights: string[]): void {
  expectProblem(reply, 403, 'missing-right')
  expect(reply.body.missingRights).toEqual(expect.arrayContaining(rights))
  expect(reply.body.missingRight).toBe((reply.body.missingRights as string[])[0])
}

const newPassword = 'a new and better password'

describeEmbedded('granting rights', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it('who may manage users creates none with roles or rights beyond the own ones', async () => {
    const { post } = as(await tokenWith('user.manage', 'deal.read', 'deal.history.read'))
    const user = () => ({ username: `made-${++count}`, password: newPassword })
    expectMissing(await post('/users', { ...user(), roles: ['admin'] }), 'key.read', 'audit.read')
    expectMissing(await post('/users', { ...user(), rights: ['key.read'], enabled: false }), 'key.read')
    expectMissing(await post('/users', { ...user(), roles: ['viewer'], rights: ['deal.hold'] }), 'deal.hold')
    expect((await post('/users', { ...user(), roles: ['viewer'], rights: ['user.manage'] })).status).toBe(201)
    expect((await post('/users', user())).status).toBe(201)
  })

  it('who may manage users adds no right to anybody that is not the own, not even to themselves', async () => {
    const grantor = await newUser({ rights: ['user.manage', 'deal.read'] })
    const { patch } = as((await stack.logIn(grantor.username, grantor.password)).access)
    for (const { username } of [grantor, await newUser()]) {
      expectMissing(await patch(`/users/${username}`, { roles: ['admin'] }), 'api-key.manage')
      expectMissing(await patch(`/users/${username}`, { rights: ['user.manage', 'audit.read'] }), 'audit.read')
      expect((await patch(`/users/${username}`, { rights: ['user.manage', 'deal.read'] })).status).toBe(200)
    }
    expectMissing(await patch('/users/anonymous', { rights: ['audit.read'] }), 'audit.read')
  })

  it('what somebody has may stay, and is taken away by nobody who has it not; who has it not disables', async () => {
    const { username } = await newUser({ roles: ['manager', 'viewer'], rights: ['audit.read', 'key.read'] })
    const { patch, call } = as(await tokenWith('user.manage', 'key.read', 'deal.read', 'deal.history.read'))
    const path = `/users/${username}`
    const all = { roles: ['manager', 'viewer'], rights: ['key.read', 'audit.read'] }
    expect((await patch(path, all)).status).toBe(200)
    expectMissing(await patch(path, { rights: ['key.read'] }), 'audit.read')
    expectMissing(await patch(path, { roles: ['viewer'], enabled: false }), 'deal.complete')
    expectMissing(await patch(path, { roles: [], rights: [] }), 'deal.complete', 'audit.read')
    expectMissing(await call('DELETE', path), 'deal.complete', 'audit.read')
    const lesser = await patch(path, { roles: ['manager'], rights: ['audit.read'] })
    expect(lesser.body).toMatchObject({ roles: ['manager'], rights: ['audit.read'] })
    expect((await patch(path, { enabled: false })).status).toBe(200)
    expectMissing(await patch(path, { rights: [] }), 'audit.read')
    expectMissing(await patch(path, { roles: [], rights: [], enabled: true }), 'deal.complete', 'audit.read')
    expectMissing(await call('DELETE', path), 'deal.complete', 'audit.read')
    expect((await call('POST', `${path}/logout`)).status).toBe(204)
    expect((await asAdmin(path, { method: 'PATCH', json: { roles: [], rights: ['key.read'] } })).status).toBe(200)
    expect((await patch(path, { rights: [], enabled: true })).status).toBe(200)
    expect((await call('DELETE', path)).status).toBe(204)
  })

  it('who may manage users brings no account down to the own rights, by a role neither, and makes no key of it', async () => {
    const { username } = await newUser({ roles: ['admin'] })
    const json = { name: 'closer', rights: ['deal.complete', 'deal.cancel'] }
    expect((await asAdmin('/roles', { json })).status).toBe(201)
    const closer = await newUser({ roles: ['closer'] })
    const { put, patch, call } = as(await tokenWith('user.manage', 'api-key.manage', 'deal.cancel'))
    expectMissing(await patch(`/users/${username}`, { roles: [] }), 'audit.read')
    expectMissing(await put('/roles/closer', { rights: ['deal.cancel'] }), 'deal.complete')
    expectMissing(await call('DELETE', '/roles/closer'), 'deal.complete')
    for (const name of [username, closer.username])
      expectMissing(await put(`/users/${name}/password`, { newPassword }), 'deal.complete')
    expect((await put('/roles/closer', { rights: ['deal.complete'] })).status).toBe(200)
    const own = await newUser({ roles: ['closer'], rights: ['user.manage'] })
    const holder = as((await stack.logIn(own.username, own.password)).access)
    expect((await holder.put('/roles/closer', { rights: [] })).status).toBe(200)
    expect((await asAdmin('/roles/closer', { method: 'PUT', json: { rights: ['deal.complete'] } })).status).toBe(200)
    // The role of the caller itself: it goes with the change.
    expect((await holder.call('DELETE', '/roles/closer')).status).toBe(204)
    expect((await asAdmin(`/users/${own.username}`)).body.roles).toEqual([])
  })

  it('who may manage resource servers withdraws no right that they lack', async () => {
    const rights = ['invoice.approve', 'invoice.read'].map((name) => ({ name, description: '', readsOnly: false }))
    const json = { id: 'invoices', audience: 'urn:example:invoices', name: 'Invoices', rights }
    const path = '/resource-servers/invoices'
    expect((await asAdmin('/resource-servers', { json })).status).toBe(201)
    const { patch, call } = as(await tokenWith('resource-server.manage', 'user.manage', 'invoice.approve'))
    expectMissing(await patch(path, { rights: [] }), 'invoice.read')
    expectMissing(await call('DELETE', path), 'invoice.read')
    expect((await patch(path, { rights, name: 'Bills' })).status).toBe(200)
    // The direct right of the caller itself: it goes with the change.
    expect((await patch(path, { rights: rights.slice(1) })).status).toBe(200)
    expectMissing(await call('DELETE', path), 'invoice.read')
    expect((await asAdmin(path, { method: 'DELETE' })).status).toBe(204)
  })

  it('who may manage users hands over no account that may do more: no password, no Digest secret, no way back in', async () => {
    const { username } = await newUser({ roles: ['admin'] })
    const { put, patch } = as(await tokenWith('user.manage', 'deal.read'))
    for (const name of ['admin', username, username.toUpperCase()]) {
      expectMissing(await put(`/users/${name}/password`, { newPassword }), 'api-key.manage')
      expectMissing(await put(`/users/${name}/digest-secret`, {}), 'api-key.manage')
    }
    expect((await patch(`/users/${username}`, { enabled: false })).status).toBe(200)
    expectMissing(await patch(`/users/${username}`, { enabled: true }), 'api-key.manage')
    expectMissing(await put(`/users/${username}/password`, { newPassword }), 'api-key.manage')
    const { username: lesser } = await newUser({ rights: ['deal.read'], enabled: false })
    expect((await put(`/users/${lesser}/password`, { newPassword })).status).toBe(204)
    expect((await put(`/users/${lesser}/digest-secret`, {})).status).toBe(200)
    expect((await patch(`/users/${lesser}`, { enabled: true })).status).toBe(200)
  })

  it("a key for another carries at most its maker's rights", async () => {
    const { post } = as(await tokenWith('api-key.manage', 'deal.read'))
    const forUser = (username: string, more: object = {}) => post('/api-keys', { kind: 'hmac', username, ...more })
    expectMissing(
      await forUser('admin', { rights: ['deal.read', 'user.manage', 'key.read'] }),
      'user.manage',
      'key.read',
    )
    const narrowed = await forUser('admin')
    expect([narrowed.status, narrowed.body.rights]).toEqual([201, ['deal.read', 'api-key.manage']])
    expect((await forUser('alice')).body.rights).toEqual(['deal.read'])
    expect((await forUser('dave')).body.rights).toEqual([])
    expect((await forUser('dave', { rights: ['deal.read'] })).body.rights).toEqual(['deal.read'])
    const key = clientKeyOf(narrowed.body)
    const url = signUrl(key, { method: 'GET', url: `${stack.auth.url}/me` }, { timestamp: timestamp() })
    const me = await stack.auth.send(url.slice(stack.auth.url.length))
    expect(me.body).toMatchObject({ username: 'admin', rights: ['deal.read', 'api-key.manage'] })
  })

  it("one's own key may do what its user may, and the role admin may make any for anybody", async () => {
    expect((await as(await tokenWith('deal.read')).post('/api-keys', { kind: 'hmac' })).body.rights).toBeNull()
    const forAlice = await asAdmin('/api-keys', { json: { kind: 'hmac', username: 'alice' } })
    expect([forAlice.status, forAlice.body.rights]).toEqual([201, null])
  })

  it('a narrowed key counts by its own rights, whatever its owner may', async () => {
    const made = await asAdmin('/api-keys', {
      json: { kind: 'hmac', requireBodyHash: false, rights: ['user.manage', 'api-key.manage', 'deal.read'] },
    })
    const key = clientKeyOf(made.body)
    const send = (method: string, path: string, json: object) => {
      const body = JSON.stringify(json)
      const url = signUrl(key, { method, url: stack.auth.url + path, body }, { timestamp: timestamp() })
      const headers = { 'content-type': 'application/json' }
      return stack.auth.send(url.slice(stack.auth.url.length), { method, headers, body })
    }
    const password = passwordOf('admin')
    const { username } = await newUser()
    expectMissing(await send('PATCH', `/users/${username}`, { roles: ['admin'] }), 'audit.read')
    expectMissing(await send('PUT', '/users/alice/password', { newPassword }), 'deal.hold')
    const forAlice = await send('POST', '/api-keys', { kind: 'hmac', username: 'alice', password })
    expect(forAlice.body.rights).toEqual(['deal.read'])
    const forOwner = await send('POST', '/api-keys', { kind: 'hmac', password })
    expect(forOwner.body.rights).toEqual(['deal.read', 'user.manage', 'api-key.manage'])
    expectMissing(await send('PUT', '/users/admin/password', { newPassword }), 'audit.read')
    expectMissing(await send('PUT', '/users/admin/digest-secret', { password }), 'audit.read')
  })
})

const timestamp = () => Math.floor(stack.clock.now() / 1000)
