/** What an endpoint below `/internal` says of itself: its exchange, and what answers it. */
import type { z } from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { PathParameters } from '../../../shared/platform/http/server/routes.ts'
import type { Exchange } from '../../../shared/protocol/internal-api/exchange.ts'

type Form = z.ZodType | undefined

/** A requestBody of a deal server. */
export interface InternalInput<Path extends string, Body> {
  readonly path: PathParameters<Path>
  /** In order, decoded. */
  readonly query: HttpRequest['query']
  readonly body: Body
  /** The service secret that the asker holds: what must stay secret in the answer is sealed under it. */
  readonly secret: string
}

/** What is answered; 204 without a body. */
export interface InternalReply<Body> {
  readonly body: Body
  readonly headers?: HttpResponse['headers']
}

/** An exchange and its answer. */
export interface InternalEndpoint<
  Path extends string = string,
  Question extends Form = Form,
  Reply extends Form = Form,
> {
  readonly exchange: Exchange<Path, Question, Reply>
  /** @throws ProblemError, Unavailable */
  handle(
    request: InternalInput<Path, Question extends z.ZodType ? z.output<Question> : undefined>,
  ): Promise<InternalReply<Reply extends z.ZodType ? z.input<Reply> : undefined>>
}

/** The endpoint that answers an exchange. */
export const answering = <const Path extends string, Question extends Form, Reply extends Form>(
  exchange: Exchange<Path, Question, Reply>,
  handle: InternalEndpoint<Path, Question, Reply>['handle'],
): InternalEndpoint => ({ exchange, handle })
