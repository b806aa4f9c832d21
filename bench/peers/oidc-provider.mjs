/**
 * oidc-provider with access tokens as JWTs, and refresh token rotation. It keeps everything in memory.
 * `node oidc-provider.mjs PORT ALG`, of RS256, ES256 and EdDSA. GET /families?count=N returns the first refresh token
 * of N families.
 */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

const [port, alg] = process.argv.slice(2)
const [kind, details] = {
  RS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  EdDSA: ['ed25519', {}],
}[alg]
const { privateKey: pem } = generateKeyPairSync(kind, {
  ...details,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const privateKey = createPrivateKey(pem)
const resource = 'urn:deals'
const resourceServer = {
  scope: 'deal.read',
  audience: resource,
  accessTokenTTL: 1800,
  accessTokenFormat: 'jwt',
  jwt: { sign: { alg } },
}

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg, kid: 'bench' }] },
  clients: [
    {
      client_id: 'bench',
      client_secret: 'the secret of the benchmark',
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      redirect_uris: ['https://client.example.com/callback'],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: alg,
    },
  ],
  scopes: ['openid', 'offline_access', 'deal.read'],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => resourceServer,
    },
  },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  rotateRefreshToken: true,
  ttl: { AccessToken: 1800, ClientCredentials: 1800, Grant: 86_400, RefreshToken: 86_400 },
})

async function newFamily(accountId) {
  const client = await provider.Client.find('bench')
  const grant = new provider.Grant({ accountId, clientId: client.clientId })
  grant.addOIDCScope('offline_access')
  grant.addResourceScope(resource, 'deal.read')
  const grantId = await grant.save()
  const scope = 'offline_access deal.read'
  const token = new provider.RefreshToken({ accountId, client, grantId, scope, gty: 'authorization_code', resource })
  return token.save()
}

const handle = provider.callback()

const server = createServer(async (request, response) => {
  if (request.url === '/readyz') return response.end('ready')
  if (!request.url.startsWith('/families')) return handle(request, response)
  const count = Number(new URL(request.url, 'http://localhost').searchParams.get('count'))
  const tokens = await Promise.all(Array.from({ length: count }, (_, n) => newFamily(`user-${n}`)))
  response.setHeader('content-type', 'application/json').end(JSON.stringify(tokens))
})
server.listen(Number(port), '127.0.0.1')
