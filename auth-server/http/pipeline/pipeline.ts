/**
 * The one way through the auth server, for every endpoint, in the order that docs/contract.md#order-of-checks promises. An endpoint
 * fills `check` and `handle`; it cannot leave a step out, nor change the order.
 */

import { refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse, type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../shared/protocol/authentication/cross-site.ts'
import { isOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import type { Audit } from '../../audit/audit.ts'
import { requireOwnAccount } from '../../users/own-account.ts'
import { type AuditedWork, audited } from './audited.ts'
import type { ClosedEndpoint, Endpoint, EndpointInput } from './endpoint.ts'

/** What the steps rest on. */
export interface PipelinePorts {
  readonly authenticate: Authenticate
  readonly refuseCrossSite: RefuseCrossSite
  readonly audit: Audit
}

/** @throws ProblemError, Unavailable: what becomes a problem document */
export type Pipeline = (request: HttpRequest, endpoint: Endpoint) => Promise<HttpResponse>

/** The pipeline over these ports. */
export function createPipeline(ports: PipelinePorts): Pipeline {
  const run = async (request: HttpRequest, endpoint: ClosedEndpoint): Promise<HttpResponse> => {
    await request.readBody() // limits: 413
    requireSecureTransport(request.peer) // transport: 403
    const identity = await identify(request, endpoint, ports) // credential, record: 400, 401, 429; cross-site: 403
    const input = await parse(request, endpoint, identity.found) // parse and schema: 400, 415, 422
    const entry = entryOf(endpoint, input, identity.caller)
    const reply = await withEntry(ports.audit, entry, async () => {
      const checked = await endpoint.check?.(input) // values: 400, 422
      requireRight(endpoint, input, identity.caller) // right: 403
      return endpoint.handle({ ...input, checked }) // existence, state: 404, 409; and what only the work can tell
    })
    return answerOf(endpoint, reply)
  }
  return async (request, endpoint) => {
    if (endpoint.caller === 'none') return endpoint.handle(request)
    try {
      return await run(request, endpoint)
    } catch (error) {
      return answerOfRefusal(request, endpoint, error)
    }
  }
}

type Input = EndpointInput<string, unknown, unknown, unknown>

/** What a input proves of its sender: a caller, or what the endpoint's own credential says. */
interface Identity {
  readonly found: unknown
  /** Undefined for a credential of the endpoint's own. */
  readonly caller: Caller | undefined
}

/** `authenticate` applies the cross-site rule to schemes that browsers send on their own. */
async function identify(request: HttpRequest, endpoint: ClosedEndpoint, ports: PipelinePorts): Promise<Identity> {
  if (endpoint.caller === 'required') {
    const caller = await ports.authenticate(request)
    return { found: caller, caller }
  }
  if (endpoint.caller.isSentByBrowsers) ports.refuseCrossSite(request)
  return { found: await endpoint.caller.find(request, ports.authenticate), caller: undefined }
}

/** Without a declared body, DELETE refuses one: it may be meant for another method. */
async function parse(request: HttpRequest, { query, body, method }: ClosedEndpoint, found: unknown): Promise<Input> {
  const parameters = query && readQuery(request, query)
  if (!body && method === 'DELETE') await refuseBody(request)
  return { request, caller: found, path: request.pathParameters, query: parameters, body: await body?.read(request) }
}

/** @throws ProblemError `missing-right`, `narrowed-credential` */
function requireRight(endpoint: ClosedEndpoint, input: Input, caller: Caller | undefined): void {
  const { right } = endpoint
  if (right === undefined || caller === undefined) return
  if (right === 'own-account') {
    requireOwnAccount(caller)
    return
  }
  const ofCaller = { ...input, caller }
  const account = endpoint.account?.(ofCaller)
  if (account !== undefined && isOwnAccount(caller, account)) return
  requireRights(caller, [right, ...(endpoint.gives?.(ofCaller) ?? [])])
}

function entryOf(endpoint: ClosedEndpoint, input: Input, caller: Caller | undefined): AuditedWork | undefined {
  const audited = endpoint.audit?.(input)
  return audited && { request: input.request, caller, ...audited }
}

const withEntry = <Result>(audit: Audit, entry: AuditedWork | undefined, work: () => Promise<Result>) =>
  entry ? audited(audit, entry, work) : work()

/** No cache keeps an answer to a caller: many of them carry a credential (RFC 6749 §5.1). */
function answerOf(endpoint: ClosedEndpoint, reply: Awaited<ReturnType<ClosedEndpoint['handle']>>): HttpResponse {
  if (!reply) return emptyResponse(endpoint.status, noStore)
  const { status = endpoint.status } = reply
  const headers = { ...noStore, ...reply.headers }
  return 'body' in reply ? jsonResponse(status, reply.body, headers) : emptyResponse(status, headers)
}

/**
 * @throws the refusal, with the challenge of the credential that it is about, unless the endpoint writes it in a form
 * of its own
 */
function answerOfRefusal(request: HttpRequest, { caller }: ClosedEndpoint, error: unknown): HttpResponse {
  const response = caller === 'required' ? undefined : caller.refusal?.(request, error)
  if (response) return response
  const challenge = caller !== 'required' && error instanceof ProblemError && caller.challenges?.[error.code]
  if (!challenge) throw error
  throw new ProblemError(error.code, error.message, { headers: challenge })
}
