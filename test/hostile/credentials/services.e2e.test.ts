import { randomBytes, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { signInternalRequest } from '../../../shared/protocol/internal-api/requests.ts'
import { serviceExchange } from '../../../shared/protocol/internal-api/service.ts'
import { verifyRequestExchange, verifyRequestPurpose } from '../../../shared/protocol/internal-api/verify-request.ts'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { basicOf, clientCredentials, expectOAuthError, postForm } from '../../support/clients/oauth-requests.ts'
import {
  addInvoices,
  askAs,
  askExchange,
  makeService,
  type Proof,
  type ServiceCredential,
  serviceBasic,
} from '../../support/clients/service-client.ts'
import { makeKey } from '../../support/clients/signing.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { fingerprintOfData } from '../../support/stores/data-fingerprint.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

describeOnce('a hostile service', (openBackend) => {
  let stack: Stack
  let service: ServiceCredential
  let other: ServiceCredential
  let token: string
  let before: string

  beforeAll(async () => {
    stack = await openStack(openBackend)
    await addInvoices(stack)
    service = await makeService(stack, 'invoices')
    other = await makeService(stack)
    const { body } = await postForm(stack, '/oauth/token', clientCredentials, basicOf(service.id, service.secret))
    token = String(body.access_token)
    rememberSecret(token)
    for (const proof of proofs()) await ask(serviceExchange, proof)
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    before = await fingerprintOfData(stack.database)
  })

  const proofs = (): readonly Proof[] => ['signature', 'basic', { token }]
  const ask = (exchange: typeof serviceExchange, proof: Proof) =>
    askExchange(stack, { service, proof }, { exchange, path: {}, body: undefined })
  const unchanged = async () => expect(await fingerprintOfData(stack.database)).toBe(before)

  it('gets nothing of what is for the pair alone, whatever it sends', async () => {
    const bodies = [undefined, {}, { credential: 'x', clientAddress: '192.0.2.1' }, { refusals: [] }]
    const closed = [
      ['GET', '/digest-secrets?username=alice'],
      ['POST', '/verify-password'],
      ['POST', '/recent-proof'],
      ['POST', '/limit-refusals'],
      ['POST', '/declared-rights'],
      ['POST', '/webhook-pauses'],
      ['POST', '/webhook-changes'],
    ] as const
    for (const [method, target] of closed)
      for (const proof of proofs())
        for (const body of method === 'GET' ? [undefined] : bodies)
          expectProblem(await askAs(stack, { service, proof }, { method, target, body }), 403, 'exchange-not-open')
    await unchanged()
  })

  it('gets a clear refusal for a session that can be none', async () => {
    for (const keyHash of ['\u0000', '', 'a b', '\ud800', 'x'.repeat(101)]) {
      const body = { keyHash, isAction: true }
      const question = { method: 'POST', target: '/sessions', body } as const
      for (const proof of proofs()) expect((await askAs(stack, { service, proof }, question)).status).toBe(422)
    }
    await unchanged()
  })

  it('is no user: neither server takes its credentials where one is wanted', async () => {
    const authorizations = [
      serviceBasic(service),
      `Bearer ${token}`,
      signInternalRequest(
        { method: 'GET', target: '/me', body: '' },
        { ...service, clock: stack.clock, nonce: randomUUID() },
      ),
    ]
    const targets = [
      [stack.auth, '/me'],
      [stack.auth, '/users'],
      [stack.auth, '/services'],
      [stack.deal, '/rest/v1/deals'],
    ] as const
    for (const authorization of authorizations)
      for (const [server, path] of targets) {
        const reply = await server.send(path, { headers: { authorization } })
        expect(reply.status).toBe(401)
        expect(['invalid-credentials', 'invalid-token', 'unknown-scheme']).toContain(reply.body.code)
      }
    for (const path of ['/refresh', '/logout']) {
      const reply = await stack.auth.send(path, { method: 'POST', token })
      expect([400, 401]).toContain(reply.status)
    }
    const form = { token, token_type_hint: 'access_token' }
    const { access } = await stack.logIn('admin')
    const introspected = await postForm(stack, '/oauth/introspect', form, { authorization: `Bearer ${access}` })
    expect(introspected.body).toEqual({ active: false })
    const refresh = { grant_type: 'refresh_token', refresh_token: 'x' }
    for (const [path, sent] of [
      ['/oauth/introspect', form],
      ['/oauth/revoke', form],
      ['/oauth/token', refresh],
    ] as const)
      expectOAuthError(await postForm(stack, path, sent, basicOf(service.id, service.secret)), 401, 'invalid_client')
  })

  it('is no other service, and not the pair, and no user is a service', async () => {
    const mixed = { id: other.id, secret: service.secret }
    const serviceSecret = stack.environment.SERVICE_SECRET ?? ''
    for (const wrong of [
      mixed,
      { id: randomUUID(), secret: service.secret },
      { id: service.id, secret: serviceSecret },
    ])
      for (const proof of ['signature', 'basic'] as const)
        expectProblem(
          await askExchange(stack, { service: wrong, proof }, { exchange: serviceExchange, path: {}, body: undefined }),
          401,
          'unauthenticated',
        )
    const send = (authorization: string, path = '/internal/service') =>
      stack.auth.send(path, { headers: { authorization } })
    const nonce = randomUUID()
    const unnamed = signInternalRequest(
      { method: 'GET', target: '/internal/feed', body: '' },
      { secret: service.secret, clock: stack.clock, nonce },
    )
    expectProblem(await send(unnamed, '/internal/feed'), 401, 'unauthenticated')
    const ofPair = { secret: serviceSecret, clock: stack.clock, nonce: randomUUID() }
    const asked = signInternalRequest({ method: 'GET', target: '/internal/service', body: '' }, ofPair)
    expectProblem(await send(asked), 403, 'exchange-not-open')
    const { access } = await stack.logIn('admin')
    const key = await makeKey(stack, 'alice')
    const basic = (name: string, secret: string) => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`
    for (const authorization of [
      `Bearer ${access}`,
      basic('admin', passwordOf('admin')),
      basic(key.id, key.secret ?? ''),
      basic(service.id, ''),
      basic(service.id, `${service.secret}:`),
      'Basic x',
      'Bearer',
      `Bearer ${token}x`,
      'Keyhold-Internal x',
      `Keyhold-Internal id=${service.id}`,
    ])
      expectProblem(await send(authorization), 401, 'unauthenticated')
    expectProblem(await stack.auth.send('/internal/service'), 401, 'unauthenticated')
  })

  it('cannot send a request twice, and the nonces of others are their own', async () => {
    const nonce = randomBytes(18).toString('base64url')
    const send = ({ id, secret }: ServiceCredential) => {
      const request = { method: 'GET', target: '/internal/service', body: '' }
      const authorization = signInternalRequest(request, { id, secret, clock: stack.clock, nonce })
      return stack.auth.send(request.target, { headers: { authorization } })
    }
    const replies = await Promise.all([1, 2, 3].map(() => send(service)))
    const outcomes = replies.map(({ status, headers }) => `${status} ${headers.has('keyhold-internal-mac')}`)
    expect(outcomes.sort()).toEqual(['200 true', '401 false', '401 false'])
    expect((await send(other)).status).toBe(200)
    const pair = { secret: stack.environment.SERVICE_SECRET ?? '', clock: stack.clock, nonce }
    const authorization = signInternalRequest({ method: 'GET', target: '/internal/feed', body: '' }, pair)
    expect((await stack.auth.send('/internal/feed', { headers: { authorization } })).status).toBe(200)
  })

  it('gets a clear error for a request to verify that is none, or is not sealed', async () => {
    const send = async (body: unknown, proof: Proof = 'signature'): Promise<Reply> =>
      askAs(stack, { service, proof }, { method: 'POST', target: '/verify-request', body })
    const request = { method: 'GET', url: 'https://a.test/', headers: {}, hasBody: false, clientAddress: '192.0.2.1' }
    const sealedWith = (text: string, secret = service.secret, purpose = verifyRequestPurpose) =>
      sealInternally(text, { secret, purpose })
    expectProblem(await send({ request }), 400, 'invalid-body')
    for (const sealed of [
      '',
      'x',
      sealedWith(JSON.stringify(request), other.secret),
      sealedWith(JSON.stringify(request), service.secret, 'verify-password'),
      sealedWith('no JSON'),
      sealedWith('null'),
      sealedWith(JSON.stringify({ ...request, clientAddress: 'localhost' })),
      sealedWith(JSON.stringify({ ...request, more: 1 })),
    ])
      expectProblem(await send({ sealed }), 400, 'invalid-body')
    for (const wrong of [
      { ...request, url: '/relative' },
      { ...request, url: 'https://a.test/#fragment' },
      { ...request, url: 'https://user@a.test/' },
      { ...request, url: 'https://a.test/ä' },
      { ...request, url: `https://a.test/${'x'.repeat(20_000)}` },
      { ...request, method: 'get it' },
      { ...request, headers: { Authorization: ['x'] } },
      { ...request, headers: { authorization: 'x' } },
      { ...request, headers: { authorization: ['x'.repeat(20_000)] } },
      { ...request, headers: JSON.parse('{"__proto__": ["x"], "constructor": ["x"]}') },
      { ...request, clientAddress: '1.2.3' },
      { ...request, hasBody: 1 },
    ]) {
      const reply = await send({ request: wrong }, 'basic')
      expect([200, 400, 422], JSON.stringify(wrong).slice(0, 200)).toContain(reply.status)
      if (reply.status === 200) expect(reply.body).toMatchObject({ refusal: { status: 401, code: 'unauthenticated' } })
      else expect(['invalid-body', 'invalid-value']).toContain(reply.body.code)
    }
    for (const body of [{}, { sealed: 'x', request }, [], null, 'x', { sealed: 'x'.repeat(100_000) }])
      expect([400, 422]).toContain((await send(body, 'basic')).status)
    expect(verifyRequestExchange.requestBody.safeParse({ request }).success).toBe(true)
  })

  it('makes nobody read a large body before it has proved itself', async () => {
    const answered = (lines: readonly string[]) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(stack.auth.port, '127.0.0.1', () => {
          socket.write(['POST /internal/verify-request HTTP/1.1', 'host: localhost', ...lines, '', ''].join('\r\n'))
        })
        socket.once('data', (data) => {
          resolve(data.toString('latin1'))
          socket.destroy()
        })
        socket.once('error', reject)
      })
    const type = 'content-type: application/json'
    // The body never comes: only who has proved itself is waited for.
    for (const authorization of [
      `Keyhold-Internal id=${randomUUID()}, time=1, nonce=${'n'.repeat(20)}, mac=${'m'.repeat(43)}`,
      `Basic ${Buffer.from(`${service.id}:wrong`).toString('base64')}`,
      'Bearer khs1.x',
    ])
      for (const length of ['content-length: 200000', 'transfer-encoding: chunked'])
        expect(await answered([`authorization: ${authorization}`, type, length])).toMatch(/^HTTP\/1.1 401 /)
    expect(await answered([`authorization: ${serviceBasic(service)}`, type, 'content-length: 300000'])).toMatch(
      /^HTTP\/1.1 413 /,
    )
  })
})
