/**
 * The definition of an endpoint of either server: route, caller, request, response, right, audit entry and
 * documentation, in one place. `pipeline.ts` runs it in one order, and `routes.ts` writes its part of the OpenAPI
 * document. A test takes it through all its refusals. An endpoint without a description does not compile.
 */
import * as z from 'zod'
import { readBodyAs } from '../../platform/http/content/json-body.ts'
import type { DescribedBody, DescribedResponse, Operation } from '../../platform/http/operation.ts'
import type { HttpRequest } from '../../platform/http/request.ts'
import type { HttpResponse } from '../../platform/http/response.ts'
import type { Readable, Typed } from '../../platform/http/route-types.ts'
import type { Method, PathParameters } from '../../platform/http/server/routes.ts'
import { jsonSchemaOf } from '../../platform/openapi/json-schema.ts'
import type { Authenticate, Caller } from '../../protocol/authentication/authenticate.ts'
import type { ChangeEntry } from '../../protocol/entry-changes.ts'

type Schema = z.ZodType | undefined

/** The schema of a response body. */
export interface Component<Schema extends z.ZodType> {
  /** Its name among the components of the document. Without a name the schema is in the response itself. */
  readonly name?: string
  readonly schema: Schema
}

/** A response schema with a name. */
export const component = <Schema extends z.ZodType>(name: string, schema: Schema) => ({ name, schema })

/** The part that only the documentation needs. The rest of it follows from request, caller and right. */
export interface Description<Response extends Schema> extends Pick<Operation, 'pathParameters'> {
  /** `operationId`, unique in the document. */
  readonly id: string
  readonly summary: string
  readonly description: string
  /** The groups of the document under which a reader finds it. */
  readonly tag: string | readonly string[]
  /** The path in OpenAPI's syntax, where it differs from the path of the route. */
  readonly documentedPath?: string
  /** The status of success; when left out, 200 with a `response` and 204 without. */
  readonly status?: number
  /** The response with this status. */
  readonly success: DescribedResponse
  /** The body of that response. The type of `handle` follows from it. */
  readonly response?: Response extends z.ZodType ? Component<Response> : undefined
  /** Responses with another status that are no problem documents. */
  readonly otherResponses?: Readonly<Record<number, DescribedResponse>>
  /** Codes of problems beyond those that follow from caller, right, query and body. */
  readonly problems?: readonly string[]
  /** Names of parameter components for header fields of the request. */
  readonly requestHeaders?: readonly string[]
  /** Names of the accepted security schemes, where these do not follow from the caller. */
  readonly security?: readonly string[]
}

/** A time in responses. */
export const time = z.string().meta({ format: 'date-time', description: 'RFC 3339.' })

/** A number of seconds, or of seconds since the epoch. */
export const seconds = z.number().int().min(0)

/** Common members of documents that caches may store: an entity tag, and 304 for a client that has the document. */
export const cacheable = {
  requestHeaders: ['IfNoneMatch'],
  otherResponses: { 304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] } },
} as const

/** Reads the body of an endpoint, and describes it for the documentation. `Sent` is the type of what is sent. */
export interface BodyReader<Body, Sent = unknown> {
  /** For the compiler alone. */
  readonly sent?: Sent
  /**
   * @throws ProblemError `invalid-body`, `unsupported-media-type`, `invalid-value`; OAuthError at OAuth endpoints
   */
  read(request: HttpRequest): Promise<Body>
  describe(): DescribedBody
}

/** What is sent for a JSON body of this schema. */
type SentAs<Schema extends z.ZodType, Required extends boolean> =
  | Readable<z.input<Schema>>
  | (Required extends true ? never : undefined)

/** A JSON body of this schema. With `required: false` an empty body counts as `{}`. */
export const jsonBody = <Schema extends z.ZodType, const Required extends boolean = true>(
  schema: Schema,
  { required, ...described }: { readonly required?: Required } & Pick<DescribedBody, 'mediaTypes'> = {},
): BodyReader<z.output<Schema>, SentAs<Schema, Required>> => ({
  read: (request) => readBodyAs(request, schema),
  describe: () => ({ schema: jsonSchemaOf(schema), required: required !== false, ...described }),
})

/**
 * A credential that an endpoint reads itself, instead of those of a scheme: from its body, its path, the Authorization
 * header, or the request that a proxy asks about.
 */
