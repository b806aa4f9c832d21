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

  it('what somebody has already may stay, and be taken away, by who has it not', async () => {
    const { username } = await newUser({ roles: ['manager'], rights: ['audit.read', 'key.read'] })
    const { patch, call } = as(await tokenWith('user.manage'))
    const path = `/users/${username}`
    expect((await patch(path, { roles: ['manager'], rights: ['key.read'] })).status).toBe(200)
    expect((await patch(path, { roles: [] })).body).toMatchObject({ roles: [], rights: ['key.read'] })
    expectMissing(await patch(path, { rights: ['key.read', 'audit.read'] }), 'audit.read')
    expect((await patch(path, { enabled: false })).status).toBe(200)
    expect((await call('POST', `${path}/logout`)).status).toBe(204)
    expect((await call('DELETE', path)).status).toBe(204)
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
