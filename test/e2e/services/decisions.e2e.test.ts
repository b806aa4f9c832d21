import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { basicOf, clientCredentials, postForm } from '../../support/clients/oauth-requests.ts'
import { makeService, type ServiceCredential, serviceBasic } from '../../support/clients/service-client.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string
let service: ServiceCredential

const user = (id: string) => ({ subject: { type: 'user', id } })
const may = (name: string) => ({ action: { name } })
const invoice = { resource: { type: 'invoice', id: '17' } }

describeBackends('decisions by AuthZEN', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    admin = (await stack.logIn('admin')).access
    const right = (name: string) => ({ name, description: '', readsOnly: false })
    const server = { id: 'invoices', audience: 'urn:example:invoices', name: 'Invoices' }
    const rights = [right('invoice.approve'), right('invoice.read')]
    await stack.auth.send('/resource-servers', { token: admin, json: { ...server, rights } })
    const role = { name: 'approver', description: 'Approves invoices', rights: ['invoice.approve'] }
    expect((await stack.auth.send('/roles', { token: admin, json: role })).status).toBe(201)
    service = await makeService(stack, 'invoices')
    await give('carol', ['agent', 'approver'])
  })
  afterAll(() => stack.close())

  const give = (username: string, roles: string[]) =>
    stack.auth.send(`/users/${username}`, { token: admin, method: 'PATCH', json: { roles } })
  const ask = (path: string, json: object, authorization = serviceBasic(service)) =>
    stack.auth.send(`/access/v1/${path}`, { json, headers: { authorization, 'x-request-id': 'ask-1' } })
  const evaluate = async (json: object) => (await ask('evaluation', json)).body

  it('says yes to what a role gives, and names the right that is missing', async () => {
    expect(await evaluate({ ...user('carol'), ...may('invoice.approve'), ...invoice })).toEqual({ decision: true })
    expect(await evaluate({ ...user('CAROL'), ...may('invoice.read'), ...invoice })).toEqual({
      decision: false,
      context: { missingRight: 'invoice.read' },
    })
  })

  it('refuses a member twice: the service may have decided by the other one', async () => {
    const headers = { authorization: serviceBasic(service), 'content-type': 'application/json' }
    const subject = '"subject":{"type":"user","id":"bob","id":"carol"}'
    const rest = JSON.stringify({ ...may('invoice.approve'), ...invoice }).slice(1)
    for (const [path, body] of [
      ['evaluation', `{${subject},${rest}`],
      ['evaluations', `{"evaluations":[{${subject},${rest}]}`],
    ] as const) {
      expectProblem(await stack.auth.send(`/access/v1/${path}`, { method: 'POST', headers, body }), 400, 'invalid-body')
    }
  })

  it.each([
    ['a right of another resource server', user('carol'), 'deal.read'],
    ['a right that does not exist', user('carol'), 'invoice.no'],
    ['a user that does not exist', user('nobody-here'), 'invoice.approve'],
    ['a name that no user can have', user(':catalogue'), 'invoice.approve'],
    ['a subject that is no user', { subject: { type: 'group', id: 'carol' } }, 'invoice.approve'],
  ])('says no to %s', async (_, subject, right) => {
    expect(await evaluate({ ...subject, ...may(right), ...invoice })).toMatchObject({ decision: false })
  })

  it('changes with the role, at once', async () => {
    const asked = { ...user('carol'), ...may('invoice.approve'), ...invoice }
    await give('carol', ['agent'])
    expect(await evaluate(asked)).toMatchObject({ decision: false })
    await give('carol', ['approver'])
    expect(await evaluate(asked)).toEqual({ decision: true })
    await stack.auth.send('/users/carol', { token: admin, method: 'PATCH', json: { enabled: false } })
    expect(await evaluate(asked)).toMatchObject({ decision: false })
    await stack.auth.send('/users/carol', { token: admin, method: 'PATCH', json: { enabled: true } })
  })

  it('answers several at once, with defaults, as far as the semantic wants', async () => {
    const several = (semantic?: string) => ({
      ...user('carol'),
      ...invoice,
      evaluations: [may('invoice.approve'), may('invoice.read'), { ...may('invoice.approve'), ...user('bob') }],
      ...(semantic !== undefined && { options: { evaluations_semantic: semantic } }),
    })
    const decisions = async (json: object) =>
      ((await ask('evaluations', json)).body.evaluations as { decision: boolean }[]).map(({ decision }) => decision)
    expect(await decisions(several())).toEqual([true, false, false])
    expect(await decisions(several('deny_on_first_deny'))).toEqual([true, false])
    expect(await decisions(several('permit_on_first_permit'))).toEqual([true])
    const single = { ...user('carol'), ...may('invoice.approve'), ...invoice }
    expect((await ask('evaluations', single)).body).toEqual({ decision: true })
  })

  it('refuses what is no evaluation with 400, and callers who are no service with 401', async () => {
    expectProblem(await ask('evaluation', user('carol')), 400, 'invalid-body')
    expectProblem(await ask('evaluations', { evaluations: [may('invoice.read')] }), 400, 'invalid-body')
    const evaluations = Array.from({ length: 101 }, () => may('invoice.read'))
    expectProblem(await ask('evaluations', { ...user('carol'), ...invoice, evaluations }), 400, 'invalid-body')
    const asked = { ...user('carol'), ...may('invoice.approve'), ...invoice }
    const { access } = await stack.logIn('alice')
    for (const authorization of [`Bearer ${access}`, 'Basic YTpi', serviceBasic({ ...service, secret: 'wrong' })])
      expectProblem(await ask('evaluation', asked, authorization), 401, 'unauthenticated')
  })

  it('takes a token of the service, and ends with it', async () => {
    const own = await makeService(stack, 'invoices')
    const granted = await postForm(stack, '/oauth/token', clientCredentials, basicOf(own.id, own.secret))
    const token = `Bearer ${granted.body.access_token}`
    const asked = { ...user('carol'), ...may('invoice.approve'), ...invoice }
    expect((await ask('evaluation', asked, token)).status).toBe(200)
    await stack.auth.send(`/services/${own.id}`, { token: admin, method: 'DELETE' })
    for (const authorization of [token, serviceBasic(own)])
      expectProblem(await ask('evaluation', asked, authorization), 401, 'unauthenticated')
  })

  it('is announced by a document, and sends the identifier of the request back', async () => {
    const { body } = await stack.auth.send('/.well-known/authzen-configuration')
    expect(body).toEqual({
      policy_decision_point: stack.auth.url,
      access_evaluation_endpoint: `${stack.auth.url}/access/v1/evaluation`,
      access_evaluations_endpoint: `${stack.auth.url}/access/v1/evaluations`,
    })
    const reply = await ask('evaluation', { ...user('carol'), ...may('invoice.approve'), ...invoice })
    expect(reply.headers.get('x-request-id')).toBe('ask-1')
  })
})
