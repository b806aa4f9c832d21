/** Calls by hey-api's client. */
import { logIn } from './hey-api/auth/sdk.gen.ts'
import {
  getDeal,
  invokeHoldDeal,
  patchDeal,
  putCommand,
  putDealCommand,
  putHoldDealAction,
  putHoldDealState,
  updateDeal,
} from './hey-api/deal/sdk.gen.ts'

const id = '0198c0de-0000-4000-8000-000000000001'
const path = { id }
const command = { id, commandId: 'c1' }
const action = { action: 'HoldDeal', params: { reason: 'r' } } as const

const login = await logIn({ body: { username: 'alice', password: 'p' } })
export const token: string | undefined = login.data?.access_token

// Styles 1 to 7, and reading.
await putHoldDealAction({ path, body: { reason: 'r' } })
await putHoldDealState({ path, body: { reason: 'r', reasonCode: null } })
await updateDeal({ path, body: action })
await updateDeal({ path, body: { name: 'n', price: '12.50', held: false } })
await patchDeal({ path, body: { held: true, holdReason: 'r' } })
await putCommand({ path: { commandId: 'c1' }, body: { deal: id, ...action } })
await putCommand({ path: { commandId: 'c1' }, body: { action: 'CreateDeal', params: { name: 'n', price: 1 } } })
await putDealCommand({ path: command, body: action })
await invokeHoldDeal({ body: { id, reason: 'r' } })
await invokeHoldDeal({ body: { deal: id, reason: 'r' } })
const { data } = await getDeal({ path })
export const price: number | undefined = data?.price

// Nonsense.
// @ts-expect-error a parameter that there is not
await putHoldDealAction({ path, body: { reson: 'r' } })
// @ts-expect-error no reason
await updateDeal({ path, body: { action: 'HoldDeal', params: {} } })
// @ts-expect-error no such use case
await updateDeal({ path, body: { action: 'NoDeal', params: {} } })
// @ts-expect-error no member `held`
await updateDeal({ path, body: { name: 'n', price: 1 } })
// @ts-expect-error no deal
await putCommand({ path: { commandId: 'c1' }, body: action })
// @ts-expect-error parameters of another use case
await putDealCommand({ path: command, body: { action: 'ChangePrice', params: { reason: 'r' } } })
// @ts-expect-error no deal
await invokeHoldDeal({ body: { reason: 'r' } })
// @ts-expect-error no such state
await patchDeal({ path, body: { status: 'lost' } })
