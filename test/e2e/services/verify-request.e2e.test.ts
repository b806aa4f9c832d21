import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { createDigestNonces } from '../../../shared/protocol/authentication/digest/digest-nonce.ts'
import { serviceExchange } from '../../../shared/protocol/internal-api/service.ts'
import type { ReceivedRequest, RequestVerdict } from '../../../shared/protocol/internal-api/verify-request.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { challengeIn, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import {
  addInvoices,
  askExchange,
  makeService,
  type ServiceCredential,
  serviceOrigin,
  verifyAt,
} from '../../support/clients/service-client.ts'
import { type ClientKey, makeKey, signUrl } from '../../support/clients/signing.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { digestSecretOf, openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let service: ServiceCredential
let other: ServiceCredential

const invoices = 'urn:example:invoices'

const basicOf = (username: string, password: string) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

const verify = async (received: Partial<ReceivedRequest>, by = service): Promise<RequestVerdict> => {
  const { status, body, text } = await verifyAt(stack, { service: by }, received)
  expect(status, text).toBe(200)
  return body as unknown as RequestVerdict
}

const accepted = (verdict: RequestVerdict) => ('accepted' in verdict ? verdict.accepted : verdict)
const refusal = (verdict: RequestVerdict) => ('refusal' in verdict ? verdict.refusal : verdict)

