/**
 * The payload of a key-signed token: its claims and their encoding inside the RSA block
 * (docs/key-signed-token.md#payload). Each content has exactly one encoding, and only such encodings are read.
 */
import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { isAnonymous, isUsername } from '../principal/record.ts'

/**
 * An Argon2id hash (RFC 9106, version 0x13) in a token. It is made for this token alone; it is never the stored one.
 */
export interface TokenPasswordHash {
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
  /** 16 octets. */
  readonly salt: Buffer
  /** 32 octets. */
  readonly digest: Buffer
}

/**
 * The claims of a key-signed token. Null means that the token does not have the field. Times are in seconds since the
 * epoch.
 */
export interface KeySignedClaims {
  readonly iat: number
  readonly exp: number
  /** The id of the token: a UUID in lower case. */
  readonly jti: string
  /** The credential generation of the principal when the token was made. */
  readonly gen: number
  /**
   * User name, as created. Null: the token proves only that the auth server issued it; its principal is `anonymous`.
   */
  readonly sub: string | null
  /** The canonical address of the only client that may use the token. */
  readonly address: string | null
  /** The hash of the password that every use of the token must present. */
  readonly passwordHash: TokenPasswordHash | null
  /** The digest of the audience that the token is for (`audienceDigest`). Null: that of the pair. */
  readonly audience: Buffer | null
}

/**
 * The longest lifetime of a key-signed token, in seconds: the upper bound of `KEY_SIGNED_TOKEN_TTL`. A verifier refuses
 * more.
 */
export const maxKeySignedTokenTtlSeconds = 86_400

/** Version 1 and the purpose tag. Nothing else that is encrypted with an RSA key begins like this. */
const prefix = Buffer.from('\u0001kst', 'latin1')

const integerLength = 6
const idLength = 16
const digestLength = 32
const audienceLength = 16
const saltLength = 16
/** Memory, passes and lanes, salt and digest. */
const passwordHashLength = 4 + 1 + 1 + saltLength + digestLength
const maxGeneration = 0x7fffffff
/** Bounds of Argon2's cost, which is what a server spends on one password. */
const maxMemoryKib = 262_144
const maxPasses = 16
const maxLanes = 8

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** The form of an audience in a token: SHA-256 of its name in UTF-8, the first 16 octets. */
export const audienceDigest = (audience: string): Buffer => sha256(Buffer.from(audience)).subarray(0, audienceLength)

/**
 * The payload with these claims: at most 224 octets, so that it fits every RSA key of 2048 bits or more.
 * @throws RangeError for claims that no token can have
 */
export function encodeKeySignedPayload(claims: KeySignedClaims): Buffer {
  const body = Buffer.concat([
    prefix,
    integer(claims.iat),
    integer(claims.exp),
    Buffer.from(claims.jti.replaceAll('-', ''), 'hex'),
    integer(claims.gen),
    withLength(claims.sub === null ? nothing : Buffer.from(claims.sub, 'latin1')),
    withLength(claims.address === null ? nothing : Buffer.from(ipaddr.parse(claims.address).toByteArray())),
    withLength(claims.passwordHash === null ? nothing : passwordHashOctets(claims.passwordHash)),
    // The only field that a payload can lack: tokens of the pair have the encoding that they had before there was one.
    claims.audience === null ? nothing : withLength(claims.audience),
  ])
  const payload = Buffer.concat([body, sha256(body)])
  const said = decodeKeySignedPayload(payload)
  if (said?.jti !== claims.jti || said.sub !== claims.sub || said.address !== claims.address) {
    throw new RangeError('this is nothing that a key-signed token can say')
  }
  return payload
}

const nothing = Buffer.alloc(0)

function integer(value: number): Buffer {
  const octets = Buffer.alloc(integerLength)
  octets.writeUIntBE(value, 0, integerLength)
  return octets
}

const withLength = (value: Buffer): Buffer => Buffer.concat([Buffer.of(value.length), value])

