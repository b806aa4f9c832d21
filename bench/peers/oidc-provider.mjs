/**
 * oidc-provider with access tokens as JWTs, and refresh token rotation. It keeps everything in Redis, by an adapter
 * after the example of its project. `node oidc-provider.mjs PORT ALG`, of RS256, ES256 and EdDSA. GET
 * /families?count=N returns the first refresh token of N families.
 */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
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

const redis = new Redis(process.env.BENCH_REDIS_URL ?? 'redis://127.0.0.1:6379', {
  keyPrefix: 'oidc-provider:',
  enableAutoPipelining: true,
})

/** What is used once is a hash, so that its use is one more field. */
const consumable = new Set(['AuthorizationCode', 'RefreshToken', 'DeviceCode', 'BackchannelAuthenticationRequest'])

class RedisAdapter {
  constructor(name) {
    this.name = name
  }

  key(id) {
    return `${this.name}:${id}`
  }

  async upsert(id, payload, expiresIn) {
    const key = this.key(id)
    const text = JSON.stringify(payload)
    const multi = redis.multi()
    if (consumable.has(this.name)) multi.hset(key, { payload: text })
    else multi.set(key, text)
    if (expiresIn) multi.expire(key, expiresIn)
    if (payload.grantId) {
      const grant = `grant:${payload.grantId}`
      multi.rpush(grant, key)
      const ttl = await redis.ttl(grant)
      if (expiresIn > ttl) multi.expire(grant, expiresIn)
    }
    await multi.exec()
  }

  async find(id) {
    if (!consumable.has(this.name)) {
      const text = await redis.get(this.key(id))
      return text === null ? undefined : JSON.parse(text)
    }
    const { payload, ...used } = await redis.hgetall(this.key(id))
    return payload === undefined ? undefined : { ...used, ...JSON.parse(payload) }
  }

  async consume(id) {
    await redis.hset(this.key(id), 'consumed', Math.floor(Date.now() / 1000))
  }

  async destroy(id) {
    await redis.del(this.key(id))
  }
}

const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: RedisAdapter,
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
