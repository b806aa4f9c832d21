/** Everything that can be taken away from a user, and whose credentials that concerns. */
import { loginClientId } from '../../../shared/protocol/access-token/access-token.ts'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import type { Sent } from '../clients/http-client.ts'
import { formOf, signIn } from '../clients/pages/sign-in.ts'
import { schemeClients } from '../clients/scheme-clients/index.ts'
import type { CredentialledRequest, PlainRequest } from '../clients/scheme-clients/scheme-client.ts'
import type { Operator } from '../processes/operators/operator.ts'
import { kidOf } from './rotation-load.ts'
import { passwordOf, type Stack, type TestServer } from './stack.ts'

/** Whose rights and credentials are taken away. */
const subject = 'carol'

/** A credential of the subject. */
export interface OpenCredential {
  readonly scheme: SchemeName
  sign(request: PlainRequest): Promise<CredentialledRequest>
  /** After an answer `stale-nonce`, which says nothing of the user: gets what it takes to try again. */
  renew(): Promise<void>
  /** Of a session: its public id. */
  readonly sessionId: string | undefined
}

export interface Revocation {
  readonly name: string
  /** The schemes whose credentials are refused from then on. */
  readonly schemes: readonly SchemeName[]
  /** What they are refused with. */
  readonly status: 401 | 403
  /** Resolves with the acknowledgement. */
  carryOut(ports: RevocationPorts): Promise<unknown>
  /** Gives back what others need. */
  undo?(ports: RevocationPorts): Promise<unknown>
}

export interface RevocationPorts {
  /** Sends a request of an administrator; it must succeed. */
  administer(path: string, sent: Sent): Promise<unknown>
  readonly auth: TestServer
  readonly operator: Operator
  readonly credentials: readonly OpenCredential[]
}

const allSchemes = schemeClients.map(({ name }) => name)
const user = `/users/${subject}`
const patch = (json: object) => ({ method: 'PATCH', json })
const agentRights = `
  deal.read deal.history.read deal.create deal.rename deal.change-price deal.change-completion-date deal.hold
  deal.unhold deal.assign-owner deal.task.add deal.task.assign deal.task.complete
`
  .trim()
  .split(/\s+/)
const role = (rights: readonly string[]) => ({ method: 'PUT', json: { description: 'Works on deals', rights } })
const setPassword = (newPassword: string) => ({ method: 'PUT', json: { newPassword } })

/** Gets a credential of the subject. */
export async function openCredential(stack: Stack, scheme: SchemeName): Promise<OpenCredential> {
  if (scheme === 'session') {
    const { id, cookie } = await signIn(stack, subject)
    const sign = async ({ url }: PlainRequest) => ({ url, headers: { cookie } })
    return { scheme, sign, renew: async () => undefined, sessionId: id }
  }
  const client = schemeClients.find(({ name }) => name === scheme)
  if (!client) throw new TypeError(`there is no client for ${scheme}`)
  let sign = await client.open(stack, subject)
  const renew = async () => {
    sign = await client.open(stack, subject)
  }
  return { scheme, sign: (request) => sign(request), renew, sessionId: undefined }
}

export const revocations: readonly Revocation[] = [
  {
    name: 'a right taken away',
    schemes: allSchemes,
    status: 403,
    carryOut: ({ administer }) => administer(user, patch({ roles: [] })),
    undo: ({ administer }) => administer(user, patch({ roles: ['agent'] })),
  },
  {
    name: 'a role loses a right',
    schemes: allSchemes,
    status: 403,
    carryOut: ({ administer }) => administer('/roles/agent', role(agentRights.filter((name) => name !== 'deal.read'))),
    undo: ({ administer }) => administer('/roles/agent', role(agentRights)),
  },
  {
    name: 'API key revoked',
    schemes: ['signed-request'],
    status: 401,
    carryOut: async ({ administer, credentials, auth }) =>
      administer(`/api-keys/${await keyIdOf(credentials, auth)}`, { method: 'DELETE' }),
  },
  {
    name: 'disabled',
    schemes: allSchemes,
    status: 401,
    carryOut: ({ administer }) => administer(user, patch({ enabled: false })),
    undo: ({ administer }) => administer(user, patch({ enabled: true })),
  },
  {
    name: 'session ended',
    schemes: ['session'],
    status: 401,
    carryOut: ({ administer, credentials }) =>
      administer(`${user}/sessions/${credentials[0]?.sessionId}`, { method: 'DELETE' }),
  },
  {
    name: 'password changed',
    schemes: ['bearer', 'key-signed', 'session', 'basic'],
    status: 401,
    carryOut: ({ administer }) => administer(`${user}/password`, setPassword('another good password')),
    undo: ({ administer }) => administer(`${user}/password`, setPassword(passwordOf(subject))),
  },
  {
    name: 'own logout',
    schemes: ['bearer'],
    status: 401,
    carryOut: (ports) => asSubject(ports, { method: 'POST', path: '/logout' }),
  },
  {
    name: 'key revoked',
    schemes: ['bearer', 'key-signed'],
    status: 401,
    carryOut: async ({ credentials, operator, auth }) => {
      const kids = await Promise.all(credentials.map(async (one) => kidOf((await headersOf(one, auth)).authorization)))
      for (const kid of kids) await operator.revoke(kid ?? '')
    },
  },
  {
    name: 'token revoked',
    schemes: ['bearer', 'key-signed'],
    status: 401,
    carryOut: async ({ credentials, auth }) => {
      for (const credential of credentials) {
        const [, token = ''] = (await headersOf(credential, auth)).authorization?.split(' ') ?? []
        const { status, text } = await auth.send('/oauth/revoke', formOf({ token, client_id: loginClientId }))
        if (status !== 200) throw new Error(`/oauth/revoke answered ${status}: ${text}`)
      }
    },
  },
  {
    name: 'all sessions ended',
    schemes: ['session'],
    status: 401,
    carryOut: ({ administer }) => administer(`${user}/sessions`, { method: 'DELETE' }),
  },
  {
    name: 'own sign-out',
    schemes: ['session'],
    status: 401,
    carryOut: (ports) => asSubject(ports, { method: 'DELETE', path: '/sessions/current' }),
  },
  {
    name: 'logout everywhere',
    schemes: ['bearer', 'key-signed', 'session'],
    status: 401,
    carryOut: ({ administer }) => administer(`${user}/logout`, { method: 'POST' }),
  },
]

const signedFor = (credential: OpenCredential, { url }: TestServer) =>
  credential.sign({ method: 'GET', url: `${url}/me` })

const headersOf = async (credential: OpenCredential, auth: TestServer): Promise<Record<string, string>> =>
  (await signedFor(credential, auth)).headers

async function keyIdOf([credential]: readonly OpenCredential[], auth: TestServer): Promise<string> {
  if (!credential) throw new TypeError('there is no credential')
  return new URL((await signedFor(credential, auth)).url).searchParams.get('apiKey') ?? ''
}

/** A request with the first credential. @throws Error unless it answers 204 */
async function asSubject({ credentials, auth }: RevocationPorts, { method, path }: { method: string; path: string }) {
  const [credential] = credentials
  if (!credential) throw new TypeError('there is no credential')
  const { status, text } = await auth.send(path, { method, headers: await headersOf(credential, auth) })
  if (status !== 204) throw new Error(`${path} answered ${status}: ${text}`)
}
