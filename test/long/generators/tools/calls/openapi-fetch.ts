/** Calls by openapi-typescript and openapi-fetch. */
import createClient from 'openapi-fetch'
import type { paths as AuthPaths } from './openapi-typescript/auth.ts'
import type { paths } from './openapi-typescript/deal.ts'

const deals = createClient<paths>({ baseUrl: 'http://127.0.0.1:4001' })
const auth = createClient<AuthPaths>({ baseUrl: 'http://127.0.0.1:4000' })
const id = '0198c0de-0000-4000-8000-000000000001'
const path = { id }
const command = { id, commandId: 'c1' }
const action = { action: 'HoldDeal', params: { reason: 'r' } } as const

const login = await auth.POST('/login', { body: { username: 'alice', password: 'p' } })
export const token: string | undefined = login.data?.access_token

// Styles 1 to 7, and reading.
await deals.PUT('/rest/v1/deals/{id}/hold', { params: { path }, body: { reason: 'r' } })
await deals.PUT('/rest/v1/deals/{id}/holded', { params: { path }, body: { reason: 'r', reasonCode: null } })
await deals.PUT('/rest/v1/deals/{id}', { params: { path }, body: action })
await deals.PUT('/rest/v1/deals/{id}', { params: { path }, body: { name: 'n', price: '12.50', held: false } })
await deals.PATCH('/rest/v1/deals/{id}', { params: { path }, body: { held: true, holdReason: 'r' } })
await deals.PUT('/commands/{commandId}', { params: { path: { commandId: 'c1' } }, body: { deal: id, ...action } })
await deals.PUT('/commands/{commandId}', {
  params: { path: { commandId: 'c1' } },
  body: { action: 'CreateDeal', params: { name: 'n', price: 1 } },
})
await deals.PUT('/rest/v1/deals/{id}/commands/{commandId}', { params: { path: command }, body: action })
await deals.POST('/command/HoldDeal/', { body: { id, reason: 'r' } })
await deals.POST('/command/HoldDeal/', { body: { deal: id, reason: 'r' } })
const { data, error } = await deals.GET('/rest/v1/deals/{id}', { params: { path } })
export const price: number | undefined = data?.price
export const code: 'not-found' | string | undefined = error?.code

// Nonsense.
// @ts-expect-error a parameter that there is not
await deals.PUT('/rest/v1/deals/{id}/hold', { params: { path }, body: { reson: 'r' } })
// @ts-expect-error no reason
await deals.PUT('/rest/v1/deals/{id}', { params: { path }, body: { action: 'HoldDeal', params: {} } })
// @ts-expect-error no such use case
await deals.PUT('/rest/v1/deals/{id}', { params: { path }, body: { action: 'NoDeal', params: {} } })
// @ts-expect-error no member `held`
await deals.PUT('/rest/v1/deals/{id}', { params: { path }, body: { name: 'n', price: 1 } })
// @ts-expect-error no deal
await deals.PUT('/commands/{commandId}', { params: { path: { commandId: 'c1' } }, body: action })
await deals.PUT('/rest/v1/deals/{id}/commands/{commandId}', {
  params: { path: command },
  // @ts-expect-error parameters of another use case
  body: { action: 'ChangePrice', params: { reason: 'r' } },
})
// @ts-expect-error no deal
await deals.POST('/command/HoldDeal/', { body: { reason: 'r' } })
// @ts-expect-error no such state
await deals.PATCH('/rest/v1/deals/{id}', { params: { path }, body: { status: 'lost' } })
