/** A request to a service, whatever framework has received it, as schemes see it. */
import type { HttpRequest, NamedCaller } from '../../../shared/platform/http/request.ts'
import type { Peer } from '../../../shared/platform/http/transport.ts'
import { ownTraceId, traceIdOf } from '../../../shared/platform/trace-context.ts'

/** A request as it was received. */
export interface Received {
  readonly method: string
  /** Path and query, as on the request line. */
  readonly target: string
  /** The value of a header field (its name in lower case). Several lines are joined by commas. */
  header(name: string): string | undefined
  /** The value of each line of this field, in order. */
  headerLines(name: string): string[]
  /** Reads the whole body, which others can read too. @throws ProblemError `body-too-large` beyond the limit */
  readBody(): Promise<Buffer>
}

/** Who sent a request, and the id of the request. */
export interface Sender {
  readonly peer: Peer
  /** UUIDv7. */
  readonly requestId: string
}

/** Makes the request of a service. */
export const serviceRequest = (received: Received, sender: Sender): HttpRequest => new ServiceRequest(received, sender)

class ServiceRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly rawQuery: string
  readonly pathParameters = {}
  readonly requestId: string
  readonly peer: Peer
  caller: NamedCaller | undefined = undefined
  readonly #received: Received
  #query: URLSearchParams | undefined
  #body: Promise<Buffer> | undefined
  #added: readonly (readonly [string, string])[] = nothingAdded

  constructor(received: Received, { peer, requestId }: Sender) {
    const { method, target } = received
    const mark = target.indexOf('?')
    this.method = method
    this.path = mark < 0 ? target : target.slice(0, mark)
    this.rawQuery = mark < 0 ? '' : target.slice(mark + 1)
    this.requestId = requestId
    this.peer = peer
    this.#received = received
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.rawQuery)
    return this.#query
  }

  get traceId(): string {
    return traceIdOf(this.header('traceparent')) ?? ownTraceId(this.requestId)
  }

  header(name: string): string | undefined {
    return this.#received.header(name)
  }

  headerLines(name: string): string[] {
    return this.#received.headerLines(name)
  }

  readBody(): Promise<Buffer> {
    this.#body ??= this.#received.readBody()
    return this.#body
  }

  addResponseHeader(name: string, value: string): void {
    this.#added = [...this.#added, [name, value]]
  }

  get addedResponseHeaders(): readonly (readonly [string, string])[] {
    return this.#added
  }

  // Limits, routes and connections are of the framework.
  isCredentialParameter(): boolean {
    return false
  }

  async hasClosed(): Promise<boolean> {
    return false
  }

  refuseLargeBody(): void {}
}

const nothingAdded: readonly (readonly [string, string])[] = []
