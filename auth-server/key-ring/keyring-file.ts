/** The form of `keyring.json`, and the rules for it as a whole. Knows only its text, no files. */
import * as z from 'zod'
import { OperatorError } from '../../shared/platform/operator-error.ts'
import { accessTokenAlgs } from '../../shared/protocol/access-token/access-token.ts'

/** The uses of key pairs. One key pair never has both uses (docs/contract/operators.md#key-ring). */
export const keyUses = ['jwt', 'key-signed'] as const

/** `jwt` signs access tokens; `key-signed` makes key-signed tokens. */
export type KeyUse = (typeof keyUses)[number]

/** The states: only published; signs; only verifies; deleted (docs/contract/operators.md#key-ring). */
const keyStates = ['pending', 'active', 'retired', 'removed'] as const

/** The JWK's `alg` of key-signed tokens (RFC 7517 §4.4). They are no JWS: no JWT library uses keys with this name. */
export const keySignedAlg = 'kst1'

/** The JWK's `alg` of the keys of each use. */
const algsOfUse = { jwt: accessTokenAlgs, 'key-signed': [keySignedAlg] } as const satisfies Record<KeyUse, unknown>

/** The name of the file in `KEYS_DIR`. */
export const keyRingFileName = 'keyring.json'

const time = z.iso.datetime()

const entrySchema = z.strictObject({
  /** JWK Thumbprint (RFC 7638). */
  kid: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  use: z.enum(keyUses),
  alg: z.enum([...accessTokenAlgs, keySignedAlg]),
  state: z.enum(keyStates),
  createdAt: time,
  publishedAt: time.nullable(),
  activatedAt: time.nullable(),
  retiredAt: time.nullable(),
  /** When a retired key can be removed. */
  removeAt: time.nullable(),
  /** When and why the key was revoked. */
  revokedAt: time.nullable().default(null),
  revokedReason: z.string().max(500).nullable().default(null),
  /** The PKCS#8 PEM file in the same folder. */
  file: z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*\.pem$/),
})

const fileSchema = z.strictObject({
  /** Marks the file as a key ring of Keyhold, with the number of its layout. */
  keyholdKeyRing: z.literal(1),
  keys: z.array(entrySchema).min(1),
})

/** One key of `keyring.json`. Times are RFC 3339. */
export type KeyEntry = z.infer<typeof entrySchema>

/** The whole of `keyring.json`. */
export type KeyRingFile = z.infer<typeof fileSchema>

/** A key ring cannot be used. The message has the file, the problem and the expectation, and nothing of a key. */
export class KeyRingError extends OperatorError {
  override readonly name = 'KeyRingError'
}

/** Parses a key ring. @throws KeyRingError with `path` in its message */
export function parseKeyRingFile(text: string, path: string): KeyRingFile {
  const parsed = fileSchema.safeParse(parseJson(text, path))
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`)
    throw new KeyRingError(`${path} is not a Keyhold key ring: ${problems.join('; ')}`)
  }
  const { keys } = parsed.data
  if (new Set(keys.map((key) => key.kid)).size < keys.length) throw new KeyRingError(`${path} names one kid twice`)
  for (const use of keyUses) {
    const active = keys.filter((key) => key.use === use && key.state === 'active').length
    if (active !== 1) throw new KeyRingError(`${path} must have one active key for ${use}, and has ${active}`)
  }
  const foreign = keys.find((key) => !algsOfUse[key.use].some((alg) => alg === key.alg))
  if (foreign)
    throw new KeyRingError(`${path}: key ${foreign.kid} must have alg ${algsOfUse[foreign.use].join(' or ')}`)
  return parsed.data
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new KeyRingError(`${path} is not JSON; expected the key ring that Keyhold wrote`)
  }
}
