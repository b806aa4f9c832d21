/** The recent proof in requests that create a lasting credential (`logins/recent-proof.ts`). */
import * as z from 'zod'

/** The caller's own password. */
export const provingPassword = z.string().optional().meta({
  description: 'Your own password. May be left out when your login is younger than five minutes, or with Basic.',
})

/** Problem codes of a request without such a proof. */
export const proofProblems: readonly string[] = [
  'wrong-password',
  'recent-login-required',
  'second-factor-login-required',
]
