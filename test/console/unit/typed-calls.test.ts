import { expect, it } from 'vitest'
import type { AuthApi, AuthPage } from '../../../console/frame/auth-api.ts'
import { type DealApi, EnteredParameters } from '../../../console/frame/deal-api.ts'

/** An API that answers every call with nothing, and the names that it was called by. */
function apiOfNothing<Api>(): { readonly api: Api; readonly names: readonly string[] } {
  const names: string[] = []
  const note = async (name: string) => {
    names.push(name)
    return {}
  }
  return { api: { call: note, get: note } as unknown as Api, names }
}

const path = { username: 'mara' }
const deal = { path: { id: '3f2b8c1e-4d5a-4b6c-8d7e-9f0a1b2c3d4e' } }

// The compiler is the judge: each expected error is one, or this file does not compile.

it('calls of the auth server are those of its endpoints', async () => {
  const { api, names } = apiOfNothing<AuthApi>()
  await api.call('PUT /users/:username/password', { path, body: { newPassword: 'n', oldPassword: 'o' } })
  // @ts-expect-error there is no such route
  await api.call('PUT /users/:username/passwort', { path, body: { newPassword: 'n' } })
  // @ts-expect-error it is a route of the other server
  await api.call('GET /rest/v1/deals')
  // @ts-expect-error the path has another parameter
  await api.call('PUT /users/:username/password', { path: { user: 'mara' }, body: { newPassword: 'n' } })
  // @ts-expect-error the path lacks its parameter
  await api.get('GET /users/:username')
  // @ts-expect-error the body has another member
  await api.call('PUT /users/:username/password', { path, body: { newPasswort: 'n' } })
  // @ts-expect-error the member has another type
  await api.call('PUT /users/:username/password', { path, body: { newPassword: 1 } })
  // @ts-expect-error the body is missing
  await api.call('PUT /users/:username/password', { path })
  // @ts-expect-error the route takes no body
  await api.call('DELETE /users/:username', { path, body: {} })
  // @ts-expect-error the query has no such member
  await api.get('GET /users', { query: { nam: 'mara' } })
  const user = await api.get('GET /users/:username', { path })
  // @ts-expect-error the reply has no such member
  expect([user.username, user.enabled, user.name]).toHaveLength(3)
  expect(names).toHaveLength(11)
})

it('calls of the deal server are those of its use cases and schemas', async () => {
  const { api, names } = apiOfNothing<DealApi>()
  await api.call('PUT /rest/v1/deals/:id/hold', { ...deal, body: { reason: 'r' } })
  await api.call('PUT /rest/v1/deals/:id/hold', { ...deal, body: new EnteredParameters({ reason: 1 }) })
  // @ts-expect-error there is no such use case
  await api.call('PUT /rest/v1/deals/:id/holt', { ...deal, body: { reason: 'r' } })
  // @ts-expect-error the use case has no such parameter
  await api.call('PUT /rest/v1/deals/:id/hold', { ...deal, body: { why: 'r' } })
  // @ts-expect-error what was read from a form says so
  await api.call('PUT /rest/v1/deals/:id/hold', { ...deal, body: { ...Object.fromEntries([]) } })
  // @ts-expect-error webhooks have two states
  await api.call('PATCH /rest/v1/webhooks/:id', { ...deal, body: { state: 'stopped' } })
  // @ts-expect-error the query has no such member
  await api.get('GET /rest/v1/deals', { query: { owner: 'mara' } })
  const { items } = await api.get('GET /rest/v1/deals', { query: { ownerId: 'mara' } })
  // @ts-expect-error a deal of a list has no tasks
  expect(items?.map(({ priceText, tasks }) => [priceText, tasks])).toBeUndefined()
  expect(names).toHaveLength(8)
})

it('pages need rights that exist', () => {
  // @ts-expect-error there is no such right
  const page: Pick<AuthPage, 'right'> = { right: 'user.manag' }
  expect(page).toBeDefined()
})

it('sends the parameters that a reader entered as they are', () => {
  expect(JSON.stringify(new EnteredParameters({ reason: 'r', price: '1.50' }))).toBe('{"reason":"r","price":"1.50"}')
})
