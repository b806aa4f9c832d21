/** One-time codes of an authenticator app: TOTP with SHA-1, six digits and steps of 30 seconds (RFC 6238). */
import { Secret, TOTP } from 'otpauth'

const digits = 6
const periodSeconds = 30
/** How many steps before and after the present one are accepted (RFC 6238 §5.2). */
const window = 1

/** The length of a secret in bytes (RFC 4226 §4, requirement 6). */
const secretBytes = 20

/** A new random secret, base32. */
export const newTotpSecret = (): string => new Secret({ size: secretBytes }).base32

/** The `otpauth:` URI that authenticator apps read from a QR code. */
export const totpUri = (secret: string, { issuer, username }: { issuer: string; username: string }): string =>
  new TOTP({ issuer, label: username, secret, digits, period: periodSeconds }).toString()

/** True for the form of a one-time code. */
export const isTotpCode = (text: string): boolean => /^[0-9]{6}$/.test(text)

/** The time step whose code this is, if it is the present one or beside it. `now` in milliseconds. */
export function totpStep(secret: string, code: string, now: number): number | undefined {
  if (!isTotpCode(code)) return undefined
  const totp = new TOTP({ secret, digits, period: periodSeconds })
  const delta = totp.validate({ token: code, timestamp: now, window })
  return delta === null ? undefined : Math.floor(now / 1000 / periodSeconds) + delta
}
