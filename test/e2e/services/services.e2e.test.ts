import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serviceExchange } from '../../../shared/protocol/internal-api/service.ts'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { basicOf, clientCredentials, expectOAuthError, postForm } from '../../support/clients/oauth-requests.ts'
import {
  addInvoices,
  askExchange,
  makeService,
  type Proof,
  type ServiceCredential,
} from '../../support/clients/service-client.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string

const shown = (reply: Reply): ServiceCredential => {
  rememberSecret(String(reply.body.secret))
  return { id: String(reply.body.id), secret: String(reply.body.secret) }
}

const isKnown = async (service: ServiceCredential, proof: Proof = 'signature') => {
  const { status } = await askExchange(
    stack,
    { service, proof },
    { exchange: serviceExchange, path: {}, body: undefined },
  )
  return status === 200
}

describeBackends('services', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    await addInvoices(stack)
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const send = (path: string, json?: object, method?: string) =>
    stack.auth.send(path, { token: admin, ...(json && { json }), ...(method !== undefined && { method }) })

  const entries = async (target: string) => {
    const { body } = await stack.auth.send(`/audit?target=${target}&limit=200`, { token: admin })
    return (body.items as { action: string; actor: string | null; outcome: string }[]).map(
      ({ action, actor, outcome }) => `${actor} ${action} ${outcome}`,
    )
  }

  it('shows the secret once, and never again', async () => {
    const made = await send('/services', { name: '  night ledger ', resourceServer: 'invoices' })
    expect(made.status).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const { id, secret, ...rest } = made.body
    shown(made)
    expect(made.headers.get('location')).toBe(`/services/${id}`)
    expect(Buffer.from(String(secret), 'base64url')).toHaveLength(32)
    expect(rest).toEqual({
      name: 'night ledger',
      resourceServer: 'invoices',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      formerUntil: null,
      lastUsedAt: null,
    })
    expect((await send(`/services/${id}`)).body).toEqual({ id, ...rest })
    const list = await send('/services?resourceServer=invoices')
    expect(list.body.items).toContainEqual({ id, ...rest })
    expect(list.text).not.toContain(String(secret))
    expect((await send('/services?resourceServer=deals')).text).not.toContain(String(id))
    const rows = await stack.database.query('select v::text as text from auth.services v')
    expect(JSON.stringify(rows)).not.toContain(String(secret))
    expect(await entries(String(id))).toEqual(['admin service.created succeeded'])
  })

  it('refuses a name that is taken, an unknown resource server, and values of another form', async () => {
    await send('/services', { name: 'twice', resourceServer: 'deals' }).then(shown)
    expectProblem(await send('/services', { name: 'twice', resourceServer: 'invoices' }), 409, 'service-exists')
    const unknown = await send('/services', { name: 'lost', resourceServer: 'none' })
    expectProblem(unknown, 422, 'invalid-value')
    expect(unknown.body.errors).toMatchObject([{ pointer: '/resourceServer', code: 'unknown-resource-server' }])
    for (const json of [
      { name: '', resourceServer: 'deals' },
      { name: 'x', resourceServer: '../deals' },
    ])
      expectProblem(await send('/services', json), 422, 'invalid-value')
    for (const json of [
      { name: 'x' },
      { name: 'x', resourceServer: 'deals', rights: [] },
      { name: 7, resourceServer: 'deals' },
    ])
      expectProblem(await send('/services', json), 400, 'invalid-body')
  })

  it('needs recent proof', async () => {
    const service = await makeService(stack)
    stack.clock.advanceSeconds(360)
    expectProblem(await send('/services', { name: 'late', resourceServer: 'deals' }), 403, 'recent-login-required')
    expectProblem(await send(`/services/${service.id}/rotate`, {}), 403, 'recent-login-required')
    const password = passwordOf('admin')
    const made = await send('/services', { name: 'late', resourceServer: 'deals', password })
    expect(made.status).toBe(201)
    shown(made)
    admin = (await stack.logIn('admin')).access
  })

  it('gives a new secret, and takes the former one until the overlap ends', async () => {
    const before = await makeService(stack)
    const rotated = await send(`/services/${before.id}/rotate`, { overlapSeconds: 60 })
    expect(rotated.status).toBe(200)
    expect(rotated.body.formerUntil).toMatch(/^\d{4}-.*Z$/)
    const after = shown(rotated)
    expect([await isKnown(before), await isKnown(after)]).toEqual([true, true])
    expect([await isKnown(before, 'basic'), await isKnown(after, 'basic')]).toEqual([true, true])
    stack.clock.advanceSeconds(61)
    expect([await isKnown(before), await isKnown(after)]).toEqual([false, true])
    expect([await isKnown(before, 'basic'), await isKnown(after, 'basic')]).toEqual([false, true])
    expect((await send(`/services/${before.id}`)).body.formerUntil).toBeNull()
    const last = shown(await send(`/services/${before.id}/rotate`, { overlapSeconds: 0 }))
    expect([await isKnown(after), await isKnown(last)]).toEqual([false, true])
    expect(await entries(before.id)).toEqual([
      'admin service.created succeeded',
      'admin service.rotated succeeded',
      'admin service.rotated succeeded',
    ])
  })

  it('ends at once when it is deleted, and then there is none', async () => {
    const service = await makeService(stack)
    expect(await isKnown(service)).toBe(true)
    expect((await send(`/services/${service.id}`, undefined, 'DELETE')).status).toBe(204)
    expect([await isKnown(service), await isKnown(service, 'basic')]).toEqual([false, false])
    for (const [path, json, method] of [
      [`/services/${service.id}`, undefined, 'DELETE'],
      [`/services/${service.id}`, undefined, 'GET'],
      [`/services/${service.id}/rotate`, {}, 'POST'],
      ['/services/none', undefined, 'DELETE'],
    ] as const)
      expectProblem(await send(path, json, method), 404, 'not-found')
    expect(await entries(service.id)).toContain('admin service.deleted succeeded')
  })

  it('counts its uses', async () => {
    const service = await makeService(stack)
    await isKnown(service)
    await expect.poll(async () => (await send(`/services/${service.id}`)).body.lastUsedAt).toEqual(expect.any(String))
    const { text } = await stack.auth.send('/metrics')
    expect(text).toContain(
      `keyhold_service_requests_total{server="auth",service="${service.id}",outcome="succeeded"} 1`,
    )
  })

  describe('with a token of client_credentials', () => {
    const tokenOf = async ({ id, secret }: ServiceCredential) =>
      postForm(stack, '/oauth/token', clientCredentials, basicOf(id, secret))

    it('asks below /internal, until the token expires', async () => {
      const service = await makeService(stack)
      const { status, body } = await tokenOf(service)
      expect({ status, ...body }).toEqual({
        status: 200,
        access_token: expect.stringMatching(/^khs1\./),
        token_type: 'Bearer',
        expires_in: 1800,
      })
      const proof = { token: String(body.access_token) }
      expect(await isKnown(service, proof)).toBe(true)
      expect(await entries(service.id)).toContain('null token.issued succeeded')
      stack.clock.advanceSeconds(1_800)
      expect(await isKnown(service, proof)).toBe(false)
      admin = (await stack.logIn('admin')).access
    })

    it('ends with the service, and with the secret that got it', async () => {
      const service = await makeService(stack)
      const proof = { token: String((await tokenOf(service)).body.access_token) }
      const rotated = shown(await send(`/services/${service.id}/rotate`, { overlapSeconds: 60 }))
      expect(await isKnown(service, proof)).toBe(true)
      const { body } = await tokenOf(service)
      expect(body.expires_in).toBeLessThanOrEqual(60)
      const other = { token: String((await tokenOf(rotated)).body.access_token) }
      await send(`/services/${service.id}/rotate`, { overlapSeconds: 60 }).then(shown)
      expect([await isKnown(service, proof), await isKnown(service, other)]).toEqual([false, true])
      await send(`/services/${service.id}`, undefined, 'DELETE')
      expect(await isKnown(service, other)).toBe(false)
    })

    it('is refused with a wrong secret, and with a scope', async () => {
      const service = await makeService(stack)
      expectOAuthError(await tokenOf({ ...service, secret: 'x'.repeat(43) }), 401, 'invalid_client')
      expect(await entries(service.id)).toContain('null client.authenticated invalid_client')
      const form = { ...clientCredentials, scope: 'deal.read' }
      expectOAuthError(
        await postForm(stack, '/oauth/token', form, basicOf(service.id, service.secret)),
        400,
        'invalid_scope',
      )
    })
  })
})
