import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseDigestCredential } from '../../../shared/protocol/authentication/digest/digest-credential.ts'
import { digestHa1 } from '../../../shared/protocol/authentication/digest/digest-response.ts'
import { signInternalRequest } from '../../../shared/protocol/internal-api/requests.ts'
import { campaign } from '../../support/campaign.ts'
import { expectProblem, rememberSecret } from '../../support/clients/http-client.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { fingerprintOfData } from '../../support/stores/data-fingerprint.ts'
import { digestSecretOf, openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'

const username = 'alice'
const secret = digestSecretOf(username)

describeOnce('hostile Basic and Digest credentials', (openBackend) => {
  let stack: Stack
  beforeAll(async () => {
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: '100000/60', LOGIN_FAILURES_PER_ADDRESS: '100000/60' }
    stack = await openStack(openBackend, { environment })
    for (const known of [secret, digestHa1(username, secret), passwordOf(username)]) rememberSecret(known)
  })
  afterAll(() => stack.close())

  const servers = (): (readonly [TestServer, string])[] => [
    [stack.auth, '/me'],
    [stack.deal, '/rest/v1/deals'],
  ]

  it('are refused however a right one is bent', async () => {
    const before = await fingerprintOfData(stack.database)
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
          const head = `GET ${uri} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: ${bent}\r\n\r\n`
          const reply = await sendRaw(server.port, Buffer.from(head, 'latin1'))
          // What was bent into the same credential, written otherwise, is right once.
          if (reply?.status === 200) expect(readAs(bent)).toEqual(readAs(whole))
          else expect([400, 401]).toContain(reply?.status)
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

  it('meet an /internal that takes nothing but sealed passwords and names, from those with the service secret too', async () => {
    const send = (method: string, target: string, json?: unknown) => {
      const body = json === undefined ? '' : JSON.stringify(json)
      const signing = { secret: stack.environment.SERVICE_SECRET ?? '', clock: stack.clock, nonce: randomUUID() }
      return stack.auth.send(target, {
        method,
        headers: { authorization: signInternalRequest({ method, target, body }, signing) },
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
