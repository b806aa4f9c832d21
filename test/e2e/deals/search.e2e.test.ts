import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let admin: string

const asAdmin = (path: string, sent: Sent = {}) => stack.auth.send(path, { token: admin, ...sent })
const itemsOf = ({ body }: Reply) => body.items as Readonly<Record<string, unknown>>[]
/** Walks along `Link` from this path. */
async function walk(path: string): Promise<Readonly<Record<string, unknown>>[]> {
  const found: Readonly<Record<string, unknown>>[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const reply: Reply = await asAdmin(next)
    expect(reply.status, reply.text).toBe(200)
    found.push(...itemsOf(reply))
    const [, target] = /^<https?:\/\/[^/]+([^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '') ?? []
    expect(target === undefined).toBe(reply.body.nextCursor === null)
    next = target
  }
  return found
}

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
    it('finds entries by several filters, and its links lead over all pages in both orders', async () => {
      const expected = [
        ['user.created', 'Finder-1'],
        ['user.created', 'finder-2'],
        ['user.created', 'x.FINDER'],
        ['user.created', 'other'],
        ['user.changed', 'finder-2'],
      ]
      const since = encodeURIComponent(new Date(stack.clock.now() - 3_600_000).toISOString().replace('Z', '+00:00'))
      const query = `actor=ADMIN&action=user.*&outcome=succeeded&from=${since}&limit=2`
      const found = (await walk(`/audit?${query}`)).map(({ action, target }) => [action, target])
      expect(found).toEqual(expected)
      const downwards = (await walk(`/audit?${query}&order=desc`)).map(({ action, target }) => [action, target])
      expect(downwards).toEqual(expected.toReversed())
      expect(await walk('/audit?target=FINDER-2&action=user.changed')).toMatchObject([{ actor: 'admin', reason: null }])
      expect(itemsOf(await asAdmin('/audit?order=desc&limit=1&after=2'))).toMatchObject([{ seq: 1 }])
      expect(itemsOf(await asAdmin('/audit?to=2020-01-01T00:00:00Z'))).toEqual([])
    })

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
      'from=yesterday',
      'to=2026-13-01T00:00:00Z',
      'from=0000-01-01T00:00:00Z',
      'order=up',
      'after=-1',
      'limit=0',
      'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
      'since=1',
      'actor=a&actor=b',
    ])('refuses %s', async (query) => {
      const refused = await asAdmin(`/audit?${query}`)
      expectProblem(refused, 400, 'invalid-parameter')
      expect(refused.body.errors).toHaveLength(1)
    })
  })

  describe('among users', () => {
    const namesOf = (users: Readonly<Record<string, unknown>>[]) => users.map(({ username }) => username)

    it('finds a part of a name, a role and a state, together and in pages', async () => {
      expect(namesOf(await walk('/users?q=FiNdEr&limit=1'))).toEqual(['Finder-1', 'finder-2', 'x.FINDER'])
      expect(namesOf(await walk('/users?q=finder&role=viewer&enabled=true'))).toEqual(['Finder-1'])
      expect(namesOf(await walk('/users?enabled=false'))).toEqual(['finder-2'])
      expect(namesOf(await walk('/users?role=admin'))).toEqual(['admin'])
      expect(namesOf(await walk('/users?q=_'))).toEqual([])
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
