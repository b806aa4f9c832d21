import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rfc3339, unixSeconds } from '../../../shared/platform/clock.ts'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { postForm } from '../../support/clients/oauth-requests.ts'
import { type ClientKey, clientKeyOf, signUrl } from '../../support/clients/signing.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string
let alice: string
let bob: string

/** Remembers what the answer shows: no line of the log may hold it. */
const shown = async (answer: Promise<Reply>): Promise<Reply> => {
  clientKeyOf((await answer).body)
  return answer
}
const make = (token: string, json: object) => shown(stack.auth.send('/api-keys', { token, json }))

const publicPem = (bits: number, exponent = 65_537): string =>
  generateKeyPairSync('rsa', { modulusLength: bits, publicExponent: exponent })
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString()

describeBackends('API keys', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    admin = (await stack.logIn('admin')).access
    alice = (await stack.logIn('alice')).access
    bob = (await stack.logIn('bob')).access
  })
  afterAll(() => stack.close())

  it('shows a secret once, and never again', async () => {
    const made = await make(alice, { kind: 'hmac', name: '  nightly  ', rights: ['deal.read', 'deal.read'] })
    expect(made.status).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const { id, secret, ...rest } = made.body
    expect(made.headers.get('location')).toBe(`/api-keys/${id}`)
    expect(Buffer.from(String(secret), 'base64url')).toHaveLength(32)
    const described = {
      kind: 'hmac',
      username: 'alice',
      name: 'nightly',
      requireBodyHash: true,
      rights: ['deal.read'],
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      expiresAt: null,
      expiresSoon: false,
      formerUntil: null,
      lastUsedAt: null,
      suspended: false,
    }
    expect(rest).toEqual(described)
    const read = await stack.auth.send(`/api-keys/${id}`, { token: alice })
    expect(read.body).toEqual({ id, ...described })
    const list = await stack.auth.send('/api-keys', { token: alice })
    expect(list.text).not.toContain(String(secret))
    expect(list.body.items).toContainEqual({ id, ...described })
  })

  it('makes a pair of RSA keys, and keeps its public half alone', async () => {
    const { status, body } = await make(alice, { kind: 'rsa', requireBodyHash: false })
    expect(status).toBe(201)
    expect(body).toMatchObject({ kind: 'rsa', requireBodyHash: false })
    expect(body.privateKeyPem).toMatch(/^-----BEGIN PRIVATE KEY-----/)
    expect(body.publicKeyPem).toMatch(/^-----BEGIN PUBLIC KEY-----/)
    expect(body).not.toHaveProperty('secret')
    const { rows } = {
      rows: await stack.database.query<{ text: string }>('select k::text as text from auth.api_keys k'),
    }
    expect(JSON.stringify(rows)).not.toContain('PRIVATE')
  })

  it('refuses public keys that are weak, or no public keys', async () => {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const refused = [
      publicPem(1024),
      publicPem(2048, 3),
      pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n',
      '',
    ]
    for (const publicKeyPem of refused) {
      const reply = await make(alice, { kind: 'rsa', publicKeyPem })
      expectProblem(reply, 422, 'invalid-value')
      expect(reply.body.errors).toMatchObject([{ pointer: '/publicKeyPem' }])
    }
    expectProblem(await make(alice, { kind: 'hmac', publicKeyPem: publicPem(2048) }), 422, 'invalid-value')
  })

  it.each([
    [{ kind: 'dsa' }, 422, 'invalid-value'],
    [{}, 400, 'invalid-body'],
    [{ kind: 'hmac', secret: 'mine' }, 400, 'invalid-body'],
    [{ kind: 'hmac', rights: ['deal.fly'] }, 422, 'invalid-value'],
    [{ kind: 'hmac', rights: 'deal.read' }, 400, 'invalid-body'],
    [{ kind: 'hmac', requireBodyHash: 'no' }, 400, 'invalid-body'],
    [{ kind: 'hmac', name: '' }, 422, 'invalid-value'],
    [{ kind: 'hmac', expiresAt: '2001-01-01T00:00:00Z' }, 422, 'invalid-value'],
    [{ kind: 'hmac', expiresAt: 'tomorrow' }, 422, 'invalid-value'],
    [{ kind: 'hmac', expiresAt: 5 }, 400, 'invalid-body'],
    [{ kind: 'hmac', username: 'nobody-there' }, 404, 'not-found'],
    [{ kind: 'hmac', username: 'no name' }, 404, 'not-found'],
    [{ kind: 'hmac', username: 'anonymous' }, 422, 'invalid-value'],
  ])('refuses %j', async (json, status, code) => {
    expectProblem(await make(admin, json), status, code)
  })

  it("keeps a user's keys from others, and shows all of them to who may manage them", async () => {
    const { body } = await make(alice, { kind: 'hmac' })
    const path = `/api-keys/${body.id}`
    expectProblem(await stack.auth.send(path, { token: bob }), 404, 'not-found')
    expectProblem(await stack.auth.send(path, { token: bob, method: 'DELETE' }), 404, 'not-found')
    expectProblem(await stack.auth.send('/api-keys?username=alice', { token: bob }), 403, 'missing-right')
    expectProblem(await make(bob, { kind: 'hmac', username: 'alice' }), 403, 'missing-right')
    expect((await stack.auth.send('/api-keys', { token: bob })).body.items).toEqual([])
    expect((await stack.auth.send('/api-keys?username=BOB', { token: bob })).body.items).toEqual([])
    for (const query of ['', '?username=Alice']) {
      const { items } = (await stack.auth.send(`/api-keys${query}`, { token: admin })).body
      expect(items).toContainEqual(expect.objectContaining({ id: body.id, username: 'alice' }))
    }
    const forBob = await make(admin, { kind: 'hmac', username: 'Bob' })
    expect(forBob.body.username).toBe('bob')
    expect((await stack.auth.send(`/api-keys/${forBob.body.id}`, { token: bob })).status).toBe(200)
    expect((await stack.auth.send(path, { token: admin, method: 'DELETE' })).status).toBe(204)
    expectProblem(await stack.auth.send(path, { token: alice }), 404, 'not-found')
    expectProblem(await stack.auth.send(path, { token: alice, method: 'DELETE' }), 404, 'not-found')
  })

  it('lists a page at a time, each key once', async () => {
    const made = []
    for (let count = 0; count < 5; count += 1) made.push((await make(bob, { kind: 'hmac' })).body.id)
    const seen: unknown[] = []
    let path: string | undefined = '/api-keys?limit=2'
    while (path !== undefined) {
      const page: Reply = await stack.auth.send(path, { token: bob })
      expect(page.status).toBe(200)
      seen.push(...(page.body.items as { id: string }[]).map(({ id }) => id))
      const { nextCursor } = page.body
      path = typeof nextCursor === 'string' ? `/api-keys?limit=2&cursor=${nextCursor}` : undefined
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining(made))
    expectProblem(await stack.auth.send('/api-keys?cursor=x', { token: bob }), 400, 'invalid-cursor')
    for (const query of ['colour=red', 'username=%00', 'username=a%20b', 'username=']) {
      expectProblem(await stack.auth.send(`/api-keys?${query}`, { token: admin }), 400, 'invalid-parameter')
    }
    expectProblem(await stack.auth.send('/api-keys/not-an-id', { token: bob }), 404, 'not-found')
  })

  it('gives a user at most a hundred that live', async () => {
    const dave = (await stack.logIn('dave')).access
    const insert = `insert into auth.api_keys (id, user_id, username_folded, kind, secret_sealed, require_body_hash, created_at)
      select gen_random_uuid(), u.id, u.username_folded, 'hmac', 'x', true, now() from auth.users u, generate_series(1, 99)
      where u.username = 'dave'`
    await stack.database.query(insert)
    const last = await make(dave, { kind: 'hmac' })
    expect(last.status).toBe(201)
    expectProblem(await make(dave, { kind: 'hmac' }), 409, 'too-many-api-keys')
    await stack.auth.send(`/api-keys/${last.body.id}`, { token: dave, method: 'DELETE' })
    expect((await make(dave, { kind: 'hmac' })).status).toBe(201)
  })

  const rotate = (token: string, id: unknown, json: object = {}) =>
    shown(stack.auth.send(`/api-keys/${id}/rotate`, { token, json }))

  /** The statuses of a request that this key signs, at the auth server and at the deal server. */
  const signedAt = async (key: ClientKey) => {
    const timestamp = unixSeconds(stack.clock.now())
    const urls = [`${stack.auth.url}/me`, `${stack.deal.url}/rest/v1/deals`]
    const replies = urls.map((url) => fetch(signUrl(key, { method: 'GET', url }, { timestamp })))
    return (await Promise.all(replies)).map(({ status }) => status)
  }

  it('rotates a secret: the former one is accepted until the overlap ends, then refused', async () => {
    const made = (await make(alice, { kind: 'hmac' })).body
    const id = String(made.id)
    const [first, second] = [{ id, secret: String(made.secret) }, await rotate(alice, id, { overlapSeconds: 60 })]
    expect(second.status).toBe(200)
    const former = Date.parse(String(second.body.formerUntil)) - stack.clock.now()
    expect(former > 50_000 && former <= 60_000).toBe(true)
    const now = { id, secret: String(second.body.secret) }
    expect([await signedAt(first), await signedAt(now)]).toEqual([
      [200, 200],
      [200, 200],
    ])
    const token = (secret: string) =>
      postForm(stack, '/oauth/token', { grant_type: 'client_credentials', client_id: id, client_secret: secret })
    expect([(await token(first.secret)).status, (await token(now.secret)).status]).toEqual([200, 200])
    stack.clock.advanceSeconds(61)
    expect([await signedAt(first), await signedAt(now)]).toEqual([
      [401, 401],
      [200, 200],
    ])
    expect([(await token(first.secret)).status, (await token(now.secret)).status]).toEqual([401, 200])
    expect((await stack.auth.send(`/api-keys/${id}`, { token: alice })).body.formerUntil).toBeNull()
  })

  it('accepts two secrets at most: a further rotation, or one without overlap, ends the former one', async () => {
    const made = (await make(alice, { kind: 'hmac' })).body
    const id = String(made.id)
    const keys = [{ id, secret: String(made.secret) }]
    for (const json of [{}, {}, { overlapSeconds: 0 }]) {
      keys.push({ id, secret: String((await rotate(alice, id, json)).body.secret) })
      const statuses = (await Promise.all(keys.map(signedAt))).map(([atAuth, atDeal]) => {
        expect(atDeal).toBe(atAuth)
        return atAuth === 200
      })
      const accepted = 'overlapSeconds' in json ? 1 : 2
      expect(statuses).toEqual(keys.map((_, index) => index >= keys.length - accepted))
    }
  })

  it('rotates a pair of RSA keys, made here or by the client', async () => {
    const made = (await make(alice, { kind: 'rsa' })).body
    const id = String(made.id)
    const own = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const publicKeyPem = own.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const privateKeyPem = own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const byClient = await rotate(alice, id, { publicKeyPem })
    expect(byClient.body).toMatchObject({ id, publicKeyPem })
    expect(byClient.body).not.toHaveProperty('privateKeyPem')
    expect(await signedAt({ id, privateKeyPem: String(made.privateKeyPem) })).toEqual([200, 200])
    expect(await signedAt({ id, privateKeyPem })).toEqual([200, 200])
    const byServer = await rotate(alice, id, { overlapSeconds: 0 })
    expect(await signedAt({ id, privateKeyPem })).toEqual([401, 401])
    expect(await signedAt({ id, privateKeyPem: String(byServer.body.privateKeyPem) })).toEqual([200, 200])
    expectProblem(await rotate(alice, id, { publicKeyPem: publicPem(1024) }), 422, 'invalid-value')
  })

  it('lengthens no life of a former secret, and says which keys expire soon', async () => {
    const expiresAt = rfc3339(stack.clock.now() + 3_600_000)
    const made = (await make(alice, { kind: 'hmac', expiresAt })).body
    expect(made).toMatchObject({ expiresAt, expiresSoon: true })
    const metrics = async () =>
      (await stack.auth.send('/metrics', {})).text.match(/^keyhold_api_keys_expir.* (\d+)$/m)?.[1]
    expect(await metrics()).toBe('1')
    const rotated = await rotate(alice, made.id, { expiresAt: rfc3339(stack.clock.now() + 90 * 86_400_000) })
    expect(rotated.body).toMatchObject({ expiresSoon: false, formerUntil: expiresAt })
    expect(await metrics()).toBe('0')
    expect((await rotate(alice, made.id, { expiresAt: null })).body.expiresAt).toBeNull()
    expectProblem(await rotate(alice, made.id, { expiresAt: '2001-01-01T00:00:00Z' }), 422, 'invalid-value')
    expectProblem(await rotate(alice, made.id, { overlapSeconds: 2_592_001 }), 422, 'invalid-value')
  })

  it('lets nobody rotate a key whose rights are not theirs to give, and none that is gone', async () => {
    const { id } = (await make(alice, { kind: 'hmac' })).body
    expectProblem(await rotate(bob, id), 404, 'not-found')
    expect((await rotate(admin, id)).status).toBe(200)
    await stack.auth.send('/users/dave', { token: admin, method: 'PATCH', json: { rights: ['api-key.manage'] } })
    const dave = (await stack.logIn('dave')).access
    expectProblem(await rotate(dave, id), 403, 'missing-right')
    await stack.auth.send('/users/dave', { token: admin, method: 'PATCH', json: { rights: [] } })
    await stack.auth.send(`/api-keys/${id}`, { token: alice, method: 'DELETE' })
    expectProblem(await rotate(alice, id), 404, 'not-found')
    expectProblem(await rotate(alice, 'no-id'), 404, 'not-found')
    const brief = (await make(alice, { kind: 'hmac', expiresAt: rfc3339(stack.clock.now() + 1000) })).body
    stack.clock.advanceSeconds(2)
    expectProblem(await rotate(alice, brief.id, { expiresAt: null }), 404, 'not-found')
    stack.clock.advanceSeconds(300)
    expectProblem(await rotate(alice, brief.id), 403, 'recent-login-required')
  })
})
