import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readAuthConfig } from '../../../auth-server/config.ts'
import { readDealConfig } from '../../../deal-server/config.ts'
import { codeSpansIn, rowsIn } from '../../docs/markdown.ts'
import { hasProgram, read, root, run } from './tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-manifests-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const settings = new Set(rowsIn(read('docs/settings.md')).flatMap(([name = '']) => codeSpansIn(name)))
/** Of Node.js itself. */
const ofNode = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS']
const unknownSettings = (names: readonly string[]) =>
  names.filter((name) => !settings.has(name) && !ofNode.includes(name))

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly command: readonly string[]
  readonly securityContext: object
}
interface Pod {
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: object
  readonly containers: readonly [Container]
}
interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod }
    readonly selector: { readonly matchLabels: object }
    readonly ports: readonly { readonly name: string; readonly port: number }[]
    readonly podSelector: { readonly matchLabels?: object }
    readonly rules: readonly { readonly http: { readonly paths: readonly IngressPath[] } }[]
  }
}
interface IngressPath {
  readonly path: string
  readonly backend: { readonly service: { readonly name: string } }
}

const kubernetes = join(root, 'deploy/kubernetes')
const resourcesOf = (text: string): Resource[] => parseAllDocuments(text).map((one) => one.toJS() as Resource)
const base = readdirSync(join(kubernetes, 'base'))
  .filter((name) => name !== 'kustomization.yaml')
  .flatMap((name) => resourcesOf(readFileSync(join(kubernetes, 'base', name), 'utf8')))
const [ingress] = resourcesOf(read('deploy/kubernetes/overlays/example/ingress.yaml'))
const ofKind = (kind: string) => base.filter((one) => one.kind === kind)
const named = (kind: string, name: string) => ofKind(kind).find(({ metadata }) => metadata.name === name)

describe('the manifests of Kubernetes', () => {
  it('name all files of their folder', () => {
    const { resources } = parse(read('deploy/kubernetes/base/kustomization.yaml')) as { resources: string[] }
    expect([...resources, 'kustomization.yaml'].sort()).toEqual(readdirSync(join(kubernetes, 'base')).sort())
  })

  it.each(['auth', 'deal'])('run the %s server with settings, ports and paths that exist', (name) => {
    const deployment = named('Deployment', `keyhold-${name}`)
    const pod = deployment?.spec.template.spec
    const [container] = pod?.containers ?? []
    const environment = Object.fromEntries(container?.env.map((one) => [one.name, one.value]) ?? [])
    expect(unknownSettings(Object.keys(environment))).toEqual([])
    expect(container?.command).toEqual(['node', `dist/${name}-server/main.js`])
    const port = Number(environment[`${name.toUpperCase()}_PORT`])
    expect(container?.ports).toEqual([
      { name: 'http', containerPort: port },
      { name: 'metrics', containerPort: Number(environment.METRICS_PORT) },
    ])
    expect(named('Service', `keyhold-${name}`)?.spec.ports[0]).toMatchObject({ port, targetPort: 'http' })
    expect(container?.startupProbe.httpGet).toEqual({ path: '/healthz', port: 'http' })
    expect(container?.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'http' })
    expect(container?.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' })
    // The server itself waits ten seconds for requests under way (docs/contract/operators.md#listeners).
    expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(Number(environment.DRAIN_SECONDS) + 10)
    expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const labels = deployment?.spec.template.metadata.labels
    expect(deployment?.spec.selector.matchLabels).toEqual(labels)
    expect(named('PodDisruptionBudget', `keyhold-${name}`)?.spec.selector.matchLabels).toEqual(labels)
    expect(named('Service', `keyhold-${name}`)?.spec.selector).toEqual(labels)
    expect(named('NetworkPolicy', `keyhold-${name}`)?.spec.podSelector.matchLabels).toEqual(labels)
  })

  it('lead each path to the server that docs/contract.md says', () => {
    const paths = ingress?.spec.rules[0]?.http.paths ?? []
    const toDeals = paths.filter(({ backend }) => backend.service.name === 'keyhold-deal').map(({ path }) => path)
    const [, atProxy = ''] = /acl deal path (.*)/.exec(read('deploy/haproxy/haproxy.cfg')) ?? []
    expect(toDeals).toEqual(atProxy.split(' '))
    const toNone = paths.filter(({ backend }) => backend.service.name === 'keyhold-nowhere').map(({ path }) => path)
    expect(toNone).toEqual(['/internal', '/verify'])
    expect(paths.at(-1)).toMatchObject({ path: '/', backend: { service: { name: 'keyhold-auth' } } })
  })

  it.skipIf(!hasProgram('kubectl', false))('are built by kustomize, but not without the files of secrets', () => {
    cpSync(kubernetes, join(folder, 'kubernetes'), { recursive: true })
    const overlay = join(folder, 'kubernetes/overlays/example')
    for (const name of ['auth', 'deal']) rmSync(join(overlay, `secrets/${name}.env`), { force: true })
    expect(run('kubectl', ['kustomize', overlay]).status).not.toBe(0)
    for (const name of ['auth', 'deal']) writeFileSync(join(overlay, `secrets/${name}.env`), 'SERVICE_SECRET=x\n')
    const { status, stdout, output } = run('kubectl', ['kustomize', overlay])
    expect(status, output).toBe(0)
    const kinds = resourcesOf(stdout).map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['ConfigMap', 'Deployment', 'Ingress', 'NetworkPolicy', 'Secret']))
  })

  it('have settings of both servers in the overlay, which the servers refuse until they are replaced', () => {
    const overlay = parse(read('deploy/kubernetes/overlays/example/kustomization.yaml')) as {
      configMapGenerator: [{ literals: string[] }]
    }
    const literals = overlay.configMapGenerator[0].literals.map((one) => one.split('='))
    expect(unknownSettings(literals.map(([name = '']) => name))).toEqual([])
    const environment = Object.fromEntries(literals)
    for (const readConfig of [readAuthConfig, readDealConfig]) {
      const { problems } = readConfig('alone', environment)
      expect(problems.map(({ variable }) => variable)).toContain('TRUST_PROXY')
    }
  })
})

