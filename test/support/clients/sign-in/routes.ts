/** What the routes of signing in to applications want of their callers, as part of the table of all routes. */
import type { AuthEntry, OfOneself, OfOthers } from '../auth-routes.ts'

const unknownId = '0192f0c0-0000-7000-8000-000000000000'
const narrowed = '403 narrowed-credential'
const form = {
  body: '',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
}
const path = `/clients/${unknownId}`

const managed = (allowed: string, ask: OfOthers['ask']): AuthEntry => ({
  others: { right: 'client.manage', allowed, ask },
})
const own = (allowed: string, ask: OfOneself['ask']): AuthEntry => ({ own: { ask, allowed, narrowed } })

/** Who makes a client must have each right of its tokens: only one without rights is made by `client.manage` alone. */
export const signInRoutes: readonly (readonly [string, AuthEntry])[] = [
  ['GET /clients', managed('200', () => ({}))],
  [
    'POST /clients',
    managed('201', ({ newName: name, password }) => {
      const redirectUris = ['https://app.example/callback']
      return { sent: { json: { name, kind: 'public', redirectUris, rights: [], password } } }
    }),
  ],
  ['GET /clients/{id}', managed('404 not-found', () => ({ path }))],
  ['PATCH /clients/{id}', managed('404 not-found', ({ password }) => ({ path, sent: { json: { password } } }))],
  [
    'POST /clients/{id}/rotate',
    managed('404 not-found', ({ password }) => ({ path: `${path}/rotate`, sent: { json: { password } } })),
  ],
  ['DELETE /clients/{id}', managed('404 not-found', () => ({ path }))],
  ['POST /oauth/par', { open: '401', sent: form }],
  ['GET /oauth/authorize', { open: '400 invalid-authorization-request' }],
  ['POST /oauth/authorize', { open: '400 invalid-authorization-request', sent: form }],
  ['GET /oauth/authorize/request', { open: '400 invalid-parameter' }],
  ['POST /oauth/authorize/decision', { open: '400 invalid-body', sent: form }],
  ['POST /oauth/device_authorization', { open: '401', sent: form }],
  ['GET /oauth/device/request', { open: '400 invalid-parameter' }],
  ['POST /oauth/device/decision', { open: '400 invalid-body', sent: form }],
  ['GET /oauth/logout', { open: '303' }],
  ['POST /oauth/logout', { open: '303', sent: form }],
  ['GET /oauth/logout/request', { open: '400 invalid-parameter' }],
  ['POST /oauth/logout/decision', { open: '400 invalid-body', sent: form }],
  ['GET /oauth/userinfo', { open: '401' }],
  ['POST /oauth/userinfo', { open: '401' }],
  ['GET /consents', own('200', () => ({}))],
  ['DELETE /consents/{clientId}', own('404 not-found', () => ({ path: `/consents/${unknownId}` }))],
]
