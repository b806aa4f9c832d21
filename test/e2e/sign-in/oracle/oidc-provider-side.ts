import { randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK } from 'jose'
import { errors, interactionPolicy, Provider } from 'oidc-provider'
import { rsaPair } from '../../../support/rsa-pair.ts'
import { type Role, roles, type Side, type SideClient, scopes, signerKey } from './sides.ts'

const methods: Readonly<Record<Role, string>> = {
  web: 'client_secret_basic',
  other: 'client_secret_basic',
  post: 'client_secret_post',
  plain: 'client_secret_basic',
  signer: 'private_key_jwt',
  page: 'none',
  native: 'none',
  third: 'none',
}

/** Starts `oidc-provider`, set up as Keyhold is, and signs a user in. */
export async function openOidcProvider(): Promise<Side> {
  const made = Object.fromEntries(
    Object.entries(methods).map(([role, method]) => [
      role,
      { id: randomUUID(), secret: method.startsWith('client_secret') ? randomBytes(32).toString('base64url') : '' },
    ]),
  ) as Record<Role, SideClient>
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, await configurationOf(made))
  const serve = provider.callback()
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/sign-in/'))
      void provider.interactionFinished(request, response, { login: { accountId: 'alice' } })
    else void serve(request, response)
  })
  return {
    issuer,
    endpoints: {
      authorize: `${issuer}/auth`,
      par: `${issuer}/request`,
      token: `${issuer}/token`,
      userinfo: `${issuer}/me`,
    },
    clients: made,
    cookie: await cookieOf(issuer, made.web),
    now: () => Date.now(),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function configurationOf(clients: Readonly<Record<Role, SideClient>>) {
  const publicKey = { ...(await exportJWK(signerKey?.publicKey ?? raise())), kid: 'signer' }
  return {
    clients: Object.entries(methods).map(([role, method]) => ({
      client_id: clients[role as Role].id,
      ...(clients[role as Role].secret !== '' && { client_secret: clients[role as Role].secret }),
      token_endpoint_auth_method: method,
      redirect_uris: roles[role as Role].redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(role === 'third' && { scope: scopes.join(' ') }),
      application_type: role === 'native' ? 'native' : 'web',
      ...(role === 'signer' && { jwks: { keys: [publicKey] }, token_endpoint_auth_signing_alg: 'RS256' }),
    })),
    jwks: { keys: [{ ...(await exportJWK(rsaPair().privateKey)), alg: 'RS256', use: 'sig', kid: 'own' }] },
    // A form of another site brings its cookie by this alone.
    cookies: { keys: [randomBytes(32).toString('hex')], long: { sameSite: 'none' } },
    scopes: [...scopes, 'user.manage'],
    claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email'], roles: ['roles'] },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    enabledJWA: { clientAuthSigningAlgValues: ['RS256'] },
    allowOmittingSingleRegisteredRedirectUri: false,
    enableHttpPostMethods: true,
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => {
          throw new errors.InvalidTarget()
        },
      },
    },
    pkce: { required: (_context: unknown, { clientId }: { clientId: string }) => clientId !== clients.plain.id },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: {
      policy: withoutNativePrompt(),
      url: (_context: unknown, { uid, prompt }: { uid: string; prompt: { name: string } }) =>
        prompt.name === 'login' ? `/sign-in/${uid}` : `/consent/${uid}`,
    },
    loadExistingGrant: (context: OidcContext) => grantOf(context, clients.third.id),
    renderError: (context: { body?: unknown }, { error }: { error: string }) => {
      context.body = error
    },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 3600, IdToken: 600, Interaction: 600, Session: 3600 },
  }
}

/** It would ask the user whenever an application has a scheme of its own. */
function withoutNativePrompt() {
  const policy = interactionPolicy.base()
  policy.get('consent')?.checks.remove('native_client_prompt')
  return policy
}

interface OidcContext {
  readonly oidc: {
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
    readonly provider: Provider
  }
}

/** Only one client is of another party; the others get what they ask for. */
async function grantOf({ oidc: { client, session, provider } }: OidcContext, thirdParty: string) {
  if (client.clientId === thirdParty) return undefined
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope(scopes.join(' '))
  await grant.save()
  return grant
}

/** Signs in, and returns the cookies of the session. */
async function cookieOf(issuer: string, { id }: SideClient): Promise<string> {
  const query = new URLSearchParams({
    client_id: id,
    response_type: 'code',
    redirect_uri: roles.web.redirectUris[0],
    scope: 'openid',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  })
  const cookies = new Map<string, string>()
  let url = `${issuer}/auth?${query}`
  while (url.startsWith(issuer)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { headers: { cookie }, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    url = new URL(response.headers.get('location') ?? raise(await response.text()), url).href
  }
  return [...cookies]
    .filter(([name, value]) => name.startsWith('_session') && value !== '')
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')
}

function raise(text = 'not there'): never {
  throw new Error(text)
}
