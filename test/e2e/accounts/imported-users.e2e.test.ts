/** Users who come from another system with the hashes of their passwords. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem } from '../../support/clients/http-client.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { basic, limits, logInAt } from './login-attempts.ts'

const password = 'Grüße vom alten System'
const passwordHash = '$2y$06$abcdefghijklmnopqrstuuXjhdP0KWcWzfIk/fIVmuuqBBqKE3C/6'

describeBackends('imported users', (openBackend) => {
  let stack: Stack
  let token: string
  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: limits })
    token = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const create = (json: object) => stack.auth.send('/users', { token, json })
  const logIn = logInAt(() => stack)

  it('log in with the password that they had, at either server, and no answer has their hash', async () => {
    const reply = await create({ username: 'ilse', passwordHash, roles: ['viewer'], email: 'ilse@example.org' })
    expect(reply.status).toBe(201)
    expect(reply.text).not.toContain('$2y$')
    expectProblem(await logIn('ilse', 'another password', '203.0.113.1'), 401, 'invalid-credentials')
    expect((await logIn('ilse', password, '203.0.113.1')).status).toBe(200)
    expect((await create({ username: 'basil', passwordHash, roles: ['viewer'] })).status).toBe(201)
    for (let time = 0; time < 2; time += 1) {
      expect((await stack.deal.send('/rest/v1/deals', basic('basil', password, '203.0.113.2'))).status).toBe(200)
    }
    for (const path of ['/users/ilse', '/users', '/audit?action=user.created'])
      expect((await stack.auth.send(path, { token })).text).not.toContain('$2y$')
  })

  it('change their password with the one that they had', async () => {
    expect((await create({ username: 'paula', passwordHash })).status).toBe(201)
    const { access } = await stack.logIn('paula', password)
    const json = { oldPassword: password, newPassword: 'a new long password' }
    const sent = { method: 'PUT', json, token: access }
    expect((await stack.auth.send('/users/paula/password', sent)).status).toBe(204)
    expect((await logIn('paula', json.newPassword, '203.0.113.3')).status).toBe(200)
  })

  it('are refused with both or neither of password and hash', async () => {
    const twice = await create({ username: 'never', passwordHash, password: 'a long enough password' })
    expectProblem(twice, 422, 'invalid-value')
    expect(twice.body.errors).toMatchObject([{ pointer: '/passwordHash', code: 'password-twice' }])
    const without = await create({ username: 'never' })
    expectProblem(without, 400, 'invalid-body')
    expect(without.body.errors).toMatchObject([{ pointer: '/password', code: 'missing-member' }])
  })
})
