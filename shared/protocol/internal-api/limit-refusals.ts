/** Refusals by a limit at a deal server, for the audit log. Answered when all of them are written down. */
import * as z from 'zod'
import { isUsername } from '../principal/record.ts'
import { defineExchange } from './exchange.ts'

/** Whoever tried, and whatever was tried; null for what has not the form of a name or an id, and might be a secret. */
const nameSchema = z.string().refine(isUsername).nullable()

/** The form in which one is told of. */
export const limitRefusalSchema = z.object({
  /** The scheme that carried the secret. */
  scheme: z.enum(['basic', 'digest', 'key-signed']),
  actor: nameSchema,
  target: nameSchema,
  /** The client's canonical address; null for many together, of too many clients to tell apart. */
  address: z.string().max(100).nullable(),
  /** How many equal ones it stands for. */
  count: z.int().min(1),
})

/** One refusal by a limit, as it stands in the audit log. */
export type LimitRefusal = z.infer<typeof limitRefusalSchema>

/** At most this many are sent at once. */
export const maxRefusalsAtOnce = 200

/** Reports refusals by a limit, 1 to `maxRefusalsAtOnce`. */
export const limitRefusalsExchange = defineExchange({
  method: 'POST',
  path: '/limit-refusals',
  requestBody: z.object({ refusals: z.array(limitRefusalSchema).min(1).max(maxRefusalsAtOnce) }),
})
