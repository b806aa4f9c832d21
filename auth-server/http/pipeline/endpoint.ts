/**
 * What an endpoint of the auth server says of itself, once: its route, its caller, its request and response, its right,
 * its audit entry and its documentation. `pipeline.ts` runs it in one order, `routes.ts` writes its part of the
 * OpenAPI document, and a test walks its refusals. An endpoint without a description does not compile.
 */
import type { z } from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { Method, PathParameters } from '../../../shared/platform/http/server/routes.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { Right } from '../../users/rights.ts'
import type { BodyReader } from './bodies.ts'
import type { Description } from './description.ts'
import type { OwnCredential } from './own-credential.ts'

/** The request as the steps after authentication see it. */
export interface EndpointInput<Path extends string, Found, Body, Query> {
  readonly request: HttpRequest
  /** Who calls, or what the endpoint's own credential proves. */
  readonly caller: Found
  /** The decoded parameters of the path. */
  readonly path: PathParameters<Path>
  /** Undefined where the endpoint declares none: the query is then not looked at. */
  readonly query: Query
  /** Undefined where the endpoint declares none. */
  readonly body: Body
}

/** What the audit log is told of a request; the pipeline adds the caller and the outcome. */
export interface AuditedAction {
  readonly action: string
  readonly target?: string | undefined
  /** Who acts, where nobody is authenticated before: the user name as sent. */
  readonly actor?: string | undefined
}

type Readable<T> = T extends readonly (infer Item)[]
  ? readonly Readable<Item>[]
  : T extends object
    ? { readonly [Member in keyof T]: Readable<T[Member]> }
    : T

interface ReplyHead {
  /** Beside `Cache-Control: no-store`. */
  readonly headers?: HttpResponse['headers']
}

/** The answer to a form: the browser goes on elsewhere. */
export interface Redirect extends ReplyHead {
  readonly status: 303
}

/** What a handler answers: a body of the declared response, or none. */
export type Reply<Response extends z.ZodType | undefined> = Response extends z.ZodType
  ? (ReplyHead & { readonly status?: never; readonly body: Readable<z.output<Response>> }) | Redirect
  : (ReplyHead & { readonly status?: never }) | Redirect | undefined

type Handled<Response extends z.ZodType | undefined> =
  | Promise<Reply<Response>>
  | Reply<Response>
  | (Response extends z.ZodType ? never : Promise<void>)

/** The members that every kind of endpoint with a caller or a credential has. */
interface Steps<Path extends string, Found, Body, Query, Checked, Response extends z.ZodType | undefined>
  extends Description<Response> {
  readonly method: Method
  /** Hono's path syntax. */
  readonly path: Path
  /** How large a body may be, in bytes; when left out 256 KiB, or 16 KiB for a credential of its own. */
  readonly maxBodyBytes?: number
  /** How the query is read. Whatever is wrong with it is 400 `invalid-parameter`. */
  readonly query?: z.ZodObject & z.ZodType<Query>
  /** How the body is read; without it DELETE refuses a body, and other methods do not look at it. */
  readonly body?: BodyReader<Body>
  /**
   * Refuses values that no schema can judge, before any right is looked at; its result is passed on to `handle`.
   * @throws ProblemError 400, 422
   */
  check?(request: EndpointInput<Path, Found, Body, Query>): Checked | Promise<Checked>
  /**
   * The entry that the outcome gets, refusals by `check` and by the right included. Undefined: `handle` writes what
   * there is to write.
   */
  audit?(request: EndpointInput<Path, Found, Body, Query>): AuditedAction | undefined
  /** @throws ProblemError, Unavailable */
  handle(request: EndpointInput<Path, Found, Body, Query> & { readonly checked: Checked }): Handled<Response>
}

/** An endpoint for callers of every scheme. */
export interface CallerEndpoint<Path extends string, Body, Query, Checked, Response extends z.ZodType | undefined>
  extends Steps<Path, Caller, Body, Query, Checked, Response> {
  readonly caller: 'required'
  /** The right it needs; `own-account`: none, but a credential of narrowed rights is refused. */
  readonly right?: Right | 'own-account'
  /** Whose account it is about: acting for one's own needs no right. */
  account?(request: EndpointInput<Path, Caller, Body, Query>): string
  /** Rights that the caller gives away, and must have beside `right`. */
  gives?(request: EndpointInput<Path, Caller, Body, Query>): readonly string[]
}

/** An endpoint that takes a credential of its own: a password, a token, a client's secret, a session key. */
export interface CredentialEndpoint<
  Path extends string,
  Found,
  Body,
  Query,
  Checked,
  Response extends z.ZodType | undefined,
> extends Steps<Path, Found, Body, Query, Checked, Response> {
  readonly caller: OwnCredential<Found>
}

/** A public document: no caller, no secret, so neither transport nor cross-site rule, and caches may keep it. */
export interface PublicEndpoint extends Description<z.ZodType | undefined> {
  readonly caller: 'none'
  readonly method: 'GET'
  readonly path: string
  handle(request: HttpRequest): Promise<HttpResponse> | HttpResponse
}

type Schema = z.ZodType | undefined

type AnyCallerEndpoint = CallerEndpoint<string, unknown, unknown, unknown, Schema>

/** Any endpoint with a caller or a credential, as the pipeline takes it. */
export interface ClosedEndpoint
  extends Steps<string, unknown, unknown, unknown, unknown, Schema>,
    Pick<AnyCallerEndpoint, 'right' | 'account' | 'gives'> {
  readonly caller: 'required' | OwnCredential<unknown>
}

/** Any endpoint. */
export type Endpoint = ClosedEndpoint | PublicEndpoint

/** An endpoint for callers of every scheme. The types of its request come from `path`, `body` and `query`. */
export const defineEndpoint = <
  const Path extends string,
  Body = undefined,
  Query = undefined,
  Checked = undefined,
  Response extends Schema = undefined,
>(
  endpoint: CallerEndpoint<Path, Body, Query, Checked, Response>,
): Endpoint => endpoint

/** An endpoint with a credential of its own; `caller` says which. */
export const defineCredentialEndpoint = <
  const Path extends string,
  Found,
  Body = undefined,
  Query = undefined,
  Checked = undefined,
  Response extends Schema = undefined,
>(
  endpoint: CredentialEndpoint<Path, Found, Body, Query, Checked, Response>,
): Endpoint => endpoint

/** A document for everybody. */
export const definePublicEndpoint = (endpoint: PublicEndpoint): PublicEndpoint => endpoint
