/**
 * The steps of every request to the auth server, in the order of docs/contract/callers.md#order-of-checks. An endpoint
 * fills `check` and `handle`. It cannot leave out a step or change the order.
 */

import { refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse, type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../shared/protocol/authentication/cross-site.ts'
import { isOwnAccount, requireOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import type { Audit } from '../../audit/audit.ts'
import { originOf } from './audited.ts'
import type { ClosedEndpoint, Endpoint, EndpointInput } from './endpoint.ts'

/** Other parts that the steps use. */
export interface PipelinePorts {
  readonly authenticate: Authenticate
  readonly refuseCrossSite: RefuseCrossSite
  readonly audit: Audit
}

/** Runs an endpoint. @throws ProblemError, Unavailable, which become problem documents */
export type Pipeline = (request: HttpRequest, endpoint: Endpoint) => Promise<HttpResponse>

/** Creates the pipeline. */
export function createPipeline(ports: PipelinePorts): Pipeline {
  const run = async (request: HttpRequest, endpoint: ClosedEndpoint): Promise<HttpResponse> => {
    await request.readBody() // limits: 413
    requireSecureTransport(request.peer) // transport: 403
    const identity = await identify(request, endpoint, ports) // credential, record: 400, 401, 429; cross-site: 403
    const input = await parse(request, endpoint, identity.found) // parse and schema: 400, 415, 422
    const reply = await withEntries(ports.audit, { endpoint, input, caller: identity.caller }, async () => {
      const checked = await endpoint.check?.(input) // values: 400, 422
      requireRight(endpoint, { ...input, checked }, identity.caller) // right: 403
      return endpoint.handle({ ...input, checked }) // existence, state: 404, 409; other refusals of the work itself
    })
    return responseOf(endpoint, reply)
  }
  return async function handleRequest(request, endpoint) {
    if (endpoint.caller === 'none') return endpoint.handle(request)
    try {
      return await run(request, endpoint)
    } catch (error) {
      return responseToRefusal(request, endpoint, error)
    }
  }
}

type Input = EndpointInput<string, unknown, unknown, unknown>

/** The result of authentication: a caller, or the result of the endpoint's own credential. */
interface Identity {
  readonly found: unknown
  /** Undefined for an endpoint with its own credential. */
  readonly caller: Caller | undefined
}

/** Authenticates. `authenticate` applies the cross-site rule to schemes that browsers send without being asked. */
async function identify(request: HttpRequest, endpoint: ClosedEndpoint, ports: PipelinePorts): Promise<Identity> {
  if (endpoint.caller === 'required') {
    const caller = await ports.authenticate(request)
    return { found: caller, caller }
  }
  if (endpoint.caller.isSentByBrowsers) ports.refuseCrossSite(request)
  return { found: await endpoint.caller.find(request, ports.authenticate), caller: undefined }
}

/** Reads query and body. DELETE refuses a body that it does not declare: it may be meant for another method. */
async function parse(request: HttpRequest, { query, body, method }: ClosedEndpoint, found: unknown): Promise<Input> {
  const parameters = query && readQuery(request, query)
  if (!body && method === 'DELETE') await refuseBody(request)
  return { request, caller: found, path: request.pathParameters, query: parameters, body: await body?.read(request) }
}

/** @throws ProblemError `missing-right`, `narrowed-credential` */
function requireRight(
  endpoint: ClosedEndpoint,
  input: Input & { readonly checked: unknown },
  caller: Caller | undefined,
): void {
  const { right } = endpoint
  if (right === undefined || caller === undefined) return
  if (right === 'own-account') {
    requireOwnAccount(caller)
    return
  }
  const ofCaller = { ...input, caller }
  const account = endpoint.account?.(ofCaller)
  if (account !== undefined && isOwnAccount(caller, account)) return
  requireRights(caller, [right, ...(endpoint.grants?.(ofCaller) ?? [])])
}

interface Audited {
  readonly endpoint: ClosedEndpoint
  readonly input: Input
  readonly caller: Caller | undefined
}

/** Runs the work with its audit entry, and those of the changes that it makes. GET changes nothing. */
function withEntries<Result>(
  audit: Audit,
  { endpoint, input, caller }: Audited,
  work: () => Promise<Result>,
): Promise<Result> {
  if (endpoint.method === 'GET') return work()
  return audit.during(originOf(input.request, caller), endpoint.audit?.(input), work)
}

/** Makes the response. Caches must not store it: many responses carry a credential (RFC 6749 §5.1). */
function responseOf(endpoint: ClosedEndpoint, reply: Awaited<ReturnType<ClosedEndpoint['handle']>>): HttpResponse {
  if (!reply) return emptyResponse(endpoint.status, noStore)
  const { status = endpoint.status } = reply
  const headers = { ...noStore, ...reply.headers }
  return 'body' in reply ? jsonResponse(status, reply.body, headers) : emptyResponse(status, headers)
}

/**
 * Writes the refusal in the endpoint's own form, if it has one.
 *
 * @throws the refusal otherwise, with the challenge of the credential
 */
function responseToRefusal(request: HttpRequest, { caller }: ClosedEndpoint, error: unknown): HttpResponse {
  const response = caller === 'required' ? undefined : caller.refusal?.(request, error)
  if (response) return response
  const challenge = caller !== 'required' && error instanceof ProblemError && caller.challenges?.[error.code]
  if (!challenge) throw error
  const { code, message, members, retryAfterSeconds, cause } = error
  throw new ProblemError(code, message, { headers: challenge, members, retryAfterSeconds, cause })
}
