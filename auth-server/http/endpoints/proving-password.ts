/**
 * What requests bring that make a credential which lasts: a proof that the user is there (`logins/recent-proof.ts`).
 */
import { z } from 'zod'

/** The caller's own password. */
export const provingPassword = z.string().optional().meta({
  description: 'Your own password. May be left out when your login is younger than five minutes, or with Basic.',
})

/** What such a request can be refused for. */
export const proofProblems: readonly string[] = ['wrong-password', 'recent-login-required']
