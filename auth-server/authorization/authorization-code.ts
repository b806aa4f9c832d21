/**
 * Authorization codes (RFC 6749 §4.1.2). A code is sealed for its client, and names the login that it becomes: it is
 * stored nowhere, and works once because the login can be made once.
 */
import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { Sealing } from '../store/sealing.ts'
import { openedText } from './sealed-request.ts'

/** How long a code is good, in seconds. */
export const codeTtlSeconds = 60

const contentSchema = z.object({
  /** The id of the login. */
  login: z.uuid(),
  session: z.uuid(),
  userId: z.uuid(),
  username: z.string(),
  /** `digestOf` the redirect URI. */
  redirect: z.string(),
  challenge: z.string().nullable(),
  nonce: z.string().nullable(),
  scopes: z.array(z.string()),
  rights: z.array(z.string()).nullable(),
  audience: z.string().nullable(),
  /** When the user signed in, in milliseconds. */
  authenticatedAt: z.number(),
  /** The RFC 8176 value of the second factor. */
  factor: z.string().nullable(),
  /** The end of the session, in milliseconds. */
  sessionExpiresAt: z.number(),
  /** In milliseconds. */
  expiresAt: z.number(),
})

/** What a code says. */
export type CodeContent = z.infer<typeof contentSchema>

const placeOf = (clientId: string) => ({ purpose: 'authorization-code', row: clientId })

/** SHA-256 as base64url: of a redirect URI, and of a code verifier (RFC 7636 §4.6). */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Makes a code for this client. */
export const sealCode = (sealing: Sealing, clientId: string, content: CodeContent): string =>
  sealing.seal(JSON.stringify(content), placeOf(clientId))

/** The longest code, in characters. */
const maxLength = 12_000

/** Reads a code of this client, also when it has expired; undefined for any other text. */
export function openCode(sealing: Sealing, clientId: string, code: string): CodeContent | undefined {
  const text = code.length > maxLength ? undefined : openedText(sealing, code, placeOf(clientId))
  return text === undefined ? undefined : contentSchema.safeParse(JSON.parse(text)).data
}