export interface OwnCredential<Found> {
  /** For tests: the possible refusals of a route depend on it. */
  readonly kind: 'password' | 'token' | 'client' | 'session' | 'forwarded' | 'service' | 'browser'
  /** True when browsers send it without being asked. Then the cross-site rule runs before the credential is read. */
  readonly isSentByBrowsers?: boolean
  /**
   * Runs at the step where other endpoints authenticate their caller.
   *
   * @throws ProblemError 400, 401, 429; Unavailable
   */
  find(request: HttpRequest, authenticate: Authenticate): Promise<Found> | Found
  /** Problem code → challenge (RFC 9110 §11.6.1). */
  readonly challenges?: Readonly<Record<string, HttpResponse['headers']>>
  /** Writes refusals in another form than problem documents. Undefined: the refusal becomes a problem document. */
  refusal?(request: HttpRequest, error: unknown): HttpResponse | undefined
  /** The problem codes that its users should know, for the documentation. */
  readonly problems: readonly string[]
  /** Names of its security schemes, for the documentation. Undefined: the schemes of all callers. */
  readonly security?: readonly string[]
}

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
  /** Header fields beside those of all responses of the server. */
  readonly headers?: HttpResponse['headers']
}

/** A redirect of the browser after a form. */
export interface Redirect extends ReplyHead {
  readonly status: 303
}

/** The result of a handler: a body of the declared response, or no body. */
export type Reply<Response extends Schema> = Response extends z.ZodType
  ? (ReplyHead & { readonly status?: never; readonly body: Readable<z.output<Response>> }) | Redirect
  : (ReplyHead & { readonly status?: never }) | Redirect | undefined

type Handled<Response extends Schema> =
  | Promise<Reply<Response>>
  | Reply<Response>
  | (Response extends z.ZodType ? never : Promise<void>)

/** The members that all endpoints with a caller or a credential have. */
interface Steps<Path extends string, Found, Body, Query, Checked, Response extends Schema>
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
   * @throws ProblemError 400, 404 for ids that cannot exist, 422
   */
  check?(request: EndpointInput<Path, Found, Body, Query>): Checked | Promise<Checked>
  /**
   * The audit entry of the outcome, also of refusals by `check` and by the right. The first change that `handle` makes
   * stores it. Undefined: only changes with entries of their own have some.
   */
  audit?(request: EndpointInput<Path, Found, Body, Query>): ChangeEntry | undefined
  /** True: `handle` says itself what its changes are part of. */
  readonly auditsItself?: true
  /** @throws ProblemError, Unavailable */
  handle(request: EndpointInput<Path, Found, Body, Query> & { readonly checked: Checked }): Handled<Response>
}

/** An endpoint for callers of every scheme. */
export interface CallerEndpoint<Path extends string, Body, Query, Checked, Response extends Schema>
  extends Steps<Path, Caller, Body, Query, Checked, Response> {
  /** The right that the caller needs. `own-account` needs no right, but refuses narrowed credentials. */
  readonly right?: `${string}.${string}` | 'own-account'
  /** The user whose account the request is about. Callers need no right for their own account. */
  account?(request: EndpointInput<Path, Caller, Body, Query>): string
  /** Rights that the caller grants or lends with this request. The caller must have them, beside `right`. */
  grants?(request: EndpointInput<Path, Caller, Body, Query> & { readonly checked: Checked }): readonly string[]
}

/** An endpoint with its own credential: a password, a token, a client secret or a session key. */
export interface CredentialEndpoint<Path extends string, Found, Body, Query, Checked, Response extends Schema>
  extends Steps<Path, Found, Body, Query, Checked, Response> {
  readonly caller: OwnCredential<Found>
}

/**
 * A public document without a caller or a secret. So the rules for transport and cross-site requests do not apply, and
 * caches may store it.
 */
export interface PublicEndpoint extends Description<Schema>, Typed<never> {
  readonly caller: 'none'
  readonly method: 'GET'
  readonly path: string
  handle(request: HttpRequest): Promise<HttpResponse> | HttpResponse
}

type AnyCallerEndpoint = CallerEndpoint<string, unknown, unknown, unknown, Schema>

/** Any endpoint with a caller or a credential, as the pipeline runs it. */
export interface ClosedEndpoint
  extends Steps<string, unknown, unknown, unknown, unknown, Schema>,
    Pick<AnyCallerEndpoint, 'right' | 'account' | 'grants'> {
  /** Undefined for an endpoint for callers of every scheme. */
  readonly caller?: OwnCredential<unknown>
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

/** The status of success. */
export const statusOf = ({ status, response }: Pick<Endpoint, 'status' | 'response'>): number =>
  status ?? (response ? 200 : 204)

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
export const definePublicEndpoint = (endpoint: Omit<PublicEndpoint, 'caller' | 'method'>): PublicEndpoint => ({
  ...endpoint,
  caller: 'none',
  method: 'GET',
})
