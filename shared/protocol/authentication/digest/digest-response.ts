/** The computations of HTTP Digest with SHA-256 and qop=auth (RFC 7616 §3.4), in hexadecimal. */
import { hash } from 'node:crypto'
import { realm } from '../scheme.ts'

const sha256 = (text: string): string => hash('sha256', text, 'hex')

/** H(A1), which a server stores in place of the secret (§3.4.2). */
export const digestHa1 = (username: string, secret: string, ofRealm: string = realm): string =>
  sha256(`${username}:${ofRealm}:${secret}`)

/** The hash of a user name (§3.4.4). */
export const digestUserhash = (username: string, ofRealm: string = realm): string => sha256(`${username}:${ofRealm}`)

interface DigestedRequest {
  readonly nonce: string
  /** As sent: eight hexadecimal digits. */
  readonly nc: string
  readonly cnonce: string
  /** Empty for the response of a server (§3.5). */
  readonly method: string
  readonly uri: string
}

/** The response (§3.4.1, §3.4.3). */
export const digestResponse = (ha1: string, { nonce, nc, cnonce, method, uri }: DigestedRequest): string =>
  sha256(`${ha1}:${nonce}:${nc}:${cnonce}:auth:${sha256(`${method}:${uri}`)}`)
