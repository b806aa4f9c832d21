import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { parseDigestCredential } from '../../../shared/protocol/authentication/digest/digest-credential.ts'
import { digestHa1 } from '../../../shared/protocol/authentication/digest/digest-response.ts'
import { signInternalRequest } from '../../../shared/protocol/internal-api/requests.ts'
import { campaign } from '../../support/campaign.ts'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { fingerprintOfData } from '../../support/stores/data-fingerprint.ts'
import { digestSecretOf, openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'

const username = 'alice'
const secret = digestSecretOf(username)
const basicOf = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

describeOnce('hostile Basic and Digest credentials', (openBackend) => {
  let stack: Stack
  let before: string
  beforeAll(async () => {
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: '100000/60', LOGIN_FAILURES_PER_ADDRESS: '100000/60' }
    stack = await openStack(openBackend, { environment })
    for (const known of [secret, digestHa1(username, secret), passwordOf(username)]) rememberSecret(known)
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    before = await fingerprintOfData(stack.database)
  })

  /** The credential of a deal server for a request. */
  const asService = (request: { method: string; target: string; body: string }): string => {
    const secret = stack.environment.SERVICE_SECRET ?? ''
    return signInternalRequest(request, { secret, clock: stack.clock, nonce: randomUUID() })
  }

  const servers = (): (readonly [TestServer, string])[] => [
    [stack.auth, '/me'],
    [stack.deal, '/rest/v1/deals'],
  ]
  const ask = async (server: TestServer, path: string, lines: readonly string[], method = 'GET'): Promise<Reply> => {
    const head = [`${method} ${path} HTTP/1.1`, 'host: localhost', 'connection: close', 'content-length: 0', ...lines]
    const reply = await sendRaw(server.port, Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'))
    if (!reply) throw new Error('no answer')
    return reply
  }

  it('are refused however a right one is bent', async () => {
    for (const [server, uri] of servers()) {
      const nonce = await askForNonce(server.url)
      const whole = digestCredential({ username, secret, nonce, method: 'GET', uri, count: 1 })
      const bend = fc.record({
        at: fc.nat(whole.length - 1),
        cut: fc.nat(20),
        put: fc.oneof(
          fc.string({ maxLength: 12 }).map((text) => text.replace(/[^\x20-\x7e]/g, '~')),
          fc.constantFrom('"', '\\', ',', ' ', '=', "''", ', nc=00000002', 'stale=true, ', '%00', '\xff'),
        ),
      })
      await fc.assert(
        fc.asyncProperty(bend, async ({ at, cut, put }) => {
          const bent = whole.slice(0, at) + put + whole.slice(at + cut)
          const reply = await ask(server, uri, [`authorization: ${bent}`])
          // What was bent into the same credential, written otherwise, is right once.
          if (reply.status === 200) expect(readAs(bent)).toEqual(readAs(whole))
          else expect([400, 401]).toContain(reply.status)
        }),
        { numRuns: campaign({ short: 20, long: 300 }) },
      )
    }
    expect(await fingerprintOfData(stack.database)).toBe(before)
  })

  /** Scheme and parameters, however they are written; `opaque` need not be repeated. */
  const readAs = (credential: string) => ({
    ...parseDigestCredential(credential.trimStart().slice('Digest '.length)),
    opaque: undefined,
  })

  it.each([
    ['junk', 'Basic \x00\xff'],
    ['a long token', `Basic ${'A'.repeat(12_000)}`],
    ['a long password', basicOf(username, 'x'.repeat(5000))],
    ['a password of many code points in one byte sequence', basicOf(username, 'e\u0301'.repeat(900))],
    ['SQL', basicOf("' or 1=1 --", "' or 1=1 --")],
    ['NUL', basicOf('alice\0', passwordOf(username))],
    ['two credentials in a line', `${basicOf('a', 'b')}, ${basicOf(username, passwordOf(username))}`],
    ['another scheme behind it', `${basicOf('a', 'b')}, Bearer x`],
    ['a long Digest', `Digest ${'x="y", '.repeat(1700)}username="alice"`],
    [
      'Digest with a huge name',
      digestCredential({ username: 'x'.repeat(6000), secret, nonce: 'n', method: 'GET', uri: '/me', count: 1 }),
    ],
    [
      'Digest with a huge nonce',
      digestCredential({ username, secret, nonce: 'n'.repeat(6000), method: 'GET', uri: '/me', count: 1 }),
    ],
  ])('are refused with %s', async (_name, authorization) => {
    for (const [server, uri] of servers()) {
      const reply = await ask(server, uri, [`authorization: ${authorization}`])
      if (authorization.includes('\x00')) expect(reply.status).toBe(400)
      else expectProblem(reply, 401, 'invalid-credentials')
    }
    expect(await fingerprintOfData(stack.database)).toBe(before)
  })

  it('open nothing of /internal', async () => {
    const basic = `authorization: ${basicOf('admin', passwordOf('admin'))}`
    for (const target of ['/internal/digest-secrets?username=alice', '/internal/digest-secrets']) {
      expectProblem(await ask(stack.auth, target, []), 401, 'unauthenticated')
      expectProblem(await ask(stack.auth, target, [basic]), 401, 'unauthenticated')
    }
    for (const target of ['/internal/verify-password', '/internal/limit-refusals']) {
      expectProblem(await ask(stack.auth, target, [basic], 'POST'), 401, 'unauthenticated')
    }
  })

  it('meet an /internal that takes no request twice', async () => {
    const target = '/internal/digest-secrets?username=alice'
    const headers = { authorization: asService({ method: 'GET', target, body: '' }) }
    const first = await stack.auth.send(target, { headers })
    expect(first.status).toBe(200)
    expect(first.headers.get('keyhold-internal-mac')).toMatch(/^[\w-]{43}$/)
    const again = await stack.auth.send(target, { headers })
    expectProblem(again, 401, 'unauthenticated')
    expect(again.headers.get('keyhold-internal-mac')).toBeNull()
  })

  it('meet an /internal that takes nothing but sealed passwords and names, from those with the service secret too', async () => {
    const send = (method: string, target: string, json?: unknown) => {
      const body = json === undefined ? '' : JSON.stringify(json)
      return stack.auth.send(target, {
        method,
        headers: { authorization: asService({ method, target, body }) },
        ...(json === undefined ? {} : { json }),
      })
    }
    const bodies = [
      {},
      { credential: '', clientAddress: '127.0.0.1' },
      { credential: 'AAAA', clientAddress: '127.0.0.1' },
      { credential: 'A'.repeat(100), clientAddress: '127.0.0.1' },
      { credential: 'A'.repeat(20_000), clientAddress: '127.0.0.1' },
      { username: 'alice', password: passwordOf('alice') },
    ]
    for (const body of bodies) {
      const { status } = await send('POST', '/internal/verify-password', body)
      expect([400, 422]).toContain(status)
    }
    const refusal = { scheme: 'digest', actor: 'alice', target: 'alice', address: '203.0.113.7' }
    for (const refusals of [
      undefined,
      [],
      [{}],
      Array(201).fill(refusal),
      [{ ...refusal, scheme: 'bearer' }],
      [{ ...refusal, actor: 'my password!' }],
      [{ ...refusal, target: 'my password!' }],
      [{ ...refusal, action: 'user.deleted' }],
      [{ ...refusal, address: 'x'.repeat(101) }],
    ]) {
      const { status } = await send('POST', '/internal/limit-refusals', { refusals })
      expect([400, 422]).toContain(status)
    }
    for (const query of ['', '?username=', '?username=nobody', '?userhash=x', `?username=${'x'.repeat(5000)}`]) {
      expectProblem(await send('GET', `/internal/digest-secrets${query}`), 404, 'not-found')
    }
    const found = await send('GET', '/internal/digest-secrets?username=alice')
    expect(found.body).toMatchObject({ username: 'alice', ha1Sealed: expect.any(String) })
    expect(found.text).not.toContain(digestHa1(username, secret))
  })
})
