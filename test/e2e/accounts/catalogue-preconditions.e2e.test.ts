import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let token: string

describeOnce('a change of what was read before', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    token = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it.each([
    ['PUT', '/roles/viewer', { rights: ['deal.read', 'deal.history.read'] }, { rights: ['deal.read'] }],
    ['PATCH', '/resource-servers/deals', { name: 'Former' }, { name: 'Present' }],
    ['PATCH', '/users/bob', { roles: ['manager'] }, { roles: ['viewer'], rights: ['deal.hold'] }],
  ])('%s %s is refused when somebody has changed it since', async (method, path, former, present) => {
    const send = (json: object, tag?: string | null) =>
      stack.auth.send(path, { method, token, json, headers: tag ? { 'if-match': tag } : {} })
    const tag = (await stack.auth.send(path, { token })).headers.get('etag')
    const changed = await send(present, tag)
    expect([changed.status, changed.headers.get('etag') === tag]).toEqual([200, false])
    expectProblem(await send(former, tag), 412, 'precondition-failed')
    expect((await stack.auth.send(path, { token })).body).toMatchObject(present)
    expect((await send(former, '*')).status).toBe(200)
    expect((await send(present)).status).toBe(200)
  })

  it.each([
    ['/roles', 'short-lived', { name: 'short-lived', rights: ['deal.read'] }, { description: 'Changed', rights: [] }],
    ['/resource-servers', 'archive', { id: 'archive', name: 'A', audience: 'urn:example:archive' }, { name: 'B' }],
    ['/users', 'judy', { username: 'judy', password: 'a good phrase for judy' }, { roles: ['viewer'] }],
  ])('DELETE below %s is refused when somebody has changed %s since', async (list, name, made, changes) => {
    const path = `${list}/${name}`
    const remove = (tag?: string) =>
      stack.auth.send(path, { method: 'DELETE', token, headers: tag === undefined ? {} : { 'if-match': tag } })
    const make = async () => expect((await stack.auth.send(list, { token, json: made })).status).toBe(201)
    const tagNow = async () => (await stack.auth.send(path, { token })).headers.get('etag') ?? ''
    await make()
    const tag = await tagNow()
    const method = list === '/roles' ? 'PUT' : 'PATCH'
    expect((await stack.auth.send(path, { method, token, json: changes })).status).toBe(200)
    const refused = await remove(tag)
    expectProblem(refused, 412, 'precondition-failed')
    expect(refused.headers.get('etag')).toBe(await tagNow())
    expect((await stack.auth.send(path, { token })).body).toMatchObject(changes)
    expect((await remove(await tagNow())).status).toBe(204)
    expectProblem(await remove('*'), 404, 'not-found')
    for (const anyTag of ['*', undefined]) {
      await make()
      expect((await remove(anyTag)).status).toBe(204)
    }
  })
})
