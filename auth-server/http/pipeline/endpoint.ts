/**
 * The definition of an endpoint of the auth server: route, caller, request, response, right, audit entry and
 * documentation, in one place. `pipeline.ts` runs it in one order, and `routes.ts` writes its part of the OpenAPI
 * document. A test takes it through all its refusals. An endpoint without a description does not compile.
 */
import type { z } from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { Readable, Typed } from '../../../shared/platform/http/route-types.ts'
import type { Method, PathParameters } from '../../../shared/platform/http/server/routes.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { ChangeEntry } from '../../audit/audit.ts'
import type { Right } from '../../principals/rights.ts'
import type { BodyReader } from './bodies.ts'
import type { Description } from './description.ts'
import type { OwnCredential } from './own-credential.ts'

/** The request as the steps after authentication see it. */
export interface EndpointInput<Path extends string, Found, Body, Query> {
  readonly request: HttpRequest
  /** The caller, or the result of the endpoint's own credential. */
  readonly caller: Found
  /** The decoded parameters of the path. */
  readonly path: PathParameters<Path>
  /** Undefined where the endpoint declares none. Then the pipeline ignores the query. */
  readonly query: Query
  /** Undefined where the endpoint declares none. */
  readonly body: Body
}

interface ReplyHead {
  /** Header fields beside `Cache-Control: no-store`. */
  readonly headers?: HttpResponse['headers']
}

/** A redirect of the browser after a form. */
export interface Redirect extends ReplyHead {
  readonly status: 303
}

/** The result of a handler: a body of the declared response, or no body. */
export type Reply<Response extends z.ZodType | undefined> = Response extends z.ZodType
  ? (ReplyHead & { readonly status?: never; readonly body: Readable<z.output<Response>> }) | Redirect
  : (ReplyHead & { readonly status?: never }) | Redirect | undefined

type Handled<Response extends z.ZodType | undefined> =
  | Promise<Reply<Response>>
  | Reply<Response>
  | (Response extends z.ZodType ? never : Promise<void>)

/** The members that all endpoints with a caller or a credential have. */
interface Steps<Path extends string, Found, Body, Query, Checked, Response extends z.ZodType | undefined>
  extends Description<Response> {
  readonly method: Method
  /** Hono's path syntax. */
  readonly path: Path
  /** The largest body in bytes. Default: 256 KiB, or 16 KiB for an endpoint with its own credential. */
  readonly maxBodyBytes?: number
  /** False: OPTIONS is refused. */
  readonly answersOptions?: false
  /** The schema of the query. Its errors are 400 `invalid-parameter`. */
  readonly query?: z.ZodObject & z.ZodType<Query>
  /** Reads the body. Without it DELETE refuses a body, and other methods ignore it. */
  readonly body?: BodyReader<Body>
  /**
   * Refuses values that no schema can check. Runs before the check of the right. `handle` gets the result.
   * @throws ProblemError 400, 422
   */
  check?(request: EndpointInput<Path, Found, Body, Query>): Checked | Promise<Checked>
  /**
   * The audit entry of the outcome, also of refusals by `check` and by the right. The first change that `handle` makes
   * stores it. Undefined: only changes with entries of their own have some.
   */
  audit?(request: EndpointInput<Path, Found, Body, Query>): ChangeEntry | undefined
  /** @throws ProblemError, Unavailable */
  handle(request: EndpointInput<Path, Found, Body, Query> & { readonly checked: Checked }): Handled<Response>
}

/** An endpoint for callers of every scheme. */
export interface CallerEndpoint<Path extends string, Body, Query, Checked, Response extends z.ZodType | undefined>
  extends Steps<Path, Caller, Body, Query, Checked, Response> {
  readonly caller: 'required'
  /** The right that the caller needs. `own-account` needs no right, but refuses narrowed credentials. */
  readonly right?: Right | 'own-account'
  /** The user whose account the request is about. Callers need no right for their own account. */
  account?(request: EndpointInput<Path, Caller, Body, Query>): string
  /** Rights that the caller grants with this request. The caller must have them, beside `right`. */
  grants?(request: EndpointInput<Path, Caller, Body, Query> & { readonly checked: Checked }): readonly string[]
}

/** An endpoint with its own credential: a password, a token, a client secret or a session key. */
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

/**
 * A public document without a caller or a secret. So the rules for transport and cross-site requests do not apply, and
 * caches may store it.
 */
export interface PublicEndpoint extends Description<z.ZodType | undefined>, Typed<never> {
  readonly caller: 'none'
  readonly method: 'GET'
  readonly path: string
  handle(request: HttpRequest): Promise<HttpResponse> | HttpResponse
}

type Schema = z.ZodType | undefined

type AnyCallerEndpoint = CallerEndpoint<string, unknown, unknown, unknown, Schema>

/** Any endpoint with a caller or a credential, as the pipeline runs it. */
export interface ClosedEndpoint
  extends Steps<string, unknown, unknown, unknown, unknown, Schema>,
    Pick<AnyCallerEndpoint, 'right' | 'account' | 'grants'> {
  readonly caller: 'required' | OwnCredential<unknown>
}

/** Any endpoint. */
export type Endpoint = ClosedEndpoint | PublicEndpoint

/** A definition with the types of its route. */
type Defined<Verb extends Method, Path extends string, Sent, Query, Response extends Schema> = ClosedEndpoint &
  Typed<{
    readonly name: `${Verb} ${Path}`
    readonly query: keyof Query & string
    readonly body: Sent
    readonly reply: Response extends z.ZodType ? Readable<z.output<Response>> : undefined
  }>

/** The members by which the types of a request are inferred, beside those of the handler. */
interface Inferred<Verb extends Method, Body, Sent> {
  readonly method: Verb
  readonly body?: BodyReader<Body, Sent>
}

/** Defines an endpoint for callers of every scheme. The types of its request come from `path`, `body` and `query`. */
export const defineEndpoint = <
  const Verb extends Method,
  const Path extends string,
  Body = undefined,
  Sent = undefined,
  Query = undefined,
  Checked = undefined,
  Response extends Schema = undefined,
>(
  endpoint: CallerEndpoint<Path, Body, Query, Checked, Response> & Inferred<Verb, Body, Sent>,
): Defined<Verb, Path, Sent, Query, Response> => endpoint

/** Defines an endpoint with its own credential, which `caller` reads. */
export const defineCredentialEndpoint = <
  const Verb extends Method,
  const Path extends string,
  Found,
  Body = undefined,
  Sent = undefined,
  Query = undefined,
  Checked = undefined,
  Response extends Schema = undefined,
>(
  endpoint: CredentialEndpoint<Path, Found, Body, Query, Checked, Response> & Inferred<Verb, Body, Sent>,
): Defined<Verb, Path, Sent, Query, Response> => endpoint

/** Defines a public document. */
export const definePublicEndpoint = (endpoint: PublicEndpoint): PublicEndpoint => endpoint
