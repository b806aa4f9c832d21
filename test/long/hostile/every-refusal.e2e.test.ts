/**
 * Every route of both servers through every refusal that it can give. The routes are those that the apps serve, and
 * what an endpoint of the auth server can refuse follows from what it says of itself: a new route is in the table
 * before anybody thinks of it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyTokenOf, makeApiKey } from '../../support/clients/oauth-requests.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import {
  type Asked,
  ask,
  closeConnections,
  type Outcome,
  type Row,
  rowOfEndpoint,
  rowOfOther,
  rowOfStyle,
} from '../../support/every-refusal.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

/** Served without a caller, beside the public documents that are endpoints. */
const open = [
  '/',
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/problems',
  '/problems/:code',
  '/.well-known/oauth-protected-resource',
  '/docs',
  '/docs/assets/:file',
  '/rest/openapi.json',
  '/rest/docs',
  '/rest/docs/assets/:file',
].map((path) => `GET ${path}`)

/** What the requests of the suite carry. */
interface Credentials {
  /** All rights. */
  readonly admin: string
  /** None of the rights of its user. */
  readonly narrowed: string
  /** `name=value` of a live session. */
  readonly cookie: string
}

type Headers = Asked['headers']

/** One check: what makes it refuse, and what it answers; undefined where a route does not have it. */
interface Refusal {
  readonly name: string
  readonly headers?: (credentials: Credentials) => Headers
  /** The body, where it is not the row's own. */
  readonly body?: string
  /** A body of so many bytes is announced. */
  readonly announced?: number
  expected(row: Row): string | undefined
}

