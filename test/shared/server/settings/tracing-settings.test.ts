import { describe, expect, it } from 'vitest'
import { readAuthConfig } from '../../../../auth-server/config.ts'
import { readDealConfig } from '../../../../deal-server/config.ts'

const endpoint = 'http://collector:4318'
const read = (environment: Readonly<Record<string, string>>) => readDealConfig('together', environment)
const withEndpoint = (environment: Readonly<Record<string, string>>) =>
  read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...environment })

describe('the settings of traces', () => {
  it('are the same for both servers, and none without an endpoint', () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
    expect(readAuthConfig('together', environment).config.tracing).toEqual(read(environment).config.tracing)
    expect(read({}).config.tracing).toBeUndefined()
    expect(read({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' }).config.tracing).toBeUndefined()
  })

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c' }, 'https://c/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c/below/' }, 'https://c/below/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/own' }, 'https://c/own'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/own' }, 'https://c/own'],
  ])('%j leads to %s', (environment: Readonly<Record<string, string>>, url) => {
    expect(read(environment).config.tracing?.url).toBe(url)
  })

  it('are off when the SDK is disabled', () => {
    expect(withEndpoint({ OTEL_SDK_DISABLED: 'true' }).config.tracing).toBeUndefined()
    expect(withEndpoint({ OTEL_SDK_DISABLED: 'false' }).config.tracing).toBeDefined()
  })

  it('read lists of pairs and the sampler', () => {
    const { config, problems } = withEndpoint({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, x-tenant=a=b',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,empty=',
      OTEL_SERVICE_NAME: 'deals of the north',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.05',
    })
    expect(problems).toEqual([])
    expect(config.tracing).toEqual({
      url: `${endpoint}/v1/traces`,
      headers: { authorization: 'Basic YTpi', 'x-tenant': 'a=b' },
      resource: { 'deployment.environment.name': 'test', empty: '' },
      serviceName: 'deals of the north',
      sampler: 'traceidratio',
      ratio: 0.05,
    })
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a secret without a name'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'name=a%0asecret'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a name=secret'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=%zz'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', '-1'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half'],
    ['OTEL_SDK_DISABLED', 'perhaps'],
  ])('%s=%s ends the start, named and never shown', (variable, value) => {
    const { problems } = withEndpoint({ [variable]: value })
    expect(problems.map((problem) => problem.variable)).toEqual([variable])
    expect(JSON.stringify(problems)).not.toContain(value)
  })
})
