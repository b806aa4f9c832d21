/**
 * The requests of the suite that takes every route through every refusal: what a route is sent so that one check alone
 * can refuse it.
 */
import { Agent, request } from 'node:http'
import type { Endpoint } from '../../shared/server/endpoints/endpoint.ts'
import { membersOf } from './clients/http-client.ts'
import { toolPath } from './clients/tool-calls.ts'
import { commandRows } from './worlds/rights-alone.ts'

/** One route, with requests that nothing but the refusal under test keeps from being carried out. */
export interface Row {
  /** `METHOD path`, in Hono's syntax. */
  readonly route: string
  readonly method: string
  /** The path with something in place of each parameter. */
  readonly path: string
  /** `caller`: of any scheme; else the credential of its own. `deal-server`: below `/internal`. */
  readonly kind:
    | 'caller'
    | 'password'
    | 'token'
    | 'client'
    | 'session'
    | 'forwarded'
    | 'service'
    | 'browser'
    | 'deal-server'
    | 'none'
  /** A form is answered by browsers' rules, too: the cross-site rule holds before any credential is looked at. */
  readonly isForm: boolean
  /** How the body is written; undefined where none is looked at. */
  readonly takes: 'json' | 'form' | undefined
  /** What a caller must be allowed to: a right, or to act for the account of the user. */
  readonly needs: 'right' | 'own-account' | undefined
  /** A body that the route takes, and header fields that belong to the request. */
  readonly body: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** An answer, as the suite compares it. */
export interface Outcome {
  readonly status: number
  /** Of the problem, or of OAuth's error. */
  readonly code: unknown
  readonly headers: Readonly<Record<string, unknown>>
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 })

/** Ends the connections of `ask`. */
export const closeConnections = (): void => agent.destroy()

/** What is sent with one request; an array of values becomes as many lines. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | number | string[]>>
  readonly body?: string | undefined
}

/** Sends a request whose header fields are exactly these. A `content-length` without a body: the body never comes. */
export function ask(port: number, { method, path, headers, body }: Asked): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const sent = request({ agent, port, host: '127.0.0.1', method, path, headers: { ...headers, ...length } })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const members = membersOf(Buffer.concat(chunks).toString('utf8'))
        resolve({
          status: response.statusCode ?? 0,
          code: members.code ?? members.error,
          headers: response.headers,
        })
        if (!sent.writableEnded) sent.destroy()
      })
    })
    if (body === undefined && headers['content-length'] !== undefined) sent.flushHeaders()
    else sent.end(body)
  })
}

const unknownId = '0192f0c0-0000-7000-8000-000000000000'

const examples: Readonly<Record<string, string>> = {
  username: 'bob',
  clientId: unknownId,
  name: 'none',
  id: unknownId,
  key: 'current',
  file: 'none.pem',
  code: 'not-found',
  commandId: 'every-refusal',
  commandName: 'HoldDeal',
  dtoName: 'Deal',
  parameter: unknownId,
}

/** @throws Error for a parameter that has no example */
const examplePath = (path: string): string =>
  path.replace(/:([A-Za-z]+)(\{[^}]*\})?/g, (_, name: string) => {
    const example = examples[name]
    if (example === undefined) throw new Error(`no example of the parameter ${name} of ${path}`)
    return example
  })

/** Operation id → a body that its endpoint takes. */
const bodies: Readonly<Record<string, string>> = {
  createUser: JSON.stringify({ username: 'erin', password: 'a password that nobody has' }),
  patchUser: JSON.stringify({ enabled: true }),
  putPassword: JSON.stringify({ newPassword: 'a password that nobody has' }),
  putDigestSecret: '{}',
  beginTotp: '{}',
  confirmTotp: JSON.stringify({ challenge: 'none', code: '123456' }),
  beginPasskey: '{}',
  createPasskey: JSON.stringify({
    challenge: 'none',
    passkey: { id: 'a', rawId: 'a', type: 'public-key', response: { clientDataJSON: '', attestationObject: '' } },
  }),
  createRecoveryCodes: '{}',
  deleteOwnSecondFactor: '{}',
  resetSecondFactors: '{}',
  createApiKey: JSON.stringify({ kind: 'hmac' }),
  rotateApiKey: JSON.stringify({}),
  confirmApiKey: '{}',
  createRole: JSON.stringify({ name: 'clerk', rights: [] }),
  replaceRole: JSON.stringify({ rights: [] }),
  createResourceServer: JSON.stringify({ id: 'ledger', audience: 'urn:ledger', name: 'Ledger' }),
  patchResourceServer: '{}',
  evaluateAccess: '{}',
  evaluateAccesses: '{}',
  createService: JSON.stringify({ name: 'a ledger', resourceServer: 'deals' }),
  rotateService: '{}',
  logIn: '{}',
  usePasswordReset: '{}',
  createKeySignedToken: '{}',
  signIn: '{}',
  signOutByForm: '_method=DELETE',
  createClient: JSON.stringify({ name: 'a shop', kind: 'public', redirectUris: ['https://app.example/'], rights: [] }),
  patchClient: '{}',
  rotateClient: '{}',
  oauthAuthorizeByForm: 'client_id=none',
  decideAuthorizationRequest: 'client_id=none&request_uri=none&decision=allow',
  oauthPushRequest: 'client_id=none',
  oauthDeviceAuthorization: 'client_id=none',
  decideDeviceRequest: 'user_code=none&decision=allow',
  oauthLogoutByForm: 'client_id=none',
  confirmSignOut: 'request=none',
  oauthToken: 'grant_type=client_credentials',
  oauthRevoke: 'token=none',
  oauthIntrospect: 'token=none',
}

