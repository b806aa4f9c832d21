/** Calls by orval's client over fetch. */
import { logIn } from './orval/auth.ts'
import {
  getDeal,
  invokeHoldDeal,
  patchDeal,
  putCommand,
  putDealCommand,
  putHoldDealAction,
  putHoldDealState,
  updateDeal,
} from './orval/deal.ts'

const id = '0198c0de-0000-4000-8000-000000000001'
const action = { action: 'HoldDeal', params: { reason: 'r' } } as const

const login = await logIn({ username: 'alice', password: 'p' })
export const token: string | undefined = login.status === 200 ? login.data.access_token : undefined

// Styles 1 to 7, and reading.
await putHoldDealAction(id, { reason: 'r' })
await putHoldDealState(id, { reason: 'r', reasonCode: null })
await updateDeal(id, action)
await updateDeal(id, { name: 'n', price: '12.50', held: false })
await patchDeal(id, { held: true, holdReason: 'r' })
await putCommand('c1', { deal: id, ...action })
await putCommand('c1', { action: 'CreateDeal', params: { name: 'n', price: 1 } })
await putDealCommand(id, 'c1', action)
await invokeHoldDeal({ id, reason: 'r' })
await invokeHoldDeal({ deal: id, reason: 'r' })
const answer = await getDeal(id)
export const price: number | undefined = answer.status === 200 ? answer.data.price : undefined

// Nonsense.
// @ts-expect-error a parameter that there is not
await putHoldDealAction(id, { reson: 'r' })
// @ts-expect-error no reason
await updateDeal(id, { action: 'HoldDeal', params: {} })
// @ts-expect-error no such use case
await updateDeal(id, { action: 'NoDeal', params: {} })
// @ts-expect-error no member `held`
await updateDeal(id, { name: 'n', price: 1 })
// @ts-expect-error no deal
await putCommand('c1', action)
// @ts-expect-error parameters of another use case
await putDealCommand(id, 'c1', { action: 'ChangePrice', params: { reason: 'r' } })
// @ts-expect-error no deal
await invokeHoldDeal({ reason: 'r' })
// @ts-expect-error no such state
await patchDeal(id, { status: 'lost' })
