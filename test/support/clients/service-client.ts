/** Services as they ask the auth server below `/internal`. */
import { randomBytes } from 'node:crypto'
import { sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { type Asked, type Exchange, questionOf } from '../../../shared/protocol/internal-api/exchange.ts'
import { signInternalRequest } from '../../../shared/protocol/internal-api/requests.ts'
import { isInternalResponse } from '../../../shared/protocol/internal-api/responses.ts'
import {
  type ReceivedRequest,
  verifyRequestExchange,
  verifyRequestPurpose,
} from '../../../shared/protocol/internal-api/verify-request.ts'
import { passwordOf, type Stack } from '../worlds/stack.ts'
import { type Reply, rememberSecret } from './http-client.ts'

/** The credential of a service. */
export interface ServiceCredential {
  readonly id: string
  readonly secret: string
}

let serial = 0

/** Makes a service as `admin`. @throws Error when it is refused */
export async function makeService(stack: Stack, resourceServer = 'deals'): Promise<ServiceCredential> {
  serial += 1
  const { access: token } = await stack.logIn('admin')
  const json = { name: `service ${serial}`, resourceServer }
  const { status, body, text } = await stack.auth.send('/services', { token, json })
  if (status !== 201) throw new Error(`/services answered ${status}: ${text}`)
  rememberSecret(String(body.secret))
  return { id: String(body.id), secret: String(body.secret) }
}

/** How a service proves itself: by its signature, by HTTP Basic, or by a token. */
export type Proof = 'signature' | 'basic' | { readonly token: string }

/** `Authorization: Basic` of a service. */
export const serviceBasic = ({ id, secret }: ServiceCredential): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

/** Asks a question as a service. @throws Error for an answer to a signed request without the right MAC */
export async function askAs<Path extends string>(
  stack: Stack,
  { service, proof = 'signature' }: { readonly service: ServiceCredential; readonly proof?: Proof },
  question: { readonly method: string; readonly target: string; readonly body?: unknown; readonly path?: Path },
): Promise<Reply> {
  const target = `/internal${question.target}`
  const { method } = question
  const body = question.body === undefined ? '' : JSON.stringify(question.body)
  const nonce = randomBytes(18).toString('base64url')
  const signing = { id: service.id, secret: service.secret, clock: stack.clock, nonce }
  const authorization =
    proof === 'signature'
      ? signInternalRequest({ method, target, body }, signing)
      : proof === 'basic'
        ? serviceBasic(service)
        : `Bearer ${proof.token}`
  const sent = body === '' ? {} : { body, headers: { 'content-type': 'application/json' } }
  const reply = await stack.auth.send(target, { method, ...sent, headers: { ...sent.headers, authorization } })
  const { status, text, headers } = reply
  const facts = { status, body: text, header: (name: string) => headers.get(name) }
  const isProved = isInternalResponse(facts, { secret: service.secret, nonce })
  if (status !== 401 && isProved !== (proof === 'signature'))
    throw new Error(`${target}: the MAC is not as it should be`)
  return reply
}

/** Asks an exchange as a service. */
export const askExchange = <Path extends string, RequestBody extends Exchange['requestBody']>(
  stack: Stack,
  by: { readonly service: ServiceCredential; readonly proof?: Proof },
  { exchange, ...asked }: { readonly exchange: Exchange<Path, RequestBody> } & Asked<Path, RequestBody>,
): Promise<Reply> => askAs(stack, by, questionOf(exchange, asked as Asked<Path, RequestBody>))

/** The public origin of the service of the tests. */
export const serviceOrigin = 'https://invoices.test'

/** Has a request verified that a service received. */
export function verifyAt(
  stack: Stack,
  by: { readonly service: ServiceCredential; readonly proof?: Proof },
  received: Partial<ReceivedRequest>,
): Promise<Reply> {
  const request: ReceivedRequest = {
    method: 'GET',
    url: `${serviceOrigin}/invoices`,
    headers: {},
    hasBody: false,
    clientAddress: '192.0.2.7',
    ...received,
  }
  const { secret } = by.service
  const isSigned = by.proof === undefined || by.proof === 'signature'
  const sealed = () => sealInternally(JSON.stringify(request), { secret, purpose: verifyRequestPurpose })
  return askExchange(stack, by, {
    exchange: verifyRequestExchange,
    path: {},
    body: isSigned ? { sealed: sealed() } : { request },
  })
}

/**
 * Makes the resource server `invoices` with two rights, the role `approver`, which has one of them and one of deals,
 * and the user `erin`, who has that role, is an agent and has the other right directly.
 */
export async function addInvoices(stack: Stack): Promise<void> {
  const { access: token } = await stack.logIn('admin')
  const post = async (path: string, json: object) => {
    const { status, text } = await stack.auth.send(path, { token, json })
    if (status !== 201) throw new Error(`${path} answered ${status}: ${text}`)
  }
  const rights = [
    { name: 'invoice.read', description: 'Read invoices', readsOnly: true },
    { name: 'invoice.approve', description: 'Approve invoices', readsOnly: false },
  ]
  await post('/resource-servers', { id: 'invoices', audience: 'urn:example:invoices', name: 'Invoices', rights })
  await post('/roles', { name: 'approver', description: 'Approves invoices', rights: ['invoice.approve', 'deal.read'] })
  const user = {
    username: 'erin',
    password: passwordOf('erin'),
    roles: ['agent', 'approver'],
    rights: ['invoice.read'],
  }
  await post('/users', user)
}
