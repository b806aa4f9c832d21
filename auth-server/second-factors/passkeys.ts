/**
 * Passkeys: registration and authentication by WebAuthn (Level 3), over `@simplewebauthn/server`. The first use loads
 * the library, which is a quarter of the code of the server.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'

const loadWebAuthn = () => import('@simplewebauthn/server')
const loadHelpers = () => import('@simplewebauthn/server/helpers')

/** The relying party (WebAuthn §4). */
export interface RelyingParty {
  /** The host of the public origin. Passkeys are bound to it. */
  readonly id: string
  /** The origins whose pages may use the passkeys. */
  readonly origins: readonly string[]
}

/** The relying party of these public origins. The deal server belongs to it under the same host. */
export function relyingPartyOf({ auth, deal }: { readonly auth: string; readonly deal: string }): RelyingParty {
  const id = new URL(auth).hostname
  const origins = [auth, deal].map((origin) => new URL(origin)).filter(({ hostname }) => hostname === id)
  return { id, origins: [...new Set(origins.map(({ origin }) => origin))] }
}

/** A stored passkey. Bytes as base64url. */
export interface Passkey {
  readonly credentialId: string
  readonly publicKey: string
  readonly signatures: number
  readonly transports: readonly string[]
}

const described = ({ credentialId, transports }: Pick<Passkey, 'credentialId' | 'transports'>) => ({
  id: credentialId,
  transports: [...transports],
})

/** How long a browser waits for its user, in milliseconds. */
const timeout = 300_000

/** Options for `navigator.credentials.create` (`PublicKeyCredential.parseCreationOptionsFromJSON`). */
export const creationOptions = async (
  party: RelyingParty,
  user: { readonly username: string; readonly userId: string; readonly passkeys: readonly Passkey[] },
) =>
  (await loadWebAuthn()).generateRegistrationOptions({
    rpName: 'Keyhold',
    rpID: party.id,
    userName: user.username,
    userID: Uint8Array.from(Buffer.from(user.userId)),
    attestationType: 'none',
    timeout,
    excludeCredentials: user.passkeys.map(described),
    authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred' },
  })

/** Options for `navigator.credentials.get` (`PublicKeyCredential.parseRequestOptionsFromJSON`). */
export const requestOptions = async (party: RelyingParty, passkeys: readonly Passkey[], challenge: string) =>
  (await loadWebAuthn()).generateAuthenticationOptions({
    rpID: party.id,
    allowCredentials: passkeys.map(described),
    challenge: Uint8Array.from(Buffer.from(challenge, 'base64url')),
    userVerification: 'preferred',
    timeout,
  })

/** A credential id has at most 1,023 bytes (WebAuthn §4). */
const maxCredentialIdLength = 1_364

/** The transports of WebAuthn §5.8.4. Others say nothing to a browser. */
const knownTransports: ReadonlySet<string> = new Set(['usb', 'nfc', 'ble', 'smart-card', 'hybrid', 'internal', 'cable'])

/**
 * Whether an answer has no attestation, or signs with the passkey itself (WebAuthn §8.7, §8.2). Creation options ask
 * for no other, and the library fetches URLs that are in the certificates of others. @throws for what cannot be
 * decoded
 */
function hasNoCertificates(
  { decodeAttestationObject, isoBase64URL }: Awaited<ReturnType<typeof loadHelpers>>,
  { response }: RegistrationResponseJSON,
): boolean {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject))
  const format = attestation.get('fmt')
  return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined)
}

/** The new passkey in the browser's answer; undefined when the answer is not right. `challenge` is base64url. */
export async function registeredPasskey(
  party: RelyingParty,
  answer: unknown,
  challenge: string,
): Promise<Passkey | undefined> {
  const [{ verifyRegistrationResponse }, helpers] = await Promise.all([loadWebAuthn(), loadHelpers()])
  const verified = await orUndefined(async () => {
    const response = answer as RegistrationResponseJSON
    if (!hasNoCertificates(helpers, response)) return undefined
    return verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: false,
    })
  })
  if (!verified?.verified) return undefined
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential
  if (id.length > maxCredentialIdLength) return undefined
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey).toString('base64url'),
    signatures: counter,
    transports: transports.filter((transport) => knownTransports.has(transport)),
  }
}

/** An answer that a passkey signed. */
export interface UsedPasskey {
  /** The signature counter that the authenticator sent (WebAuthn §6.1.1). */
  readonly signatures: number
  /** The RFC 8176 value: `hwk` for a key that stays in one device, `swk` for one that is synchronised. */
  readonly method: 'hwk' | 'swk'
}

/** Verifies the browser's answer against a stored passkey. Undefined when it is not right. */
export async function usedPasskey(
  party: RelyingParty,
  answer: unknown,
  { challenge, passkey }: { readonly challenge: string; readonly passkey: Passkey },
): Promise<UsedPasskey | undefined> {
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  const verified = await orUndefined(() =>
    verifyAuthenticationResponse({
      response: answer as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: false,
      credential: {
        id: passkey.credentialId,
        publicKey: Uint8Array.from(Buffer.from(passkey.publicKey, 'base64url')),
        counter: passkey.signatures,
        transports: [...passkey.transports],
      },
    }),
  )
  if (!verified?.verified) return undefined
  const { newCounter, credentialDeviceType } = verified.authenticationInfo
  return { signatures: newCounter, method: credentialDeviceType === 'multiDevice' ? 'swk' : 'hwk' }
}

/** The library throws an Error for each answer that is not right, whatever it holds. */
async function orUndefined<Result>(verify: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await verify()
  } catch {
    return undefined
  }
}
