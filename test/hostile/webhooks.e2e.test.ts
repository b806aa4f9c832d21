/** Webhooks with odd texts, and webhooks that would outlive the credential of an intruder. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../support/clients/http-client.ts'
import { keyTokenOf, makeApiKey } from '../support/clients/oauth-requests.ts'
import { eventually } from '../support/eventually.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let admin: string

const collection = '/rest/v1/webhooks'
const url = 'https://receiver.example/'

const call = async (path: string, status: number, sent: Sent = {}): Promise<Reply> => {
  const reply = await stack.deal.send(path, { token: admin, ...sent })
  expect(reply.status, reply.text).toBe(status)
  return reply
}
const create = async (sent: Sent = {}): Promise<string> =>
  String((await call(collection, 201, { json: { url }, ...sent })).body.id)
const patch = (id: string, json: object, status = 200, sent: Sent = {}) =>
  call(`${collection}/${id}`, status, { method: 'PATCH', json, ...sent })

describeBackends('webhooks', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { logLevel: 'silent' })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  it.each([
    ['NUL', '\u0000'],
    ['half a character', '\ud800'],
    ['a line separator', '\u2028'],
    ['control characters', '\u0001\uffff'],
  ])('encode in their URL what no URL has, and answer no text with 500: %s', async (_, text) => {
    const id = await create()
    const odd = `https://receiver.example/a${text}b?c${text}d`
    const { body } = await patch(id, { url: odd })
    expect(body.url).toBe(new URL(odd).href)
    expect(body.url).toMatch(/^[!-~]+$/)
    const made = await call(collection, 201, { json: { url: odd } })
    expect(made.body.url).toBe(body.url)
    for (const name of ['url', 'description', 'types', 'deals', 'after', 'state', 'odd\u0000']) {
      for (const value of [text, [text]]) {
        const sent: [string, Sent][] = [
          [collection, { json: { url, [name]: value } }],
          [`${collection}/${id}`, { method: 'PATCH', json: { [name]: value } }],
          [`${collection}/${id}/redeliver`, { json: { after: value } }],
          [`${collection}?cursor=%00`, {}],
        ]
        for (const [path, one] of sent) {
          const { status } = await stack.deal.send(path, { token: admin, ...one })
          expect(status, JSON.stringify(one)).toBeLessThan(500)
        }
      }
    }
    expectProblem(
      await patch(id, { url: `https://receiver.${text}example/${text}`, state: 'paused' }, 422),
      422,
      'invalid-value',
    )
    expectProblem(await patch(id, { url: `https://receiver.example/${'é'.repeat(1_000)}` }, 422), 422, 'invalid-value')
  })

  describe('are lasting access, and', () => {
    const old = 300_001
    /** A token whose login is older than recent proof. */
    const oldToken = async (username: string) => {
      const { access } = await stack.logIn(username)
      await stack.database.query(
        `update auth.login_families set created_at = created_at - ${old} * interval '1 ms'
         where id = (select f.id from auth.login_families f join auth.users u on u.id = f.user_id
           where u.username = $1 order by f.created_at desc, f.id desc limit 1) returning 1`,
        [username],
      )
      return access
    }

    it('need recent proof to be made and changed: the password, or a recent login', async () => {
      const token = await oldToken('admin')
      const id = await create()
      expectProblem(await call(collection, 403, { token, json: { url } }), 403, 'recent-login-required')
      for (const change of [{ state: 'paused' }, { url: 'https://intruder.example/' }]) {
        expectProblem(await patch(id, change, 403, { token }), 403, 'recent-login-required')
      }
      const wrong = { url, password: 'a wrong password' }
      expectProblem(await call(collection, 403, { token, json: wrong }), 403, 'wrong-password')
      const password = passwordOf('admin')
      await create({ token, json: { url, password } })
      const { body, text } = await patch(id, { state: 'paused', password }, 200, { token })
      expect(body).toMatchObject({ state: 'paused', url })
      expect(text).not.toContain(password)
      // What gives nothing away that lasts needs none.
      await call(`${collection}/${id}`, 200, { token })
      await call(`${collection}/${id}`, 204, { token, method: 'DELETE' })
    })

    it('are refused to API keys without a password, and to narrowed keys and their tokens even with it', async () => {
      const id = await create()
      const rights = ['webhook.manage', 'deal.read', 'deal.history.read']
      for (const [more, withoutPassword, withPassword] of [
        [{}, 'recent-login-required', undefined],
        [{ rights }, 'narrowed-credential', 'narrowed-credential'],
      ] as const) {
        const token = await keyTokenOf(stack, await makeApiKey(stack, admin, { kind: 'hmac', ...more }))
        const password = passwordOf('admin')
        expectProblem(await call(collection, 403, { token, json: { url } }), 403, withoutPassword)
        expectProblem(await patch(id, { url }, 403, { token }), 403, withoutPassword)
        const proved = await stack.deal.send(collection, { token, json: { url, password } })
        if (withPassword === undefined) expect(proved.status).toBe(201)
        else expectProblem(proved, 403, withPassword)
      }
    })

    it.each<[string, string, string, { newPassword?: string }]>([
      ['logged out of everything', '/users/keeper/logout?everything=true', 'POST', {}],
      ['given a new password', '/users/keeper/password', 'PUT', { newPassword: 'a new and better password' }],
    ])('pause when their user is %s, and go on when one with proof resumes them', async (_, path, method, json) => {
      await stack.auth.send('/users/keeper', { token: admin, method: 'DELETE' })
      const user = { username: 'keeper', password: passwordOf('keeper'), roles: ['admin'] }
      expect((await stack.auth.send('/users', { token: admin, json: user })).status).toBe(201)
      const { access: token } = await stack.logIn('keeper')
      const id = await create({ token })
      const ended = await stack.auth.send(path, { token: admin, method, json })
      expect(ended.status, ended.text).toBeLessThan(300)
      const read = async () => (await call(`${collection}/${id}`, 200)).body
      await eventually(async () => {
        expect(await read()).toMatchObject({ state: 'paused', pausedReason: 'responsible-logged-out' })
      })
      await eventually(async () => {
        const { text } = await stack.auth.send(`/audit?target=${id}&action=webhook.paused`, { token: admin })
        expect(text).toContain('responsible-logged-out')
      })
      const again = String((await stack.logIn('keeper', json.newPassword ?? user.password)).access)
      expect((await patch(id, { state: 'active' }, 200, { token: again })).body.state).toBe('active')
      const [row] = await stack.database.query<{ stored: number; present: number }>(
        `select (select responsible_generation from deals.webhooks where id = $1::text::uuid) as stored,
          (select generation from auth.principals where username = 'keeper') as present`,
        [id],
      )
      expect(row?.stored).toBe(row?.present)
    })

    it('take the first generation that is seen, when they were made by an earlier release', async () => {
      const id = await create()
      const stored = () =>
        stack.database.query<{ generation: number | null }>(
          `update deals.webhooks set revision = revision where id = $1::text::uuid
           returning responsible_generation as generation`,
          [id],
        )
      const [first] = await stored()
      await stack.database.query(
        `update deals.webhooks set responsible_generation = null, revision = revision + 1
         where id = $1::text::uuid returning 1`,
        [id],
      )
      await eventually(async () => expect(await stored()).toEqual([first]))
      expect(first?.generation).not.toBeNull()
    })
  })
})