const formType = 'application/x-www-form-urlencoded'

/** The row of an endpoint of the auth server. @throws Error for one that takes a body of which there is no example */
export function rowOfEndpoint(endpoint: Endpoint): Row {
  const { method, path, id } = endpoint
  const common = { route: `${method} ${path}`, method, path: examplePath(path) }
  if (endpoint.caller === 'none') return { ...common, ...nothing, kind: 'none' }
  const { caller, right, body: reader } = endpoint
  const body = reader && bodies[id]
  if (reader && body === undefined) throw new Error(`no example of a body for ${id}`)
  const kind = caller?.kind ?? 'caller'
  const takes = reader && (reader.describe().mediaTypes?.includes(formType) ? 'form' : 'json')
  return {
    ...common,
    kind,
    isForm: caller?.isSentByBrowsers === true,
    takes,
    needs:
      right === undefined
        ? kind === 'session'
          ? 'own-account'
          : undefined
        : right === 'own-account'
          ? right
          : 'right',
    body,
    headers: takes === undefined ? {} : { 'content-type': takes === 'json' ? 'application/json' : formType },
  }
}

const nothing = { isForm: false, takes: undefined, needs: undefined, body: undefined, headers: {} } as const

/** The row of a route that needs no caller, or of one for deal servers. */
export function rowOfOther(route: string): Row {
  const [method = '', path = ''] = route.split(' ')
  const kind = path.startsWith('/internal/') ? 'deal-server' : 'none'
  return { ...nothing, route, method, path: examplePath(path), kind }
}

/**
 * The row of a route of a style. @throws Error for a route that takes a command which the table of rights does not know
 */
export function rowOfStyle(route: string): Row {
  const [method = '', path = ''] = route.split(' ')
  // Tools take tokens of applications alone, and say that before they read a body.
  const takes = method === 'GET' || path === toolPath ? undefined : 'json'
  return {
    route,
    method,
    path: examplePath(path),
    kind: 'caller',
    isForm: false,
    takes,
    // The commands of a batch are refused one by one.
    needs: ['/commands', toolPath].includes(path) || /^.proposals(?!.*approve)/.test(path) ? undefined : 'right',
    body: takes && method !== 'DELETE' ? JSON.stringify(commandBody(method, path)) : undefined,
    headers: takes && method !== 'DELETE' ? { 'content-type': 'application/json' } : {},
  }
}

const endpointBodies: Readonly<Record<string, unknown>> = {
  'POST /rest/v1/webhooks': { url: 'https://receiver.example/' },
  'PATCH /rest/v1/webhooks/:id': { description: null },
  'POST /rest/v1/webhooks/:id/redeliver': { after: '0' },
  'POST /rest/v1/webhooks/:id/rotate-secret': {},
  'POST /rest/v1/webhooks/:id/test': {},
  'POST /proposals/:id/approve': {},
  'POST /proposals/:id/reject': { reason: 'no' },
}

function commandBody(method: string, path: string): unknown {
  const ofEndpoint = endpointBodies[`${method} ${path}`]
  if (ofEndpoint) return ofEndpoint
  const hold = { action: 'HoldDeal', params: commandRows.HoldDeal?.params }
  if (path === '/commands/:commandId') return { deal: unknownId, ...hold }
  if (path === '/commands') return [{ id: 'every-refusal', deal: unknownId, ...hold }]
  if (path.endsWith('/commands/:commandId') || (method === 'PUT' && path === '/rest/v1/deals/:id')) return hold
  if (path === '/command/:commandName') return { id: unknownId, ...hold.params }
  if (method === 'PATCH') return commandRows.HoldDeal?.attributes
  if (path === '/rest/v1/deals') return commandRows.CreateDeal?.params
  const segment = path.split('/').at(-1)
  const row = Object.values(commandRows).find(({ verb, stateName }) => [verb, stateName].includes(segment ?? ''))
  const params = segment === 'tasks' ? commandRows.AddTask?.params : row?.params
  if (!params) throw new Error(`no example of a body for ${method} ${path}`)
  return params
}
