import { signIn } from '../../../support/clients/pages/sign-in.ts'
import { registerClient } from '../../../support/clients/sign-in/applications.ts'
import { openEmbedded } from '../../../support/stores/backends.ts'
import { openStack } from '../../../support/worlds/stack.ts'
import { type Role, roles, type Side, type SideClient, signerKey } from './sides.ts'

const confidential = { kind: 'confidential', firstParty: true }
const values: Readonly<Record<Role, object>> = {
  web: confidential,
  other: confidential,
  post: confidential,
  plain: { ...confidential, requirePkce: false },
  signer: { ...confidential, publicKeyPem: signerKey?.publicKey.export({ type: 'spki', format: 'pem' }) },
  page: {},
  native: {},
  third: { firstParty: false, rights: ['deal.read'] },
}

/** Starts Keyhold, and signs a user in. */
export async function openKeyhold(): Promise<Side> {
  const stack = await openStack(openEmbedded)
  const clients: Partial<Record<Role, SideClient>> = {}
  for (const [role, own] of Object.entries(values)) {
    const { redirectUris } = roles[role as Role]
    clients[role as Role] = await registerClient(stack, { name: role, redirectUris, ...own })
  }
  const { body } = await stack.auth.send('/.well-known/openid-configuration')
  return {
    issuer: String(body.issuer),
    endpoints: {
      authorize: String(body.authorization_endpoint),
      par: String(body.pushed_authorization_request_endpoint),
      token: String(body.token_endpoint),
      userinfo: String(body.userinfo_endpoint),
    },
    clients: clients as Record<Role, SideClient>,
    cookie: (await signIn(stack, 'alice')).cookie,
    now: () => stack.clock.now(),
    close: () => stack.close(),
  }
}
