/**
 * What each route of the auth server wants of its caller: the table that the suites of rights alone and of narrowed
 * keys walk.
 */
import type { Right } from '../../../auth-server/principals/rights.ts'
import type { Reply, Sent } from './http-client.ts'
import { signInRoutes } from './sign-in/routes.ts'

/** What the requests are about. */
export interface Subject {
  /** Who calls, and the password. */
  readonly caller: string
  readonly password: string
  /** A live API key of the caller. */
  readonly ownKey: string
  /** A user without any right, other than the caller. */
  readonly other: string
  readonly otherKey: string
  /** A live access token of the other user. */
  readonly otherToken: string
  /** A name that no user has. */
  readonly newName: string
}

/** One request, and what comes of it: the status, and for a problem its code. */
export interface Asked {
  readonly path?: string
  readonly sent?: Omit<Sent, 'token'>
}

type Ask = (subject: Subject) => Asked

/** About others: `allowed` for holders of the right, `refused` for all others. */
export interface OfOthers {
  readonly right: Right
  readonly ask: Ask
  readonly allowed: string
  /** `403 missing-right` when left out. */
  readonly refused?: string
  /** `refused` of a narrowed credential, where that differs. */
  readonly narrowed?: string
  /** More of the answer than its status. */
  readonly seen?: (reply: Reply) => string
}

/** About the caller's own account. `allowed` for the user, `narrowed` for each credential of narrowed rights. */
export interface OfOneself {
  readonly ask: Ask
  readonly allowed: string
  readonly narrowed: string
  /** With this right a narrowed credential acts as for any other account, with this outcome. */
  readonly byRight?: readonly [right: Right, outcome: string]
}

/** Without a credential: nothing that a right or its lack could change. */
export interface OpenRoute {
  readonly open: string
  readonly sent?: Sent
}

export type AuthEntry = OpenRoute | { readonly others?: OfOthers; readonly own?: OfOneself }

const newPassword = 'a password that nobody has'
const missingRight = '403 missing-right'
const narrowedCredential = '403 narrowed-credential'
const form = (fields: Record<string, string>): Sent => ({
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})
const overridden = { headers: { 'x-http-method-override': 'DELETE' } }
const unknownId = '0192f0c0-0000-7000-8000-000000000000'

const others = (right: Right, allowed: string, ask: Ask): { others: OfOthers } => ({ others: { right, allowed, ask } })
const onUser =
  (more = '', sent: Asked['sent'] = {}): Ask =>
  ({ other }) => ({ path: `/users/${other}${more}`, sent })

/** The second factors of the caller's own account: narrowed credentials see and change none. */
function ofOwnFactors(): [string, AuthEntry][] {
  const own = (route: string, allowed: string, ask: Ask): [string, AuthEntry] => [
    route,
    { own: { ask, allowed, narrowed: narrowedCredential } },
  ]
  const proved: Ask = ({ password }) => ({ sent: { json: { password } } })
  const begin = '/me/second-factors'
  const confirming = { challenge: 'none', code: '123456' }
  const response = { clientDataJSON: '', attestationObject: '' }
  const passkey = { id: 'a', rawId: 'a', type: 'public-key', response, clientExtensionResults: {} }
  return [
    own(`GET ${begin}`, '200', () => ({})),
    own(`POST ${begin}/totp`, '200', proved),
    own(`POST ${begin}/totp/confirm`, '403 second-factor-not-confirmed', () => ({ sent: { json: confirming } })),
    own(`POST ${begin}/passkeys/options`, '200', proved),
    own(`POST ${begin}/passkeys`, '403 second-factor-not-confirmed', () => ({
      sent: { json: { challenge: 'none', passkey } },
    })),
    own(`POST ${begin}/recovery-codes`, '409 second-factor-missing', proved),
    own(`DELETE ${begin}/enrolled/{id}`, '404 not-found', ({ password }) => ({
      path: `${begin}/enrolled/${unknownId}`,
      sent: { json: { password } },
    })),
  ]
}

function ofServices(): [string, AuthEntry][] {
  const managed = (route: string, allowed: string, ask: Ask): [string, AuthEntry] => [
    route,
    others('resource-server.manage', allowed, ask),
  ]
  const path = `/services/${unknownId}`
  return [
    managed('GET /services', '200', () => ({})),
    managed('POST /services', '201', ({ newName, password }) => ({
      sent: { json: { name: newName, resourceServer: 'deals', password } },
    })),
    managed('GET /services/{id}', '404 not-found', () => ({ path })),
    managed('POST /services/{id}/rotate', '404 not-found', ({ password }) => ({
      path: `${path}/rotate`,
      sent: { json: { password } },
    })),
    managed('DELETE /services/{id}', '404 not-found', () => ({ path })),
  ]
}

