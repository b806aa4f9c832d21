/** A collector of traces, as a server sends them to one: OTLP over HTTP, as JSON. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span that came. */
export interface CollectedSpan {
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** 2: an error. */
  readonly status: number
}

/** The collector. */
export interface TraceCollector {
  /** What OTEL_EXPORTER_OTLP_ENDPOINT is set to. */
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** The bodies of all requests. */
  text(): string
  /** The header fields and paths of all requests. */
  readonly requests: readonly { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[]
  /** The status of further answers. */
  answer(status: number): void
  close(): Promise<void>
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface ExportedSpans {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[]
  }[]
}

interface ExportedSpan extends Omit<CollectedSpan, 'service' | 'attributes' | 'status'> {
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code: number }
}

const read = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const spansIn = ({ resourceSpans }: ExportedSpans): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, status, ...span }) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        name: span.name,
        kind: span.kind,
        service: String(read(resource.attributes)['service.name']),
        attributes: read(attributes),
        status: status.code,
      })),
    ),
  )

/** Starts a collector on a free port. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const [bodies, spans, requests]: [string[], CollectedSpan[], TraceCollector['requests'][number][]] = [[], [], []]
  let status = 200
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    requests.push({ path: request.url, headers: request.headers })
    if (status === 200) spans.push(...spansIn(JSON.parse(body) as ExportedSpans))
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    text: () => bodies.join('\n'),
    answer: (next) => {
      status = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
