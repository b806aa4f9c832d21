import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../support/clients/http-client.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let token: string

const nul = '\u0000'
const invoices = { id: 'invoices', audience: 'urn:example:invoices', name: 'Invoices', rights: [] }
const right = (name: string) => ({ name, description: '', readsOnly: false })

describeBackends('hostile values of the catalogue', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    token = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const send = (path: string, json?: object, method?: string) =>
    stack.auth.send(path, { token, ...(json && { json }), ...(method !== undefined && { method }) })

  it.each([
    ['a name with NUL', { ...invoices, name: `In${nul}voices` }],
    ['a name with a lone surrogate', { ...invoices, name: 'In\ud800voices' }],
    ['an empty name', { ...invoices, name: '  ' }],
    ['an id in capitals', { ...invoices, id: 'Invoices' }],
    ['an id of 64 characters', { ...invoices, id: 'i'.repeat(64) }],
    ['an audience that is no URI', { ...invoices, audience: 'invoices' }],
    ['an audience with a fragment', { ...invoices, audience: 'urn:example:invoices#a' }],
    ['an audience with a space', { ...invoices, audience: 'urn:example: invoices' }],
    ['a right twice', { ...invoices, rights: [right('invoice.read'), right('invoice.read')] }],
    ['a right without a verb', { ...invoices, rights: [right('invoice')] }],
    ['a right with NUL in its description', { ...invoices, rights: [{ ...right('invoice.read'), description: nul }] }],
    ['501 rights', { ...invoices, rights: Array.from({ length: 501 }, (_, at) => right(`invoice.r${at}`)) }],
    ['a member that is none', { ...invoices, admin: true }],
  ])('a resource server with %s is refused', async (_, json) => {
    const { status } = await send('/resource-servers', json)
    expect([400, 422]).toContain(status)
    expectProblem(await send('/resource-servers/invoices'), 404, 'not-found')
  })

  it('10,000 rights are too large a body, or too many', async () => {
    const rights = Array.from({ length: 10_000 }, (_, at) => right(`invoice.r${at}`))
    expect([400, 413, 422]).toContain((await send('/resource-servers', { ...invoices, rights })).status)
    const named = rights.map(({ name }) => name)
    expect([400, 413, 422]).toContain((await send('/roles', { name: 'large', rights: named })).status)
  })

  it.each([
    ['a name with NUL', { name: `cl${nul}erk`, rights: [] }],
    ['the name of the catalogue', { name: ':catalogue', rights: [] }],
    ['a name in capitals', { name: 'Clerk', rights: [] }],
    ['a role as a right', { name: 'clerk', rights: ['viewer'] }],
    ['a right with NUL', { name: 'clerk', rights: [nul] }],
    ['a description with NUL', { name: 'clerk', rights: [], description: nul }],
  ])('a role with %s is refused', async (_, json) => {
    const { status } = await send('/roles', json)
    expect([400, 422]).toContain(status)
  })

  it.each(['%00', '%F0%9F%92%A3', 'a'.repeat(1_000), '..%2Froles', ':catalogue'])(
    'the path of %s leads nowhere',
    async (name) => {
      for (const [path, method, json] of [
        [`/roles/${name}`, 'GET', undefined],
        [`/roles/${name}`, 'PUT', { rights: [] }],
        [`/roles/${name}`, 'DELETE', undefined],
        [`/resource-servers/${name}`, 'GET', undefined],
        [`/resource-servers/${name}`, 'PATCH', { name: 'A' }],
        [`/resource-servers/${name}`, 'DELETE', undefined],
        [`/users/${name}/logout`, 'POST', undefined],
      ] as const) {
        const { status } = await send(path, json, method)
        expect({ path, method, status: status < 500 }).toEqual({ path, method, status: true })
        expect([400, 404]).toContain(status)
      }
    },
  )

  it('a filter of users by what is no name of a role is 400', async () => {
    for (const role of ['%00', 'No%20Role', '', 'king']) expect((await send(`/users?role=${role}`)).status).toBe(400)
    expect((await send('/users?role=viewer')).status).toBe(200)
  })

  it('eight changes of one role at once all end, and the last one stands', async () => {
    await send('/roles', { name: 'clerk', rights: [] })
    const rights = ['deal.read', 'deal.hold', 'deal.rename']
    const changes = await Promise.all(
      Array.from({ length: 8 }, (_, at) => send('/roles/clerk', { rights: [rights[at % 3]] }, 'PUT')),
    )
    expect(new Set(changes.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await send('/roles/clerk')).body.rights).toHaveLength(1)
    expect((await send('/roles/clerk', undefined, 'DELETE')).status).toBe(204)
  })
})
