/**
 * The text form of a key-signed token: `kst1.<kid>.<base64url>`, one RSA block under the key with that `kid`
 * (docs/key-signed-token.md#text).
 */

/** A well-formed token. It is not verified yet. */
export interface ParsedKeySignedToken {
  readonly kid: string
  readonly block: Buffer
}

/** A JWK Thumbprint (RFC 7638), then a block of 256 to 512 octets, which is 2048 to 4096 bits. */
const form = /^kst1\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{342,683})$/

/** The parts of a token; undefined unless the text is exactly what `formatKeySignedToken` writes for them. */
export function parseKeySignedToken(token: string): ParsedKeySignedToken | undefined {
  const [, kid, encoded] = form.exec(token) ?? []
  if (kid === undefined || encoded === undefined) return undefined
  const block = Buffer.from(encoded, 'base64url')
  return block.toString('base64url') === encoded ? { kid, block } : undefined
}

/** The text of a token. */
export const formatKeySignedToken = ({ kid, block }: ParsedKeySignedToken): string =>
  `kst1.${kid}.${block.toString('base64url')}`