const isClosed = ({ kind }: Row): boolean => kind !== 'none' && kind !== 'deal-server'
const isSafe = ({ method }: Row): boolean => method === 'GET'
/** Of callers of any scheme, and of `/sessions/{key}`, which takes their credentials too. */
const takesSchemes = ({ kind }: Row): boolean => kind === 'caller' || kind === 'session'
/** OAuth's words for what other routes have codes for. */
const asOAuth = ({ kind, path }: Row, outcome: string, error: string): string => {
  const ofToken = path === '/oauth/userinfo'
  if (kind !== 'client' && !ofToken) return outcome
  return `${outcome.slice(0, 3)} ${ofToken && error === 'invalid_client' ? 'invalid_token' : error}`
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
const evil = 'https://evil.test'

const refusals: readonly Refusal[] = [
  {
    name: 'a body that is too large',
    announced: 5_000_000,
    expected: (row) => (row.kind === 'none' ? undefined : asOAuth(row, '413 body-too-large', 'invalid_request')),
  },
  {
    name: 'an insecure transport, whatever the credential',
    headers: ({ admin }) => ({ 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'http', ...bearer(admin) }),
    expected: (row) => (isClosed(row) ? asOAuth(row, '403 insecure-transport', 'invalid_request') : undefined),
  },
  {
    name: 'no credential',
    expected: (row) => {
      if (row.kind === 'password') return '400 invalid-body'
      if (row.kind === 'forwarded') return '403 untrusted-proxy'
      if (row.route === 'POST /oauth/revoke') return '200'
      // A browser without a session signs in first.
      const isAsked = row.kind !== 'none' && row.kind !== 'browser'
      return isAsked ? asOAuth(row, '401 unauthenticated', 'invalid_client') : undefined
    },
  },
  {
    name: 'a credential of a scheme that is not served',
    headers: () => ({ authorization: 'Foreign credential' }),
    expected: (row) => {
      if (takesSchemes(row)) return '401 unknown-scheme'
      if (['token', 'service', 'deal-server'].includes(row.kind))
        return asOAuth(row, '401 unauthenticated', 'invalid_client')
      return row.kind === 'client' && row.route !== 'POST /oauth/revoke' ? '401 invalid_client' : undefined
    },
  },
  {
    name: 'two Authorization fields',
    headers: ({ admin }) => ({ authorization: [`Bearer ${admin}`, `Bearer ${admin}`] }),
    expected: (row) => {
      if (row.kind === 'client') return '400 invalid_request'
      const isRead = takesSchemes(row) || row.kind === 'token' || row.kind === 'service'
      return isRead ? asOAuth(row, '400 several-credentials', 'invalid_request') : undefined
    },
  },
  {
    name: 'a token beside a cookie',
    headers: ({ admin, cookie }) => ({ ...bearer(admin), cookie }),
    expected: (row) => (takesSchemes(row) ? '400 several-credentials' : undefined),
  },
  {
    name: 'a page of another site',
    headers: ({ cookie }) => ({ cookie, origin: evil }),
    expected: (row) => ((takesSchemes(row) && !isSafe(row)) || row.isForm ? '403 cross-site' : undefined),
  },
  {
    name: 'a caller without the right',
    headers: ({ narrowed }) => bearer(narrowed),
    expected: ({ needs }) => needs && (needs === 'right' ? '403 missing-right' : '403 narrowed-credential'),
  },
  {
    name: 'a body of another media type',
    headers: ({ admin }) => ({ ...bearer(admin), 'content-type': 'text/plain' }),
    body: 'text',
    expected: (row) => {
      // Where the form is only a place for `_method` and `return_to`, another body is not looked at.
      if (row.takes === undefined || row.kind === 'session' || row.kind === 'service') return undefined
      if (row.route === 'DELETE /rest/v1/webhooks/:id') return undefined
      return row.kind === 'client' ? '400 invalid_request' : '415 unsupported-media-type'
    },
  },
  {
    name: 'a body where DELETE takes none',
    headers: ({ admin }) => ({ ...bearer(admin), 'content-type': 'application/json' }),
    body: '{"unknown":1}',
    expected: (row) => (isClosed(row) && row.method === 'DELETE' ? '400 invalid-body' : undefined),
  },
]

const outcomeOf = ({ status, code }: Outcome): string => (code === undefined ? `${status}` : `${status} ${code}`)

/** Everything that is wrong with an answer to this refusal, beside its outcome. */
function headersOf({ status, headers }: Outcome): string {
  const isStored = headers['cache-control'] !== 'no-store'
  const lacksChallenge = status === 401 && headers['www-authenticate'] === undefined
  return `${isStored ? ' without no-store' : ''}${lacksChallenge ? ' without a challenge' : ''}`
}

let stack: Stack
let credentials: Credentials
const rows: Record<'auth' | 'deal', readonly Row[]> = { auth: [], deal: [] }

async function openCredentials(): Promise<Credentials> {
  const admin = (await stack.logIn('admin')).access
  const narrowed = await keyTokenOf(stack, await makeApiKey(stack, admin, { kind: 'hmac', rights: [] }))
  const { cookie } = await signIn(stack, 'alice')
  return { admin, narrowed, cookie }
}

/**
 * Sends what should be refused, to each route that has the check. Answers each route with what was expected, and what
 * came.
 */
async function walk(server: 'auth' | 'deal', refusal: Refusal) {
  const { port } = stack[server]
  const walked = rows[server].flatMap((row) => {
    const expected = refusal.expected(row)
    return expected === undefined ? [] : [{ row, expected }]
  })
  const answers = await Promise.all(
    walked.map(async ({ row: { method, path, route, ...row }, expected }) => {
      const announced = refusal.announced === undefined ? {} : { 'content-length': refusal.announced }
      const headers = { ...row.headers, ...announced, ...refusal.headers?.(credentials) }
      const body = refusal.announced === undefined ? (refusal.body ?? row.body) : undefined
      const outcome = await ask(port, { method, path, headers, body })
      return { route, expected, outcome: outcomeOf(outcome) + headersOf(outcome) }
    }),
  )
  return {
    outcomes: answers.map(({ route, outcome }) => ({ route, outcome })),
    expected: answers.map(({ route, expected }) => ({ route, outcome: expected })),
  }
}

describeEmbedded('every route', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { logLevel: 'silent' })
    credentials = await openCredentials()
    const { auth, deal, endpoints } = stack.served
    const ofEndpoints = endpoints.map(rowOfEndpoint)
    const others = auth.filter((route) => !ofEndpoints.some((row) => row.route === route)).map(rowOfOther)
    rows.auth = [...ofEndpoints, ...others]
    rows.deal = deal.map((route) => (open.includes(route) ? rowOfOther(route) : rowOfStyle(route)))
  })
  afterAll(async () => {
    closeConnections()
    await stack.close()
  })

  it('is an endpoint, open to everybody, or for deal servers', () => {
    const served = [...stack.served.auth].sort()
    expect(rows.auth.map(({ route }) => route).sort()).toEqual(served)
    const unexplained = rows.auth.filter(({ kind, route }) => kind === 'none' && !route.includes('/.well-known/'))
    expect(unexplained.map(({ route }) => route).filter((route) => !open.includes(route))).toEqual([])
    expect(rows.auth.filter(isClosed).length).toBeGreaterThan(25)
    expect(rows.deal.filter(isClosed).length).toBeGreaterThan(40)
  })

  describe.each(['auth', 'deal'] as const)('of the %s server refuses', (server) => {
    it.each(refusals.map((refusal) => [refusal.name, refusal] as const))('%s', async (_, refusal) => {
      const { outcomes, expected } = await walk(server, refusal)
      expect(outcomes).toEqual(expected)
      expect(expected.length).toBeGreaterThan(0)
    })

    it('a method that it does not have', async () => {
      const allowed = new Map<string, string[]>()
      for (const { path, method } of rows[server]) allowed.set(path, [...(allowed.get(path) ?? []), method])
      for (const [path, methods] of allowed) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !methods.includes(one))) {
          const { status, code, headers } = await ask(stack[server].port, { method, path, headers: {} })
          // People see the others, as pages.
          const isOAuth = /^\/oauth\/(?!authorize|logout|device\/)/.test(path)
          const outcome = { method, path, status, code, allow: headers.allow?.toString().split(', ').sort() }
          const head = methods.includes('GET') ? ['HEAD'] : []
          // A proxy that asks by the method of its client must not take 204 for a permission.
          const options = path === '/verify' ? [] : ['OPTIONS']
          expect(outcome).toEqual({
            method,
            path,
            status: 405,
            code: isOAuth ? 'invalid_request' : 'method-not-allowed',
            allow: [...methods, ...head, ...options].sort(),
          })
        }
      }
    })
  })
})
