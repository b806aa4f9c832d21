/** The bodies that end the set-up of a factor. */
import * as z from 'zod'
import { jsonBody } from '../../../../shared/server/endpoints/endpoint.ts'
import { lineText } from '../../request-parts/line-text.ts'

const base64url = z.string().max(65_536)

const name = lineText(1, 64).optional().meta({ description: 'How you call it, 1 to 64 characters.' })

const challenge = z.string().max(2_000)

/** An answer of `navigator.credentials.create`, by `toJSON` (WebAuthn Level 3 §5.1). */
const registration = z.object({
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z.array(z.string().max(32)).max(16).optional(),
  }),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
})

/** The challenge with the first code. */
export const confirmTotpBody = jsonBody(z.strictObject({ challenge, code: z.string().max(100), name }))

/** The challenge with the answer of the browser. */
export const confirmPasskeyBody = jsonBody(z.strictObject({ challenge, passkey: registration, name }))
