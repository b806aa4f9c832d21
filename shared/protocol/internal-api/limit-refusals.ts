/** Refusals by a limit at a deal server, for the audit log. Answered when all of them are written down. */
import * as z from 'zod'
import { limitRefusalSchema } from '../login-throttle/limit-refusals.ts'
import { defineExchange } from './exchange.ts'

/** So many are told of at once. */
export const maxRefusalsAtOnce = 200

/** Reports refusals, 1 to `maxRefusalsAtOnce`. */
export const limitRefusalsExchange = defineExchange({
  method: 'POST',
  path: '/limit-refusals',
  requestBody: z.object({ refusals: z.array(limitRefusalSchema).min(1).max(maxRefusalsAtOnce) }),
  responseBody: undefined,
})