function passwordHashOctets({ memoryKib, passes, lanes, salt, digest }: TokenPasswordHash): Buffer {
  const cost = Buffer.alloc(6)
  cost.writeUInt32BE(memoryKib, 0)
  cost.writeUInt8(passes, 4)
  cost.writeUInt8(lanes, 5)
  return Buffer.concat([cost, salt, digest])
}

/** The claims in a payload; undefined unless the payload is the one encoding of valid claims. */
export function decodeKeySignedPayload(payload: Buffer): KeySignedClaims | undefined {
  const end = payload.length - digestLength
  if (end <= 0) return undefined
  const body = payload.subarray(0, end)
  if (!sha256(body).equals(payload.subarray(end))) return undefined
  const fields = new Fields(body)
  if (!fields.take(prefix.length).equals(prefix)) return undefined
  const iat = fields.integer()
  const exp = fields.integer()
  const jti = uuidOf(fields.take(idLength))
  const gen = fields.integer()
  const sub = nameOf(fields.withLength())
  const address = addressOf(fields.withLength())
  const passwordHash = passwordHashOf(fields.withLength())
  const audience = fields.areUsedUp() ? null : audienceOf(fields.withLength())
  if (!fields.areUsedUp() || sub === undefined || address === undefined || passwordHash === undefined) return undefined
  if (audience === undefined) return undefined
  if (exp <= iat || exp - iat > maxKeySignedTokenTtlSeconds || gen < 1 || gen > maxGeneration) return undefined
  return { iat, exp, jti, gen, sub, address, passwordHash, audience }
}

/** Reads octets from the front. Reading beyond the end gives zeros, and then `areUsedUp` stays false. */
class Fields {
  readonly #octets: Buffer
  #position = 0

  constructor(octets: Buffer) {
    this.#octets = octets
  }

  take(length: number): Buffer {
    const start = this.#position
    this.#position += length
    return this.#position <= this.#octets.length ? this.#octets.subarray(start, this.#position) : Buffer.alloc(length)
  }

  integer(): number {
    return this.take(integerLength).readUIntBE(0, integerLength)
  }

  withLength(): Buffer {
    return this.take(this.take(1).readUInt8())
  }

  areUsedUp(): boolean {
    return this.#position === this.#octets.length
  }
}

const uuidOf = (octets: Buffer): string =>
  octets.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** The name; null for no name. The reserved name `anonymous` is never written: no name stands for it. */
function nameOf(octets: Buffer): string | null | undefined {
  if (octets.length === 0) return null
  const name = octets.toString('latin1')
  return isUsername(name) && !isAnonymous(name) ? name : undefined
}

/** The address. An IPv4 address has four octets, even if a socket shows it in its IPv6 form (RFC 4291 §2.5.5.2). */
function addressOf(octets: Buffer): string | null | undefined {
  if (octets.length === 0) return null
  if (octets.length !== 4 && octets.length !== 16) return undefined
  const address = ipaddr.fromByteArray([...octets])
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
  return isMapped ? undefined : address.toString()
}

function passwordHashOf(octets: Buffer): TokenPasswordHash | null | undefined {
  if (octets.length === 0) return null
  if (octets.length !== passwordHashLength) return undefined
  const memoryKib = octets.readUInt32BE(0)
  const passes = octets.readUInt8(4)
  const lanes = octets.readUInt8(5)
  const isSane = lanes >= 1 && lanes <= maxLanes && passes >= 1 && passes <= maxPasses
  // RFC 9106 §3.1: at least eight blocks a lane.
  if (!isSane || memoryKib < 8 * lanes || memoryKib > maxMemoryKib) return undefined
  const [salt, digest] = [octets.subarray(6, 6 + saltLength), octets.subarray(6 + saltLength)]
  return { memoryKib, passes, lanes, salt: Buffer.from(salt), digest: Buffer.from(digest) }
}

const audienceOf = (octets: Buffer): Buffer | undefined =>
  octets.length === audienceLength ? Buffer.from(octets) : undefined