function ofCatalogue(): [string, AuthEntry][] {
  const roles = (route: string, allowed: string, ask: Ask): [string, AuthEntry] => [
    route,
    others('user.manage', allowed, ask),
  ]
  const servers = (route: string, allowed: string, ask: Ask): [string, AuthEntry] => [
    route,
    others('resource-server.manage', allowed, ask),
  ]
  const idOf = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')
  const [role, server] = ['/roles/none', '/resource-servers/none']
  return [
    roles('GET /roles', '200', () => ({})),
    roles('POST /roles', '201', ({ newName }) => ({ sent: { json: { name: idOf(newName), rights: [] } } })),
    roles('GET /roles/{name}', '404 not-found', () => ({ path: role })),
    roles('PUT /roles/{name}', '404 not-found', () => ({ path: role, sent: { json: { rights: [] } } })),
    roles('DELETE /roles/{name}', '404 not-found', () => ({ path: role })),
    servers('GET /resource-servers', '200', () => ({})),
    servers('POST /resource-servers', '201', ({ newName }) => ({
      sent: { json: { id: idOf(newName), audience: `urn:${idOf(newName)}`, name: newName } },
    })),
    servers('GET /resource-servers/{id}', '404 not-found', () => ({ path: server })),
    servers('PATCH /resource-servers/{id}', '404 not-found', () => ({ path: server, sent: { json: {} } })),
    servers('DELETE /resource-servers/{id}', '404 not-found', () => ({ path: server })),
  ]
}

