/** The definition of an endpoint below `/internal`: an exchange and its handler. */
import type { z } from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { PathParameters } from '../../../shared/platform/http/server/routes.ts'
import type { StreamBody } from '../../../shared/platform/http/stream.ts'
import type { Exchange } from '../../../shared/protocol/internal-api/exchange.ts'
import type { ProvenService } from '../../services/service-secrets.ts'
import type { InternalClient } from './internal-client.ts'

type Form = z.ZodType | undefined

/** A request, verified and parsed. */
export interface InternalInput<Path extends string, Body> {
  /** The method, and what names the request in log lines. */
  readonly request: Pick<HttpRequest, 'method' | 'requestId' | 'traceId'>
  readonly path: PathParameters<Path>
  /** The decoded parameters in their order. */
  readonly query: HttpRequest['query']
  readonly body: Body
  readonly client: InternalClient
}

/** The service that asks, at an exchange that is open to services alone. */
export function serviceIn({ client: { proven } }: { readonly client: InternalClient }): ProvenService {
  if (proven) return proven
  throw new TypeError('the pair does not get this far')
}

/** The result of a handler. Without a body and a stream the status is 204. */
export interface InternalReply<Body> {
  readonly body: Body
  readonly headers?: HttpResponse['headers']
  /** Writes the body piece by piece. The MAC of the response covers its head alone. */
  readonly stream?: StreamBody
}

/** An exchange and its handler. */
export interface InternalEndpoint<
  Path extends string = string,
  Request extends Form = Form,
  Response extends Form = Form,
> {
  readonly exchange: Exchange<Path, Request, Response>
  /** @throws ProblemError, Unavailable */
  handle(
    request: InternalInput<Path, Request extends z.ZodType ? z.output<Request> : undefined>,
  ): Promise<InternalReply<Response extends z.ZodType ? z.input<Response> : undefined>>
}

/** Defines the endpoint of an exchange. */
export const defineInternalEndpoint = <
  const Path extends string,
  Request extends Form = undefined,
  Response extends Form = undefined,
>(
  exchange: Exchange<Path, Request, Response>,
  handle: InternalEndpoint<Path, Request, Response>['handle'],
): InternalEndpoint => ({ exchange, handle })
