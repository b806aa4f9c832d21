import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { apiKeyExchange } from '../../../shared/protocol/internal-api/api-key.ts'
import { catalogueExchange } from '../../../shared/protocol/internal-api/catalogue.ts'
import { feedExchange } from '../../../shared/protocol/internal-api/feed.ts'
import { principalExchange } from '../../../shared/protocol/internal-api/principal.ts'
import { instanceHeader } from '../../../shared/protocol/internal-api/responses.ts'
import { serviceExchange } from '../../../shared/protocol/internal-api/service.ts'
import { sessionExchange } from '../../../shared/protocol/internal-api/session.ts'
import { usedSignaturesExchange } from '../../../shared/protocol/internal-api/used-signatures.ts'
import { withRights } from '../../../shared/protocol/principal/with-rights.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { addInvoices, askExchange, makeService, type ServiceCredential } from '../../support/clients/service-client.ts'
import { makeKey } from '../../support/clients/signing.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let ofDeals: ServiceCredential
let ofInvoices: ServiceCredential

describeBackends('what services may ask', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    await addInvoices(stack)
    ofDeals = await makeService(stack)
    ofInvoices = await makeService(stack, 'invoices')
  })
  afterAll(() => stack.close())

  it('is what it is, and what the auth server expects', async () => {
    const service = ofInvoices
    for (const proof of ['signature', 'basic'] as const) {
      const asked = { exchange: serviceExchange, path: {}, body: undefined }
      const reply = await askExchange(stack, { service, proof }, asked)
      expect(reply.status).toBe(200)
      expect(reply.headers.get('cache-control')).toBe('no-store')
      expect(serviceExchange.responseBody.parse(reply.body)).toEqual({
        version: 1,
        id: service.id,
        issuer: stack.auth.url,
        resourceServer: { id: 'invoices', audience: 'urn:example:invoices' },
        schemes: ['bearer', 'key-signed', 'signed-request', 'session', 'basic', 'digest'],
        signatureTtlSeconds: 300,
        sessionIdleTtlSeconds: 1800,
        expiredTokenStatus: 400,
        publicOrigins: { auth: stack.auth.url, deal: 'http://deals.test' },
        history: expect.any(String),
      })
    }
  })

  it('is the record of a user, with the rights of its own resource server alone', async () => {
    const ask = async (service: ServiceCredential, username: string) =>
      askExchange(stack, { service }, { exchange: principalExchange, path: { username }, body: undefined })
    const seen = await ask(ofDeals, 'erin')
    expect(seen.body).toMatchObject({ username: 'erin', enabled: true, roles: ['agent', 'approver'], directRights: [] })
    expect(seen.headers.get(instanceHeader)).toMatch(/./)
    const narrowed = await ask(ofInvoices, 'erin')
    expect(narrowed.body).toEqual({ ...seen.body, directRights: ['invoice.read'] })
    expect((await ask(ofInvoices, 'bob')).body).toMatchObject({ username: 'bob', directRights: [] })
    expectProblem(await ask(ofInvoices, 'nobody'), 404, 'not-found')
  })

  it('is the catalogue of its own resource server, and a record has the rights that it gives', async () => {
    const ask = async (service: ServiceCredential) =>
      askExchange(stack, { service }, { exchange: catalogueExchange, path: {}, body: undefined })
    const catalogue = catalogueExchange.responseBody.parse((await ask(ofInvoices)).body)
    expect(catalogue.rights.map(({ name }) => name)).toEqual(['invoice.read', 'invoice.approve'])
    expect(catalogue.roles.map(({ name, rights }) => [name, rights]).sort()).toEqual([
      ['admin', ['invoice.read', 'invoice.approve']],
      ['approver', ['invoice.approve']],
    ])
    const ofPair = catalogueExchange.responseBody.parse((await ask(ofDeals)).body)
    expect(ofPair.rights.map(({ name }) => name)).not.toContain('invoice.read')
    expect(ofPair.roles.find(({ name }) => name === 'approver')?.rights).toEqual(['deal.read'])
    expect(ofPair.version).toBe(catalogue.version)
    for (const [username, rights] of [
      ['erin', ['invoice.read', 'invoice.approve']],
      ['admin', ['invoice.read', 'invoice.approve']],
      ['bob', []],
    ] as const) {
      const asked = { exchange: principalExchange, path: { username }, body: undefined }
      const record = principalExchange.responseBody.parse(
        (await askExchange(stack, { service: ofInvoices }, asked)).body,
      )
      expect(withRights(record, catalogue).rights).toEqual(rights)
    }
  })

  it('is an API key without what signs, and with the rights of its own resource server alone', async () => {
    const ask = async (service: ServiceCredential, id: string) =>
      askExchange(stack, { service }, { exchange: apiKeyExchange, path: { id }, body: undefined })
    const hmac = await makeKey(stack, 'alice', { rights: ['deal.read'] })
    const { access: token } = await stack.logIn('alice')
    const rotated = await stack.auth.send(`/api-keys/${hmac.id}/rotate`, {
      token,
      json: { password: passwordOf('alice') },
    })
    expect(rotated.status).toBe(200)
    expect((await ask(ofDeals, hmac.id)).body).toMatchObject({
      kind: 'hmac',
      username: 'alice',
      rights: ['deal.read'],
      secretSealed: null,
      publicKeyPem: null,
      former: { secretSealed: null, publicKeyPem: null },
    })
    const rsa = await makeKey(stack, 'alice', { kind: 'rsa', rights: ['deal.read'] })
    const pem = expect.stringContaining('PUBLIC KEY')
    expect((await ask(ofInvoices, rsa.id)).body).toMatchObject({
      kind: 'rsa',
      rights: [],
      secretSealed: null,
      publicKeyPem: pem,
    })
    const all = await makeKey(stack, 'alice', { kind: 'rsa' })
    expect((await ask(ofInvoices, all.id)).body).toMatchObject({ rights: null })
  })

  it('is the feed and a session', async () => {
    const service = ofInvoices
    const feed = await askExchange(stack, { service }, { exchange: feedExchange, path: {}, body: undefined })
    expect(feed.body).toEqual({ instanceId: feed.headers.get(instanceHeader) })
    const json = { username: 'carol', password: passwordOf('carol') }
    const signedIn = await stack.auth.send('/sessions', { json })
    const key = /=([^;]+)/.exec(signedIn.headers.get('set-cookie') ?? '')?.[1] ?? ''
    const keyHash = createHash('sha256').update(key).digest('base64url')
    const session = await askExchange(
      stack,
      { service },
      { exchange: sessionExchange, path: {}, body: { keyHash, isAction: false } },
    )
    expect(session.body).toMatchObject({ session: { username: 'carol' } })
  })

  it('is whether a signature was used, each service for itself', async () => {
    const apiKey = randomUUID()
    const signature = createHash('sha256').update('a signature').digest('base64url')
    const expiresAt = stack.clock.now() + 60_000
    const use = async (service: ServiceCredential, changed: object = {}) =>
      askExchange(
        stack,
        { service },
        { exchange: usedSignaturesExchange, path: {}, body: { apiKey, signature, expiresAt, ...changed } },
      )
    expect((await use(ofInvoices)).body).toEqual({ usedAt: null })
    expect((await use(ofInvoices)).body).toEqual({ usedAt: expect.any(Number) })
    expect((await use(ofDeals)).body).toEqual({ usedAt: null })
    const twice = await Promise.all([1, 2, 3].map(() => use(ofDeals, { apiKey: ofDeals.id })))
    expect(twice.filter(({ body }) => body.usedAt === null)).toHaveLength(1)
    expectProblem(await use(ofInvoices, { expiresAt: stack.clock.now() + 86_400_000 }), 422, 'invalid-value')
    expectProblem(await use(ofInvoices, { signature: 'x' }), 422, 'invalid-value')
    expectProblem(await use(ofInvoices, { apiKey: 'x'.repeat(100_000) }), 422, 'invalid-value')
  })
})