describe('Docker Compose', () => {
  const compose = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { environment?: Record<string, string>; profiles?: string[]; volumes?: string[] }>
  }

  it('gives servers settings that exist, and nothing else', () => {
    for (const name of ['auth', 'deal-1', 'deal-2']) {
      expect(unknownSettings(Object.keys(compose.services[name]?.environment ?? {}))).toEqual([])
    }
  })

  it('gives the proxy all that its configuration names, in the profile tls alone', () => {
    const { environment = {}, profiles, volumes = [] } = compose.services.proxy ?? {}
    const wanted = new Set([...read('deploy/haproxy/haproxy.cfg').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name))
    expect(Object.keys(environment).sort()).toEqual([...wanted].sort())
    expect(profiles).toEqual(['tls'])
    expect(volumes.map((one) => one.split(':')[0])).toContain('./deploy/haproxy/haproxy.cfg')
  })

  /** The file as Docker Compose reads it with these variables. */
  const composeWith = (variables: Readonly<Record<string, string>>) =>
    parse(
      read('docker-compose.yml').replaceAll(/\$\{(\w+):-(.*?)\}/g, (_, name, fallback) => variables[name] || fallback),
      { merge: true },
    ) as { services: Record<string, { environment: Record<string, unknown>; ports?: string[] }> }
  const variablesForTls = Object.fromEntries(
    [...read('deploy/haproxy/compose.env').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )

  it.each([
    ['without variables', {}],
    ['with those of the profile tls', variablesForTls],
  ])('publishes ports on this machine alone %s', (_, variables) => {
    const ports = Object.values(composeWith(variables).services).flatMap((one) => one.ports ?? [])
    expect(ports).toHaveLength(5)
    expect(ports.filter((one) => !one.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('lets the profile tls listen elsewhere by KEYHOLD_BIND, the proxy alone', () => {
    const { services } = composeWith({ ...variablesForTls, KEYHOLD_BIND: '0.0.0.0' })
    const open = Object.entries(services).filter(([, { ports = [] }]) =>
      ports.some((one) => one.startsWith('0.0.0.0:')),
    )
    expect(open.map(([name]) => name)).toEqual(['proxy'])
  })

  it('accepts no credential over plain HTTP under the profile tls, and demands a second factor of administrators', () => {
    const { services } = composeWith(variablesForTls)
    for (const [name, readConfig] of [
      ['auth', readAuthConfig],
      ['deal-1', readDealConfig],
      ['deal-2', readDealConfig],
    ] as const) {
      const environment = Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [key, String(value)])
      const { config, problems } = readConfig('alone', Object.fromEntries(environment))
      expect(config.transport.allowInsecureHttp).toBe(false)
      expect(problems.filter(({ variable }) => variable === 'AUTH_URL')).toEqual([])
      if ('secondFactorRoles' in config) expect(config.secondFactorRoles).toEqual(['admin'])
    }
  })

  it.skipIf(!hasProgram('haproxy', false))('has a proxy with these variables, and none without', () => {
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-keyout', key]
    expect(run('openssl', [...made, '-out', certificate]).status).toBe(0)
    appendFileSync(certificate, readFileSync(key))
    const check = (variables: Readonly<Record<string, string>>) => {
      const environment = { ...composeWith(variables).services.proxy?.environment, KEYHOLD_CERTIFICATE: certificate }
      const text = Object.entries(environment).map(([name, value]) => [name, String(value ?? '')])
      return run('haproxy', ['-c', '-f', 'deploy/haproxy/haproxy.cfg'], Object.fromEntries(text))
    }
    expect(check(variablesForTls).output).toContain('Configuration file is valid')
    expect(check({}).status).not.toBe(0)
  })

  it('has a file of variables for it, all of which it reads', () => {
    const names = [...read('deploy/haproxy/compose.env').matchAll(/^(\w+)=/gm)].map(([, name = '']) => name)
    const text = read('docker-compose.yml')
    expect(names.filter((name) => !text.includes(`\${${name}:-`))).toEqual([])
  })
})
