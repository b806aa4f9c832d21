/** A session, by the hash of its key. Nothing in it is secret: a hash opens nothing. */
import * as z from 'zod'
import { knownSessionSchema } from '../authentication/session/session-times.ts'
import { defineExchange } from './exchange.ts'

const questionSchema = z.object({
  /** SHA-256 (base64url) of the session key. */
  keyHash: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  /** True for an action, which moves the last-action time; false to look only. */
  isAction: z.boolean(),
})

/** Which session, and what for. */
export type SessionQuestion = z.infer<typeof questionSchema>

/** Reads a session, or uses it. */
export const sessionExchange = defineExchange({
  method: 'POST',
  path: '/sessions',
  openTo: 'all',
  requestBody: questionSchema,
  /** Null for a session that does not exist, has ended, or is over. */
  responseBody: z.object({ session: knownSessionSchema.nullable() }),
})
