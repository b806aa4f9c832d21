/** What an administrator does once for a new service, here at each start. What is there already stays. */

/** `aud` of the tokens for this service. */
export const audience = 'urn:example:invoices'

const rights = [
  { name: 'invoice.read', description: 'Read invoices', readsOnly: true },
  { name: 'invoice.create', description: 'Create invoices', readsOnly: false },
  { name: 'invoice.approve', description: 'Approve invoices', readsOnly: false },
]
const resourceServer = { id: 'invoices', audience, name: 'Invoices', rights }
const roles = [
  { name: 'clerk', description: 'Creates invoices', rights: ['invoice.read', 'invoice.create'] },
  { name: 'approver', description: 'Approves invoices', rights: ['invoice.read', 'invoice.approve'] },
]
const service = { name: 'invoices-example', resourceServer: resourceServer.id }

/** Registers the service. Gives its credential, with a new secret. @throws Error with the answer of the auth server */
export async function register(authServer: string, admin: { readonly username: string; readonly password: string }) {
  const authorization = `Basic ${Buffer.from(`${admin.username}:${admin.password}`).toString('base64')}`
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) }
    const response = await fetch(authServer + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const answer = (await response.json()) as Answer
    if (response.ok || (method === 'POST' && answer.code?.endsWith('-exists'))) return answer
    throw new Error(`${method} ${path} was answered ${response.status}: ${answer.detail}`)
  }
  const proof = { password: admin.password }
  await call('POST', '/resource-servers', resourceServer)
  for (const role of roles) await call('POST', '/roles', role)
  const made = await call('POST', '/services', { ...service, ...proof })
  if (made.secret) return made
  const { items } = await call('GET', `/services?resourceServer=${service.resourceServer}`)
  const known = items.find(({ name }) => name === service.name)
  return call('POST', `/services/${known?.id}/rotate`, proof)
}

/** What is read of the answers: of a service, of a list of them, of a refusal. */
interface Answer {
  readonly id: string
  readonly secret: string
  readonly items: readonly { readonly id: string; readonly name: string }[]
  readonly code?: string
  readonly detail?: string
}
