import type { IncomingHttpHeaders } from 'node:http'
import { systemClock } from '../../../shared/platform/clock.ts'
import {
  type ConnectionEnd,
  canonicalAddress,
  endOf,
  type Peer,
  peerBehind,
  refuseContradiction,
} from '../../../shared/platform/http/transport.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import { refuseAnonymous } from '../../../shared/protocol/authentication/authenticate.ts'
import { isSafeRequest } from '../../../shared/protocol/authentication/scheme.ts'
import { receivedByFetch } from '../requests/fetch-request.ts'
import { receivedByNode } from '../requests/node-request.ts'
import { type Received, serviceRequest } from '../requests/service-request.ts'
import { type Accepted, Following } from './following.ts'
import { type RefusalContext, refusalFor } from './refusal.ts'
import { readVerifierSettings, type VerifierSettings } from './settings.ts'
import { VerifiedCaller } from './verified-caller.ts'
import type { Caller, Origin, Verifier, VerifierOptions } from './verifier.ts'

/**
 * Makes a verifier. It begins to follow the auth server at once.
 * @throws TypeError for an option that is missing or not of its form
 *
 * @example
 * ```ts
 * const verifier = createVerifier({
 *   authServer: 'https://auth.example',
 *   service: { id, secret },
 *   audience: 'urn:example:invoices',
 *   origin: 'https://invoices.example',
 * })
 * await verifier.ready()
 * const caller = await verifier.verify(request, { clientAddress })
 * console.log(caller.username, caller.has('invoice.approve'))
 * ```
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const settings = readVerifierSettings(options)
  const following = new Following(settings)
  following.start()
  const ids = createIdSource(systemClock)
  const verify = async (received: Received, peer: Peer): Promise<Caller> => {
    const { accepted } = following
    const context = contextOf(accepted, settings)
    const requestId = ids.uuid()
    const request = serviceRequest(received, { peer, requestId })
    try {
      if (!accepted) throw new Unavailable('auth-server')
      requireKnownClient(peer)
      const caller = await accepted.authentication.authenticate(request)
      if (accepted.isRefused) throw new Unavailable('auth-server')
      if (!(settings.allowAnonymous && isSafeRequest(request))) refuseAnonymous(caller)
      return new VerifiedCaller(caller, { requestId, responseHeaders: request.addedResponseHeaders, context })
    } catch (error) {
      throw refusalFor(error, context, requestId)
    }
  }
  const { transport, maxBodyBytes } = settings
  return {
    ready: () => following.ready(),
    stop: () => following.stop(),
    verify: async (request, origin) => {
      const peer = peerBehind({ headers: forwardingHeaders(request.headers) }, connectionEnd(origin), transport)
      return verify(receivedByFetch(request, maxBodyBytes), peer)
    },
    verifyMessage: async (incoming, target) => {
      const peer = peerBehind(incoming, endOf(incoming.socket), transport)
      return verify(receivedByNode({ incoming, target }, maxBodyBytes), peer)
    },
  }
}

/** @throws TypeError without an address */
function connectionEnd({ clientAddress, encrypted }: Origin): ConnectionEnd {
  if (typeof clientAddress !== 'string') throw new TypeError('verify needs the clientAddress beside the request')
  return { address: canonicalAddress(clientAddress) ?? '0.0.0.0', encrypted: encrypted === true }
}

/** The fields by which proxies name the client. */
function forwardingHeaders(headers: Headers): IncomingHttpHeaders {
  const found: IncomingHttpHeaders = {}
  for (const [name, value] of headers) {
    if (name === 'forwarded' || name === 'x-real-ip' || name.startsWith('x-forwarded-')) found[name] = value
  }
  return found
}

/** @throws ProblemError `contradicting-forwarding-headers`, `insecure-transport` */
function requireKnownClient({ isContradicted, mayCarryCredentials }: Peer): void {
  if (isContradicted) refuseContradiction()
  if (mayCarryCredentials) return
  throw new ProblemError(
    'insecure-transport',
    'This request came over plain HTTP. Use HTTPS; behind a proxy, the option trustedProxies lets the service believe its headers.',
  )
}

const contextOf = (accepted: Accepted | undefined, { authUrl }: VerifierSettings): RefusalContext => ({
  origin: accepted?.description.publicOrigins.auth ?? authUrl,
  schemes: accepted?.description.schemes ?? [],
  expiredTokenStatus: accepted?.description.expiredTokenStatus ?? 401,
})
