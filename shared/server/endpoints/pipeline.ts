/**
 * The steps of a request to an endpoint of either server, in the order of docs/contract/callers.md#order-of-checks. An
 * endpoint fills `check` and `handle`. It cannot leave out a step or change the order.
 */
import { refuseBody } from '../../platform/http/content/json-body.ts'
import { readQuery } from '../../platform/http/content/query-parameters.ts'
import type { HttpRequest } from '../../platform/http/request.ts'
import { emptyResponse, type HttpResponse, jsonResponse } from '../../platform/http/response.ts'
import { requireSecureTransport } from '../../platform/http/transport.ts'
import { ProblemError } from '../../platform/problems/errors.ts'
import { originOf } from '../../protocol/authentication/application.ts'
import type { Authenticate, Caller } from '../../protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../protocol/authentication/cross-site.ts'
import { isOwnAccount, requireOwnAccount } from '../../protocol/authentication/own-account.ts'
import type { ChangeEntry, EntryOrigin } from '../../protocol/entry-changes.ts'
import { type ClosedEndpoint, type EndpointInput, statusOf } from './endpoint.ts'

/** The parts of a server that the steps use. */
export interface EndpointPipelinePorts {
  readonly authenticate: Authenticate
  readonly refuseCrossSite: RefuseCrossSite
  /** @throws ProblemError `missing-right` */
  requireRights(caller: Caller, rights: readonly string[]): void
  /** The audit log; undefined where the endpoints report their changes themselves. */
  readonly audit?: {
    /** Runs the work of a request with its entry, and those of the changes that it makes. */
    during<Result>(origin: EntryOrigin, entry: ChangeEntry | undefined, run: () => Promise<Result>): Promise<Result>
  }
  /** Header fields of every response. */
  readonly headers: HttpResponse['headers']
}

/** Runs an endpoint. @throws ProblemError, Unavailable, which become problem documents */
export type RunEndpoint = (request: HttpRequest, endpoint: ClosedEndpoint) => Promise<HttpResponse>

/** Creates the pipeline. */
export function createEndpointPipeline(ports: EndpointPipelinePorts): RunEndpoint {
  const run = async (request: HttpRequest, endpoint: ClosedEndpoint): Promise<HttpResponse> => {
    await request.readBody() // limits: 413
    requireSecureTransport(request.peer) // transport: 403
    const identity = await identify(request, endpoint, ports) // credential, record: 400, 401, 429; cross-site: 403
    const input = await parse(request, endpoint, identity.found) // parse and schema: 400, 415, 422
    const reply = await withEntries(ports, { endpoint, input, caller: identity.caller }, async () => {
      const checked = await endpoint.check?.(input) // values: 400, 404, 422
      requireRight(ports, endpoint, { ...input, checked, caller: identity.caller }) // right: 403
      return endpoint.handle({ ...input, checked }) // existence, state: 404, 409; other refusals of the work itself
    })
    return responseOf(endpoint, reply, ports)
  }
  return async function handleRequest(request, endpoint) {
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
async function identify(
  request: HttpRequest,
  endpoint: ClosedEndpoint,
  ports: EndpointPipelinePorts,
): Promise<Identity> {
  if (!endpoint.caller) {
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
  { requireRights }: EndpointPipelinePorts,
  { right, account, grants }: ClosedEndpoint,
  { caller, ...input }: Input & Pick<Identity, 'caller'> & { readonly checked: unknown },
): void {
  if (right === undefined || caller === undefined) return
  if (right === 'own-account') {
    requireOwnAccount(caller)
    return
  }
  const ofCaller = { ...input, caller }
  const username = account?.(ofCaller)
  if (username !== undefined && isOwnAccount(caller, username)) return
  requireRights(caller, [right, ...(grants?.(ofCaller) ?? [])])
}

interface Audited {
  readonly endpoint: ClosedEndpoint
  readonly input: Input
  readonly caller: Caller | undefined
}

/** Runs the work with its audit entry. GET changes nothing. */
function withEntries<Result>(
  { audit }: EndpointPipelinePorts,
  { endpoint, input, caller }: Audited,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!audit || endpoint.method === 'GET' || endpoint.auditsItself) return work()
  return audit.during(originOf(input.request, caller), endpoint.audit?.(input), work)
}

type AnyReply = Awaited<ReturnType<ClosedEndpoint['handle']>>

function responseOf(endpoint: ClosedEndpoint, reply: AnyReply, ports: EndpointPipelinePorts): HttpResponse {
  const { status = statusOf(endpoint) } = reply ?? {}
  const headers = { ...ports.headers, ...reply?.headers }
  return reply && 'body' in reply ? jsonResponse(status, reply.body, headers) : emptyResponse(status, headers)
}

/**
 * Writes the refusal in the endpoint's own form, if it has one.
 *
 * @throws the refusal otherwise, with the challenge of the credential
 */
function responseToRefusal(request: HttpRequest, { caller }: ClosedEndpoint, error: unknown): HttpResponse {
  const response = caller?.refusal?.(request, error)
  if (response) return response
  const challenge = error instanceof ProblemError && caller?.challenges?.[error.code]
  if (!challenge) throw error
  const { code, message, members, retryAfterSeconds, cause } = error
  throw new ProblemError(code, message, { headers: challenge, members, retryAfterSeconds, cause })
}
