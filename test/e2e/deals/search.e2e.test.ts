import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Sent } from '../../support/clients/http-client.ts'
import { type Item, itemsOf, walk } from '../../support/clients/walk.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string

const asAdmin = (path: string, sent: Sent = {}) => stack.auth.send(path, { token: admin, ...sent })

describeBackends('search', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    admin = (await stack.logIn('admin')).access
    const names = ['Finder-1', 'finder-2', 'x.FINDER', 'other']
    for (const [index, username] of names.entries()) {
      const json = { username, password: `the password of ${username}`, roles: [index < 2 ? 'viewer' : 'agent'] }
      expect((await asAdmin('/users', { json })).status).toBe(201)
    }
    await asAdmin('/users/finder-2', { method: 'PATCH', json: { enabled: false } })
  })
  afterAll(() => stack.close())

  describe('in the audit log', () => {
    it('has the keys that the server began with, by nobody, and counts them', async () => {
      await eventually(async () => {
        const entries = itemsOf(await asAdmin('/audit?action=key.*'))
        expect(entries.map(({ action }) => action).sort()).toEqual([
          'key.generated',
          'key.generated',
          'key.promoted',
          'key.promoted',
        ])
        expect(entries.map(({ actor, scheme }) => [actor, scheme])).toEqual(entries.map(() => [null, null]))
      })
      const { text } = await stack.auth.send('/metrics')
      expect(text).toContain('keyhold_key_operations_total{server="auth",operation="generate",use="jwt"} 1')
      expect(text).toContain('keyhold_key_operations_total{server="auth",operation="revoke",use="jwt"} 0')
    })

    it.each([
      'actor=a%20b',
      'actor=',
      'actor=%00',
      'action=*',
      'action=Key',
      'action=a*b',
      'target=%25',
      'outcome=no%20',
      'order=up',
      'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    ])('refuses %s', async (query) => {
      const refused = await asAdmin(`/audit?${query}`)
      expectProblem(refused, 400, 'invalid-parameter')
      expect(refused.body.errors).toHaveLength(1)
    })
  })

  describe('among users', () => {
    const namesOf = (users: readonly Item[]) => users.map(({ username }) => username)
    const found = async (query: string) =>
      namesOf((await walk(`/users?${query}`, { send: asAdmin, origin: stack.auth.url })).items)

    it('finds a part of a name, a role and a state, together and in pages', async () => {
      expect(await found('q=FiNdEr&limit=1')).toEqual(['Finder-1', 'finder-2', 'x.FINDER'])
      expect(await found('q=finder&role=viewer&enabled=true')).toEqual(['Finder-1'])
      expect(await found('enabled=false')).toEqual(['finder-2'])
      expect(await found('role=admin')).toEqual(['admin'])
      expect(await found('q=_')).toEqual([])
    })

    it('takes a cursor for the query alone that it was made for', async () => {
      const { body } = await asAdmin('/users?q=finder&limit=1')
      const cursor = String(body.nextCursor)
      expect(namesOf(itemsOf(await asAdmin(`/users?q=FINDER&limit=1&cursor=${cursor}`)))).toEqual(['finder-2'])
      for (const query of ['', 'q=finde', 'q=finder&enabled=true', 'q=finder&role=viewer']) {
        expectProblem(await asAdmin(`/users?${query}&cursor=${cursor}`), 400, 'invalid-cursor')
      }
    })

    it.each(['q=', 'q=%25', 'q=%00', `q=${'x'.repeat(65)}`, 'role=king', 'enabled=yes', 'name=x'])(
      'refuses %s',
      async (query) => expectProblem(await asAdmin(`/users?${query}`), 400, 'invalid-parameter'),
    )
  })
})
