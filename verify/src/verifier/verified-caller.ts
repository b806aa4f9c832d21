import {
  type Caller as AuthenticatedCaller,
  missingRights,
} from '../../../shared/protocol/authentication/authenticate.ts'
import { type RefusalContext, refusalFor } from './refusal.ts'
import type { Caller, SchemeName } from './verifier.ts'

/** The parts of a request that stay with its caller. */
export interface VerifiedRequest {
  readonly requestId: string
  readonly responseHeaders: Caller['responseHeaders']
  readonly context: RefusalContext
}

/** The caller of a verified request. A class: closures would have to be made for every request. */
export class VerifiedCaller implements Caller {
  readonly username: string
  readonly userId: string
  readonly scheme: SchemeName
  readonly rights: ReadonlySet<string>
  readonly responseHeaders: Caller['responseHeaders']
  readonly #request: VerifiedRequest

  constructor({ username, userId, scheme, rights }: AuthenticatedCaller, request: VerifiedRequest) {
    this.username = username
    this.userId = userId
    this.scheme = scheme
    this.rights = rights
    this.responseHeaders = request.responseHeaders
    this.#request = request
  }

  has(right: string): boolean {
    return this.rights.has(right)
  }

  require(...rights: readonly string[]): void {
    const missing = rights.filter((right) => !this.rights.has(right))
    if (missing.length === 0) return
    throw refusalFor(missingRights(this, missing), this.#request.context, this.#request.requestId)
  }
}
