import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gather } from '../../../../shared/platform/concurrency/gather.ts'
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import { createTracing } from '../../../../shared/platform/tracing/opentelemetry/create-tracing.ts'
import { createExporter } from '../../../../shared/platform/tracing/opentelemetry/exporter.ts'
import { openTracing } from '../../../../shared/platform/tracing/opentelemetry/open-tracing.ts'
import type { Tracing } from '../../../../shared/platform/tracing/tracing.ts'
import type { TracingSettings } from '../../../../shared/platform/tracing/tracing-settings.ts'
import { sourceFiles } from '../../../architecture/source.ts'
import { startTraceCollector, type TraceCollector } from '../../../support/processes/trace-collector.ts'

let collector: TraceCollector
let tracing: Tracing
let lines: string[]

const log = {
  warn: (fields: unknown, line: string) => void lines.push(`${line} ${JSON.stringify(fields)}`),
  info: (fields: unknown, line: string) => void lines.push(`${line} ${JSON.stringify(fields)}`),
} as never
const server = { service: 'server', version: '1', instance: 'one', log }
const settings = (): TracingSettings => ({
  url: `${collector.url}/v1/traces`,
  headers: {},
  serviceName: undefined,
  resource: {},
  sampler: 'parentbased_always_on',
  ratio: 1,
})

beforeEach(async () => {
  collector = await startTraceCollector()
  lines = []
  tracing = createTracing(settings(), server)
})
afterEach(async () => {
  await tracing.close()
  await collector.close()
})

/** Answers a request of this trace by `work`. */
const request = (digit: string, work: () => Promise<unknown>) => {
  const fields: Record<string, string> = { traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01` }
  const asked = {
    method: 'GET',
    traceId: digit.repeat(32),
    peer: { isHttps: true },
    header: (name: string) => fields[name],
  }
  return tracing.traceRequest(asked as unknown as HttpRequest, '/things/:id', async () => {
    await work()
    return { status: 200, headers: {}, body: null }
  })
}
/** A request to another server, which takes this time. */
const call = (name: string, pauseMs: number) => {
  const fetch = tracing.fetch(async () => {
    await pause(pauseMs)
    return new Response()
  })
  return () => fetch('http://other.example', { method: name })
}
const spansOf = (name: string) => collector.spans.filter((span) => span.name === name)

describe('spans', () => {
  it('belong to the request whose call began a batch, not to the one that ran before', async () => {
    const batch = call('BATCH', 5)
    const runBatch = async (items: readonly string[]) => {
      await batch()
      return items
    }
    const one = gather<string, string>({ run: runBatch, isItemError: () => false, maxItems: 1, maxInFlight: 1 })
    await Promise.all(['1', '2', '3'].map((digit) => request(digit, () => one(digit))))
    await tracing.close()
    expect(spansOf('BATCH').map(({ traceId }) => traceId[0])).toEqual(['1', '2', '3'])
  })

  it('end with the answer: what runs on afterwards is no part of the trace', async () => {
    let late: Promise<unknown> | undefined
    const ask = call('GET', 1)
    await request('1', async () => {
      await ask()
      late = pause(20).then(ask)
    })
    await late
    await ask()
    await tracing.close()
    expect(spansOf('GET')).toHaveLength(1)
  })

  it('say that work failed by a word, never by the message', async () => {
    const ask = tracing.fetch(() => Promise.reject(new TypeError('with a secret')))
    await request('1', () => expect(ask('http://other.example')).rejects.toThrow('with a secret'))
    await tracing.close()
    expect(spansOf('GET')[0]).toMatchObject({ status: 2, attributes: { 'error.type': 'TypeError' } })
    expect(collector.text()).not.toContain('secret')
  })

  it('of a message to a receiver begin a trace, which the message carries', async () => {
    const sent: Readonly<Record<string, string>>[] = []
    const plain = {
      close: () => undefined,
      send: async ({ fields }: { readonly fields: Readonly<Record<string, string>> }) => {
        sent.push(fields)
        return { status: 503, retryAfter: undefined }
      },
    }
    const url = 'https://receiver.example/a/secret?token=secret'
    await tracing.post(plain).send({ url, fields: { 'content-type': 'application/json' }, body: 'secret' })
    await tracing.close()
    const [span] = spansOf('POST webhook')
    expect(span).toMatchObject({ kind: 3, status: 2, parentSpanId: undefined })
    expect(span?.attributes).toMatchObject({ 'server.address': 'receiver.example', 'http.response.status_code': 503 })
    expect(sent[0]?.traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`)
    expect(collector.text()).not.toContain('secret')
  })
})

describe('an outage of the collector', () => {
  it('is one line in the log, and its end another one', async () => {
    const headers = { authorization: 'a secret' }
    const exporter = createExporter({ url: `${collector.url}/?key=secret`, headers }, server)
    const send = () => new Promise<number>((resolve) => exporter.export([], ({ code }) => resolve(code)))
    collector.answer(400)
    expect([await send(), await send()]).toEqual([1, 1])
    collector.answer(200)
    expect(await send()).toBe(0)
    await exporter.shutdown()
    expect(lines).toEqual([
      'Traces cannot be sent: spans are lost {"service":"server","reason":"the collector answered 400"}',
      'Traces are sent again {"service":"server"}',
    ])
  })
})

describe('without settings', () => {
  it('there are no traces', async () => {
    expect(await openTracing(undefined, server)).toBeUndefined()
  })

  it('nothing of OpenTelemetry is loaded: one file asks for it, when there are settings', () => {
    const files = sourceFiles()
    const folder = 'shared/platform/tracing/opentelemetry/'
    const users = files.filter(({ imports }) => imports.some((name) => name.startsWith('@opentelemetry/')))
    expect(users.length).toBeGreaterThan(3)
    expect(users.filter(({ path }) => !path.startsWith(folder))).toEqual([])
    const implementing = new Set(users.map(({ path }) => path))
    const loading = files.filter(
      ({ path, importsAtOnce }) => !implementing.has(path) && importsAtOnce.some((name) => implementing.has(name)),
    )
    expect(loading.map(({ path }) => path)).toEqual([])
  })
})
