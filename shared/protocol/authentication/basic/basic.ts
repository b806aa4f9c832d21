/** The scheme `basic`: user name and password with each request (RFC 7617). */

import type { HttpRequest } from '../../../platform/http/request.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import type { Traced } from '../../../platform/trace-context.ts'
import { isOfScript, type ResponseHeaders, realm, type Scheme, type VerifiedCredential } from '../scheme.ts'
import { type BasicCredential, parseBasicCredential } from './basic-credential.ts'

/** A user name and password, and the client that sent them. */
export interface BasicAttempt extends BasicCredential {
  /** The client's canonical address. */
  readonly clientAddress: string
}

/** The user whose password was right. */
export interface ProvedUser {
  readonly username: string
  readonly userId: string
  /** The version of the user's principal record in the snapshot that proved the password. */
  readonly version: number
}

/** The verification of passwords. */
export interface BasicPorts {
  /** The user; undefined when the password is not that user's. @throws ProblemError `too-many-attempts`; Unavailable */
  verify(received: BasicAttempt, traceContext?: Traced): Promise<ProvedUser | undefined> | ProvedUser | undefined
}

const challenge = `Basic realm="${realm}", charset="UTF-8"`

const headersOf = (request: HttpRequest): ResponseHeaders =>
  isOfScript(request) ? {} : { 'www-authenticate': [challenge] }

/** Reads `Authorization: Basic <base64 of user-id ":" password in UTF-8>`. */
export const createBasicScheme = ({ verify }: BasicPorts): Scheme => ({
  name: 'basic',
  isSentByBrowsers: true,
  challenge: () => challenge,
  refusalHeaders: headersOf,
  place: { authorization: 'basic' },
  verify: (text, request) => {
    const credential = parseBasicCredential(text)
    const prove = () => credential && verify({ ...credential, clientAddress: request.peer.address }, request)
    const requireUser = (user: ProvedUser | undefined): ProvedUser => {
      if (user) return user
      throw new ProblemError('invalid-credentials', 'The user name or the password is not right.', {
        headers: headersOf(request),
      })
    }
    const recheck = async () => void requireUser(await prove())
    const credentialOf = (user: ProvedUser | undefined): VerifiedCredential => {
      const { username } = requireUser(user)
      return { username, generation: undefined, loginId: undefined, audience: undefined, expiresAt: undefined, recheck }
    }
    const proving = prove()
    return proving instanceof Promise ? proving.then(credentialOf) : credentialOf(proving)
  },
})
