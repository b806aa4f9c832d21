import { afterAll, beforeAll, expect, it } from 'vitest'
import { rememberSecret, secretsIn } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/processes/free-port.ts'
import {
  type CollectedSpan,
  startTraceCollector,
  type TraceCollector,
} from '../../support/processes/trace-collector.ts'
import { describeBackends, describeEmbedded, type OpenBackend } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'
import { startReceiver, type WebhookReceiver } from '../../support/worlds/webhook-receiver.ts'

const traceId = 'a'.repeat(16) + 'b'.repeat(16)
const namedTraceId = 'd'.repeat(32)
const clientSpan = 'c'.repeat(16)
const credential = `Basic ${Buffer.from(`alice:${passwordOf('alice')}`).toString('base64')}`

interface Line {
  readonly route?: string
  readonly requestId?: string
  readonly traceId?: string
}

describeBackends('the spans of a request', (openBackend: OpenBackend) => {
  let collector: TraceCollector
  let stack: Stack
  let dealId: string
  let token: string
  let refused: string
  let receiver: WebhookReceiver

  beforeAll(async () => {
    collector = await startTraceCollector()
    const header = 'a secret of the collector'
    rememberSecret(header)
    stack = await openStack(openBackend, {
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${encodeURIComponent(header)}`,
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=tests',
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      },
    })
    token = (await stack.logIn('carol')).access
    receiver = await startReceiver()
    const { access: admin } = await stack.logIn('admin')
    const webhook = await stack.deal.send('/rest/v1/webhooks', { token: admin, json: { url: receiver.url } })
    expect(webhook.status, webhook.text).toBe(201)
    rememberSecret(String(webhook.body.secret))
    receiver.secrets.push(String(webhook.body.secret))
    const made = await stack.deal.send('/rest/v1/deals', {
      json: { name: 'a name of a customer', price: 1234 },
      token: (await stack.logIn('alice')).access,
    })
    dealId = String(made.headers.get('location')).slice(-36)
    rememberSecret(credential.slice(6))
    const held = await stack.deal.send(`/rest/v1/deals/${dealId}/hold?validateOnly=false`, {
      method: 'PUT',
      json: { reason: 'a reason of a customer' },
      headers: { authorization: credential, traceparent: `00-${traceId}-${clientSpan}-01` },
    })
    expect(held.status).toBe(200)
    await stack.deal.send(`/rest/v1/deals/${dealId}/unhold`, {
      method: 'PUT',
      headers: {
        authorization: credential,
        traceparent: `00-${namedTraceId}-${clientSpan}-01`,
        'idempotency-key': 'k',
      },
    })
    const closed = await stack.deal.send('/rest/v1/deals?noSuchParameter=a-value-of-a-client', { token })
    refused = String(closed.headers.get('x-request-id'))
    await eventually(() => expect(receiver.taken().length).toBeGreaterThanOrEqual(2))
    // Closing sends what has not been sent.
    await stack.close()
  })
  afterAll(() => Promise.all([collector.close(), receiver.close()]))

  const inTrace = () => collector.spans.filter((span) => span.traceId === traceId)
  const only = (service: string, name: string): CollectedSpan => {
    const found = inTrace().filter((span) => span.service === service && span.name === name)
    expect(found, name).toHaveLength(1)
    return found[0] as CollectedSpan
  }
  const parentsOf = (span: CollectedSpan): string[] => {
    const parent = inTrace().find(({ spanId }) => spanId === span.parentSpanId)
    return parent ? [parent.name, ...parentsOf(parent)] : [String(span.parentSpanId)]
  }

  it('are one trace through both servers, each below what it was made for', () => {
    const hold = 'PUT /rest/v1/deals/:id/hold'
    expect(only('keyhold-deal', hold).parentSpanId).toBe(clientSpan)
    // The deal is loaded, and what the command did is stored.
    const statements = inTrace().filter(({ service, name }) => service === 'keyhold-deal' && name === 'postgresql')
    expect(statements.map(parentsOf)).toEqual([
      [hold, clientSpan],
      [hold, clientSpan],
    ])
    const verify = 'POST /internal/verify-password'
    expect(parentsOf(only('keyhold-auth', verify))).toEqual(['POST', hold, clientSpan])
    const read = inTrace().filter(({ service, name }) => service === 'keyhold-auth' && name === 'postgresql')
    expect(read.map(parentsOf)).toContainEqual([verify, 'POST', hold, clientSpan])
  })

  it('are one for the reads of a command with an id, which leave together', () => {
    const spans = collector.spans.filter((span) => span.traceId === namedTraceId)
    const ofDeals = spans.filter(({ service, name }) => service === 'keyhold-deal' && name === 'postgresql')
    // The second one stores what the command did.
    expect(ofDeals).toHaveLength(2)
  })

  it('follow the semantic conventions of HTTP and databases', () => {
    const hold = only('keyhold-deal', 'PUT /rest/v1/deals/:id/hold')
    expect(hold).toMatchObject({ kind: 2, status: 0 })
    expect(hold.attributes).toEqual({
      'http.request.method': 'PUT',
      'http.route': '/rest/v1/deals/:id/hold',
      'http.response.status_code': 200,
      'url.scheme': 'http',
    })
    const asked = inTrace().find(({ name }) => name === 'POST')
    expect(asked).toMatchObject({ kind: 3, attributes: { 'http.response.status_code': 200 } })
    expect(asked?.attributes['server.port']).toBe(stack.auth.port)
    const statement = inTrace().find(({ name }) => name === 'postgresql')
    expect(statement).toMatchObject({ kind: 3, attributes: { 'db.system.name': 'postgresql' } })
  })

  it('have the trace id of the log line, which is the id of the request where the client has no trace', () => {
    const lines = stack.logLines.map((line) => JSON.parse(line) as Line).filter(({ route }) => route !== undefined)
    const logged = lines.map((line) => line.traceId)
    const traced = collector.spans.filter(({ kind }) => kind === 2).map((span) => span.traceId)
    expect(logged.toSorted()).toEqual(traced.toSorted())
    expect(traced).toContain(refused.replaceAll('-', ''))
  })

  it('say the code of a refusal, which is no error', () => {
    const own = collector.spans.filter((span) => span.traceId === refused.replaceAll('-', ''))
    const request = own.find(({ kind }) => kind === 2)
    expect(request?.status).toBe(0)
    expect(request?.attributes).toMatchObject({ 'http.response.status_code': 400, 'problem.code': 'invalid-parameter' })
  })

  it('of a webhook begin a trace, which the message carries', () => {
    const sent = collector.spans.filter(({ name }) => name === 'POST webhook')
    const carried = sent.map((span) => `00-${span.traceId}-${span.spanId}-01`)
    expect(carried.toSorted()).toEqual(receiver.received.map(({ headers }) => headers.traceparent).toSorted())
    expect(sent.map(({ parentSpanId }) => parentSpanId)).toEqual(sent.map(() => undefined))
  })

  it('name no secret, no user, no deal, and nothing that a client sent', () => {
    const text = collector.text()
    expect(text).toContain('deployment.environment.name')
    expect(secretsIn(text)).toEqual([])
    const sent = ['alice', 'carol', dealId, 'customer', 'validateOnly', 'noSuchParameter', 'a-value-of-a-client']
    expect(sent.filter((one) => text.includes(one))).toEqual([])
  })

  it('are sent to the path of OTLP with the header fields of the setting', () => {
    expect(collector.requests.length).toBeGreaterThan(0)
    for (const { path, headers } of collector.requests) {
      expect(path).toBe('/v1/traces')
      expect(headers['x-collector-key']).toBe('a secret of the collector')
    }
  })
})

describeEmbedded('servers whose collector is away', (openBackend) => {
  it('answer as always, and end in time', async () => {
    const endpoint = `http://127.0.0.1:${await freePort()}`
    const stack = await openStack(openBackend, { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } })
    const { access: token } = await stack.logIn('alice')
    const { status } = await stack.deal.send('/rest/v1/deals', { token })
    expect(status).toBe(200)
    const started = performance.now()
    await stack.close()
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it('record nothing when they are told so, and pass the trace on unrecorded', async () => {
    const collector = await startTraceCollector()
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER: 'always_off' }
    const asked: (string | null)[] = []
    const spy: typeof fetch = (input, init) => {
      asked.push(new Headers(init?.headers).get('traceparent'))
      return fetch(input, init)
    }
    const stack = await openStack(openBackend, { environment, dealServer: () => ({ fetch: spy }) })
    const { status, headers } = await stack.deal.send('/rest/v1/deals', { headers: { authorization: credential } })
    expect(status).toBe(200)
    const own = String(headers.get('x-request-id')).replaceAll('-', '')
    expect(asked).toContainEqual(expect.stringMatching(new RegExp(`^00-${own}-[0-9a-f]{16}-00$`)))
    await stack.close()
    expect(collector.requests).toEqual([])
    await collector.close()
  })
})