describeBackends('a request that a service has verified', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    await addInvoices(stack)
    service = await makeService(stack)
    other = await makeService(stack, 'invoices')
  })
  afterAll(() => stack.close())

  describe('with Basic', () => {
    const authorization = [basicOf('bob', passwordOf('bob'))]

    it('names the user, the version of the record and the rights', async () => {
      expect(accepted(await verify({ headers: { authorization } }))).toEqual({
        scheme: 'basic',
        username: 'bob',
        userId: expect.any(String),
        version: expect.any(Number),
        rights: ['deal.read', 'deal.history.read'],
        credential: { generation: null, loginId: null, expiresAt: null, rights: null, carriesPassword: false },
        headers: {},
      })
      const ofErin = { headers: { authorization: [basicOf('erin', passwordOf('erin'))] } }
      expect(accepted(await verify(ofErin, other))).toMatchObject({ rights: ['invoice.read', 'invoice.approve'] })
      expect(accepted(await verify({ headers: { authorization } }, other))).toMatchObject({
        username: 'bob',
        rights: [],
      })
    })

    it('is refused with the challenge for a wrong password, and counted for the client of the service', async () => {
      const wrong = { headers: { authorization: [basicOf('dave', 'not the password')] }, clientAddress: '198.51.100.9' }
      expect(refusal(await verify(wrong))).toEqual({
        status: 401,
        code: 'invalid-credentials',
        detail: expect.any(String),
        members: {},
        headers: { 'www-authenticate': ['Basic realm="keyhold", charset="UTF-8"'] },
      })
      for (let count = 0; count < 10; count += 1) await verify(wrong)
      const limited = refusal(await verify(wrong))
      expect(limited).toMatchObject({ status: 429, code: 'too-many-attempts' })
      expect(limited).toMatchObject({ headers: { 'retry-after': [expect.stringMatching(/^\d+$/)] } })
      const right = { headers: { authorization: [basicOf('dave', passwordOf('dave'))] } }
      expect(refusal(await verify({ ...right, clientAddress: '198.51.100.9' }))).toMatchObject({ status: 429 })
      expect(accepted(await verify({ ...right, clientAddress: '203.0.113.1' }))).toMatchObject({ username: 'dave' })
      expect(accepted(await verify({ ...right, clientAddress: '198.51.100.9' }, other))).toMatchObject({
        username: 'dave',
      })
      // At the very address of the user, as a service may state: the auth server counts that for the service alone.
      for (let count = 0; count < 11; count += 1) await verify({ ...wrong, clientAddress: '127.0.0.1' })
      await stack.logIn('dave')
    })

    it('is taken unsealed where the service proves itself by Basic, and nowhere else', async () => {
      const { body } = await verifyAt(stack, { service, proof: 'basic' }, { headers: { authorization } })
      expect(body).toMatchObject({ accepted: { username: 'bob' } })
    })
  })

  describe('with Digest', () => {
    const ask = async (changed: Partial<Parameters<typeof digestCredential>[0]>, uri = '/invoices') => {
      const input = { username: 'carol', secret: digestSecretOf('carol'), method: 'GET', uri, count: 1, nonce: '' }
      return { headers: { authorization: [digestCredential({ ...input, ...changed })] } }
    }

    it('is accepted with a nonce that the service made, once', async () => {
      const { body } = await askExchange(stack, { service }, { exchange: serviceExchange, path: {}, body: undefined })
      const history = { present: () => String(body.history) }
      const nonces = createDigestNonces({
        secrets: [service.secret],
        clock: stack.clock,
        ids: createIdSource(stack.clock),
        history,
      })
      const received = await ask({ nonce: nonces.issue() })
      const verdict = accepted(await verify(received))
      expect(verdict).toMatchObject({ scheme: 'digest', username: 'carol' })
      expect(verdict).toMatchObject({ headers: { 'authentication-info': [expect.stringContaining('rspauth="')] } })
      expect(refusal(await verify(received))).toMatchObject({ status: 401, code: 'invalid-credentials' })
      expect(refusal(await verify(await ask({ nonce: nonces.issue() }), other))).toMatchObject({
        code: 'invalid-credentials',
      })
      expect(refusal(await verify(await ask({ nonce: nonces.issue() }, '/other')))).toMatchObject({
        code: 'invalid-credentials',
      })
      const absolute = await ask({ nonce: nonces.issue() }, `${serviceOrigin}/invoices`)
      expect(accepted(await verify(absolute))).toMatchObject({ username: 'carol' })
      const strange = createDigestNonces({
        secrets: [service.secret],
        clock: stack.clock,
        ids: createIdSource(stack.clock),
        history: { present: () => undefined },
      })
      expect(refusal(await verify(await ask({ nonce: strange.issue() })))).toMatchObject({ code: 'stale-nonce' })
    })

    it('is refused with a nonce of its own, which is good at the service alone', async () => {
      const refused = refusal(await verify(await ask({ nonce: 'none' })))
      const [line = ''] = 'headers' in refused ? (refused.headers['www-authenticate'] ?? []) : []
      const nonce = challengeIn(line)?.nonce ?? ''
      const credential = await ask({ nonce }, '/me')
      const atAuth = await stack.auth.send('/me', {
        headers: { authorization: credential.headers.authorization[0] ?? '' },
      })
      expectProblem(atAuth, 401, 'invalid-credentials')
      expect(accepted(await verify(await ask({ nonce })))).toMatchObject({ username: 'carol' })
    })
  })

  describe('with a signature by HMAC', () => {
    let key: ClientKey
    beforeAll(async () => {
      key = await makeKey(stack, 'alice', { rights: ['deal.read', 'deal.hold'] })
    })

    const signed = (audience = 'deals') => {
      const url = `${serviceOrigin}/invoices?a=1${audience && `&audience=${audience}`}`
      const timestamp = Math.floor(stack.clock.now() / 1000)
      return { url: signUrl(key, { method: 'GET', url }, { timestamp, nonce: String(Math.random()) }) }
    }

    it('names the key and its rights', async () => {
      expect(accepted(await verify(signed()))).toMatchObject({
        scheme: 'signed-request',
        username: 'alice',
        rights: ['deal.read', 'deal.hold'],
        credential: { loginId: key.id, rights: ['deal.read', 'deal.hold'] },
      })
      expect(accepted(await verify(signed(invoices), other))).toMatchObject({
        rights: [],
        credential: { rights: [] },
      })
    })

    it('is refused unless it says which service it is for, and is of no use anywhere else', async () => {
      for (const by of [service, other]) {
        const refused = refusal(await verify(signed(''), by))
        expect(refused).toMatchObject({ status: 400, code: 'signature-audience-required' })
      }
      const atInvoices = signed(invoices)
      expect(refusal(await verify(atInvoices))).toMatchObject({ status: 401, code: 'invalid-signature' })
      expect(refusal(await verify(signed(), other))).toMatchObject({ code: 'invalid-signature' })
      const timestamp = Math.floor(stack.clock.now() / 1000)
      for (const [audience, atDeals] of [
        [invoices, 401],
        [serviceOrigin, 401],
        ['deals', 200],
      ] as const) {
        const target = `/rest/v1/deals?audience=${audience}`
        const url = signUrl(key, { method: 'GET', url: serviceOrigin + target }, { timestamp })
        const by = audience === invoices ? other : service
        expect(accepted(await verify({ url }, by))).toMatchObject({ username: 'alice' })
        expect((await stack.deal.send(url.slice(serviceOrigin.length))).status).toBe(atDeals)
      }
    })
  })

  it('is refused without a credential, with one of another scheme, and with several', async () => {
    expect(refusal(await verify({}))).toMatchObject({ status: 401, code: 'unauthenticated' })
    const { access } = await stack.logIn('bob')
    expect(refusal(await verify({ headers: { authorization: [`Bearer ${access}`] } }))).toMatchObject({
      code: 'unknown-scheme',
    })
    const two = [basicOf('bob', passwordOf('bob')), basicOf('bob', passwordOf('bob'))]
    expect(refusal(await verify({ headers: { authorization: two } }))).toMatchObject({
      status: 400,
      code: 'several-credentials',
    })
  })
})
