/**
 * The one way through the auth server, for every endpoint, in the order that CONTRACT section 4 promises. An endpoint
 * fills `check` and `handle`; it cannot leave a step out, nor change the order.
 */

import { refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { HttpCall } from '../../../shared/platform/http/request.ts'
import { type Answer, emptyAnswer, jsonAnswer, noStore } from '../../../shared/platform/http/response.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../shared/protocol/authentication/cross-site.ts'
import { isOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import type { Audit } from '../../audit/audit.ts'
import { requireOwnAccount } from '../../users/own-account.ts'
import { type AuditedWork, audited } from './audited.ts'
import type { ClosedEndpoint, Endpoint, EndpointRequest } from './endpoint.ts'

/** What the steps rest on. */
export interface PipelinePorts {
  readonly authenticate: Authenticate
  readonly refuseCrossSite: RefuseCrossSite
  readonly audit: Audit
}

/** @throws Refused, Unavailable: what becomes a problem document */
export type Pipeline = (call: HttpCall, endpoint: Endpoint) => Promise<Answer>

/** The pipeline over these ports. */
export function createPipeline(ports: PipelinePorts): Pipeline {
  const run = async (call: HttpCall, endpoint: ClosedEndpoint): Promise<Answer> => {
    await call.readBody() // limits: 413
    requireSecureTransport(call.peer) // transport: 403
    const identity = await identify(call, endpoint, ports) // credential, record: 400, 401, 429; cross-site: 403
    const request = await parse(call, endpoint, identity.found) // parse and schema: 400, 415, 422
    const entry = entryOf(endpoint, request, identity.caller)
    const reply = await withEntry(ports.audit, entry, async () => {
      const checked = await endpoint.check?.(request) // values: 400, 422
      requireRight(endpoint, request, identity.caller) // right: 403
      return endpoint.handle({ ...request, checked }) // existence, state: 404, 409; and what only the work can tell
    })
    return answerOf(endpoint, reply)
  }
  return async (call, endpoint) => {
    if (endpoint.caller === 'none') return endpoint.handle(call)
    try {
      return await run(call, endpoint)
    } catch (error) {
      return answerOfRefusal(call, endpoint, error)
    }
  }
}

type Request = EndpointRequest<string, unknown, unknown, unknown>

/** What a request proves of its sender: a caller, or what the endpoint's own credential says. */
interface Identity {
  readonly found: unknown
  /** Undefined for a credential of the endpoint's own. */
  readonly caller: Caller | undefined
}

/** `authenticate` applies the cross-site rule to schemes that browsers send on their own. */
async function identify(call: HttpCall, endpoint: ClosedEndpoint, ports: PipelinePorts): Promise<Identity> {
  if (endpoint.caller === 'required') {
    const caller = await ports.authenticate(call)
    return { found: caller, caller }
  }
  if (endpoint.caller.isSentByBrowsers) ports.refuseCrossSite(call)
  return { found: await endpoint.caller.find(call, ports.authenticate), caller: undefined }
}

/** Without a declared body, DELETE refuses one: it may be meant for another method. */
async function parse(call: HttpCall, { query, body, method }: ClosedEndpoint, found: unknown): Promise<Request> {
  const parameters = query && readQuery(call, query)
  if (!body && method === 'DELETE') await refuseBody(call)
  return { call, caller: found, path: call.pathParameters, query: parameters, body: await body?.read(call) }
}

/** @throws Refused `missing-right`, `narrowed-credential` */
function requireRight(endpoint: ClosedEndpoint, request: Request, caller: Caller | undefined): void {
  const { right } = endpoint
  if (right === undefined || caller === undefined) return
  if (right === 'own-account') {
    requireOwnAccount(caller)
    return
  }
  const ofCaller = { ...request, caller }
  const account = endpoint.account?.(ofCaller)
  if (account !== undefined && isOwnAccount(caller, account)) return
  requireRights(caller, [right, ...(endpoint.gives?.(ofCaller) ?? [])])
}

function entryOf(endpoint: ClosedEndpoint, request: Request, caller: Caller | undefined): AuditedWork | undefined {
  const audited = endpoint.audit?.(request)
  return audited && { call: request.call, caller, ...audited }
}

const withEntry = <Result>(audit: Audit, entry: AuditedWork | undefined, work: () => Promise<Result>) =>
  entry ? audited(audit, entry, work) : work()

/** No cache keeps an answer to a caller: many of them carry a credential (RFC 6749 §5.1). */
function answerOf(endpoint: ClosedEndpoint, reply: Awaited<ReturnType<ClosedEndpoint['handle']>>): Answer {
  if (!reply) return emptyAnswer(endpoint.status, noStore)
  const { status = endpoint.status } = reply
  const headers = { ...noStore, ...reply.headers }
  return 'body' in reply ? jsonAnswer(status, reply.body, headers) : emptyAnswer(status, headers)
}

/**
 * @throws the refusal, with the challenge of the credential that it is about, unless the endpoint writes it in a form
 * of its own
 */
function answerOfRefusal(call: HttpCall, { caller }: ClosedEndpoint, error: unknown): Answer {
  const answer = caller === 'required' ? undefined : caller.refusal?.(call, error)
  if (answer) return answer
  const challenge = caller !== 'required' && error instanceof Refused && caller.challenges?.[error.code]
  if (!challenge) throw error
  throw new Refused(error.code, error.message, { headers: challenge })
}