/** Method and path, as the document of the server has them. */
export const authRoutes: ReadonlyMap<string, AuthEntry> = new Map<string, AuthEntry>([
  ...[
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/docs',
    '/problems',
    '/.well-known/jwks.json',
    '/.well-known/key-signed-keys.json',
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/.well-known/authzen-configuration',
  ].map((path) => [`GET ${path}`, { open: '200' }] as const),
  ['GET /docs/assets/{file}', { open: '200' }],
  ['GET /problems/{code}', { open: '200' }],
  ['GET /.well-known/keys/{kid}.pem', { open: '404 not-found' }],
  ['POST /login', { open: '400 invalid-body', sent: { json: {} } }],
  ['POST /refresh', { open: '401 unauthenticated' }],
  ['POST /logout', { open: '401 unauthenticated' }],
  ['POST /key-signed-tokens', { open: '400 invalid-body', sent: { json: {} } }],
  ['POST /sessions', { open: '400 invalid-body', sent: { json: {} } }],
  ['POST /access/v1/evaluation', { open: '401 unauthenticated' }],
  ['POST /access/v1/evaluations', { open: '401 unauthenticated' }],
  ['GET /verify', { open: '403 untrusted-proxy' }],
  ['POST /password-resets', { open: '400 invalid-body', sent: { json: {} } }],
  ['POST /oauth/token', { open: '400', sent: form({}) }],
  ...signInRoutes,
  ['POST /oauth/revoke', { open: '400', sent: form({}) }],
  ['GET /me', { own: { ask: () => ({}), allowed: '200', narrowed: '200' } }],
  ...ofOwnFactors(),
  [
    'DELETE /users/{username}/second-factors',
    others('user.manage', '204', ({ other, password }) => ({
      path: `/users/${other}/second-factors`,
      sent: { json: { password } },
    })),
  ],
  ...ofServices(),
  ...ofCatalogue(),
  ['GET /keys', others('key.read', '200', () => ({}))],
  ['GET /audit', others('audit.read', '200', () => ({}))],
  [
    'POST /oauth/introspect',
    {
      others: {
        right: 'token.introspect',
        ask: ({ otherToken }) => ({ sent: form({ token: otherToken }) }),
        allowed: '200 shown',
        refused: '200 hidden',
        seen: ({ body }) => (body.active === true ? ' shown' : ' hidden'),
      },
    },
  ],
  ['GET /sessions', { own: { ask: () => ({}), allowed: '200', narrowed: narrowedCredential } }],
  [
    'DELETE /sessions/{key}',
    {
      own: {
        ask: () => ({ path: `/sessions/${unknownId}` }),
        allowed: '404 not-found',
        narrowed: narrowedCredential,
      },
    },
  ],
  [
    'POST /sessions/{key}',
    {
      own: {
        ask: () => ({ path: `/sessions/${unknownId}`, sent: overridden }),
        allowed: '404 not-found',
        narrowed: narrowedCredential,
      },
    },
  ],
  ['GET /users', others('user.manage', '200', () => ({}))],
  [
    'POST /users',
    others('user.manage', '201', ({ newName }) => ({ sent: { json: { username: newName, password: newPassword } } })),
  ],
  ['GET /users/{username}', others('user.manage', '200', onUser())],
  ['PATCH /users/{username}', others('user.manage', '200', onUser('', { json: { enabled: true } }))],
  ['POST /users/{username}/logout', others('user.manage', '204', onUser('/logout?everything=false'))],
  ['GET /users/{username}/lock', others('user.manage', '200', onUser('/lock'))],
  ['DELETE /users/{username}/lock', others('user.manage', '204', onUser('/lock', { method: 'DELETE' }))],
  [
    'PUT /users/{username}/password',
    {
      ...others('user.manage', '204', onUser('/password', { json: { newPassword } })),
      own: {
        ask: ({ caller }) => ({
          path: `/users/${caller}/password`,
          sent: { json: { newPassword, oldPassword: 'not the old one' } },
        }),
        allowed: '403 wrong-password',
        narrowed: missingRight,
      },
    },
  ],
  ['POST /users/{username}/password-reset', others('user.manage', '201', onUser('/password-reset'))],
  [
    'PUT /users/{username}/digest-secret',
    {
      others: {
        right: 'user.manage',
        ask: ({ other, password }) => ({ path: `/users/${other}/digest-secret`, sent: { json: { password } } }),
        allowed: '200',
      },
      own: {
        ask: ({ caller, password }) => ({ path: `/users/${caller}/digest-secret`, sent: { json: { password } } }),
        allowed: '200',
        narrowed: missingRight,
      },
    },
  ],
  ['GET /users/{username}/sessions', others('session.manage', '200', onUser('/sessions'))],
  ['DELETE /users/{username}/sessions', others('session.manage', '204', onUser('/sessions'))],
  ['GET /users/{username}/sessions/{id}', others('session.manage', '404 not-found', onUser(`/sessions/${unknownId}`))],
  [
    'DELETE /users/{username}/sessions/{id}',
    others('session.manage', '404 not-found', onUser(`/sessions/${unknownId}`)),
  ],
  [
    'POST /api-keys',
    {
      others: {
        right: 'api-key.manage',
        ask: ({ other, password }) => ({ sent: { json: { kind: 'hmac', username: other, password } } }),
        allowed: '201',
      },
      own: {
        ask: ({ password }) => ({ sent: { json: { kind: 'hmac', password } } }),
        allowed: '201',
        narrowed: missingRight,
        byRight: ['api-key.manage', '201'],
      },
    },
  ],
  [
    'GET /api-keys',
    {
      ...others('api-key.manage', '200', ({ other }) => ({ path: `/api-keys?username=${other}` })),
      own: { ask: () => ({}), allowed: '200', narrowed: missingRight, byRight: ['api-key.manage', '200'] },
    },
  ],
  [
    'POST /api-keys/{id}/rotate',
    {
      others: {
        // The key has rights that a holder of this right alone must not get.
        right: 'api-key.manage',
        allowed: missingRight,
        refused: '404 not-found',
        narrowed: missingRight,
        ask: ({ otherKey, password }) => ({ path: `/api-keys/${otherKey}/rotate`, sent: { json: { password } } }),
      },
      own: {
        allowed: '200',
        narrowed: missingRight,
        byRight: ['api-key.manage', '200'],
        ask: ({ ownKey, password }) => ({ path: `/api-keys/${ownKey}/rotate`, sent: { json: { password } } }),
      },
    },
  ],
  [
    'POST /api-keys/{id}/confirm',
    {
      own: {
        // The caller has logged in by a password alone.
        allowed: '403 second-factor-login-required',
        narrowed: missingRight,
        byRight: ['api-key.manage', '403 second-factor-login-required'],
        ask: ({ ownKey, password }) => ({ path: `/api-keys/${ownKey}/confirm`, sent: { json: { password } } }),
      },
    },
  ],
  ...['GET', 'DELETE'].map((method): [string, AuthEntry] => {
    const allowed = method === 'GET' ? '200' : '204'
    return [
      `${method} /api-keys/{id}`,
      {
        others: {
          right: 'api-key.manage',
          allowed,
          refused: '404 not-found',
          narrowed: missingRight,
          ask: ({ otherKey }) => ({ path: `/api-keys/${otherKey}` }),
        },
        own: {
          allowed,
          narrowed: missingRight,
          byRight: ['api-key.manage', allowed],
          ask: ({ ownKey }) => ({ path: `/api-keys/${ownKey}` }),
        },
      },
    ]
  }),
  // The last one: there is no other user afterwards.
  ['DELETE /users/{username}', others('user.manage', '204', onUser())],
])

/** Status and code of an answer, as the table has them. */
export const outcomeOf = ({ status, body }: Reply, more = ''): string =>
  `${status}${status >= 400 && typeof body.code === 'string' ? ` ${body.code}` : ''}${more}`
