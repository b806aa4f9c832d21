/** What deal servers ask about sessions at `/internal/sessions`. Nothing in it is secret: a hash opens nothing. */
import { z } from 'zod'
import { knownSessionSchema } from '../authentication/session/session-times.ts'

export const sessionQuestionSchema = z.strictObject({
  /** SHA-256 (base64url) of the session key. */
  keyHash: z.string().max(100),
  /** True for an action, which moves the last-action time; false to look only. */
  isAction: z.boolean(),
})

export type SessionQuestion = z.infer<typeof sessionQuestionSchema>

/** Null for a session that does not exist, has ended, or is over. */
export const sessionAnswerSchema = z.strictObject({ session: knownSessionSchema.nullable() })

export type SessionAnswer = z.infer<typeof sessionAnswerSchema>
