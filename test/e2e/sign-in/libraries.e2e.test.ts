/** Client libraries of others, by discovery, with each way in which a client authenticates. */
import { type CryptoKey, importPKCS8 } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { registerClient, signedInBrowser } from '../../support/clients/sign-in/applications.ts'
import type { Browser } from '../../support/clients/sign-in/browser.ts'
import { matrixForm, matrixOf } from '../../support/matrix.ts'
import { rsaPair } from '../../support/rsa-pair.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const pair = rsaPair()
const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()

/** How a client proves itself, by the names of RFC 7591 §2. */
const methods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
type Method = (typeof methods)[number]

const ways = matrixOf(
  { method: methods, isPushed: [false, true], hasPkce: [true, false] },
  ({ method, hasPkce }) => hasPkce || method !== 'none',
)
const title = '$method, pushed: $isPushed, PKCE: $hasPkce'
const scope = 'openid profile roles offline_access'

let stack: Stack
let browser: Browser
let issuer: URL
let key: CryptoKey

describeBackends(`applications sign people in by a library: ${matrixForm}`, (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    browser = await signedInBrowser(stack, 'alice')
    issuer = new URL(stack.auth.url)
    key = await importPKCS8(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 'RS256')
  })
  afterAll(() => stack.close())

  const register = (method: Method, hasPkce: boolean) =>
    registerClient(stack, {
      kind: method === 'none' ? 'public' : 'confidential',
      requirePkce: hasPkce,
      ...(method === 'private_key_jwt' && { publicKeyPem: pem }),
    })

  it.each(ways)(`openid-client: ${title}`, async ({ method, isPushed, hasPkce }) => {
    const { id, secret, redirectUri } = await register(method, hasPkce)
    const authentication = {
      none: () => openid.None(),
      client_secret_basic: () => openid.ClientSecretBasic(secret),
      client_secret_post: () => openid.ClientSecretPost(secret),
      private_key_jwt: () => openid.PrivateKeyJwt(key),
    }[method]()
    const options = { execute: [openid.allowInsecureRequests] }
    const config = await openid.discovery(issuer, id, undefined, authentication, options)
    const verifier = openid.randomPKCECodeVerifier()
    const [state, nonce] = [openid.randomState(), openid.randomNonce()]
    const asked = {
      redirect_uri: redirectUri,
      scope,
      state,
      nonce,
      ...(hasPkce && {
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    }
    const url = isPushed
      ? await openid.buildAuthorizationUrlWithPAR(config, asked)
      : openid.buildAuthorizationUrl(config, asked)
    const arrival = await browser.go(url.href)
    const checks = { expectedState: state, expectedNonce: nonce, idTokenExpected: true, maxAge: 3_600 }
    const tokens = await openid.authorizationCodeGrant(config, new URL(arrival.url), {
      ...checks,
      ...(hasPkce && { pkceCodeVerifier: verifier }),
    })
    const claims = tokens.claims()
    expect(claims).toMatchObject({ aud: id, preferred_username: 'alice', acr: 'pwd', roles: expect.any(Array) })
    const info = await openid.fetchUserInfo(config, tokens.access_token, claims?.sub ?? '')
    expect(info).toMatchObject({ sub: claims?.sub, preferred_username: 'alice' })
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(refreshed.claims()?.sub).toBe(claims?.sub)
    expect((await stack.deal.send('/rest/v1/deals', { token: refreshed.access_token })).status).toBe(200)
    await openid.tokenRevocation(config, refreshed.refresh_token ?? '')
    await expect(openid.refreshTokenGrant(config, refreshed.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    expect((await stack.deal.send('/rest/v1/deals', { token: refreshed.access_token })).status).toBe(401)
  })

  it.each(ways)(`oauth4webapi: ${title}`, async ({ method, isPushed, hasPkce }) => {
    const { id, secret, redirectUri } = await register(method, hasPkce)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
    const client = { client_id: id }
    const authentication = {
      none: () => oauth.None(),
      client_secret_basic: () => oauth.ClientSecretBasic(secret),
      client_secret_post: () => oauth.ClientSecretPost(secret),
      private_key_jwt: () => oauth.PrivateKeyJwt(key),
    }[method]()
    const verifier = oauth.generateRandomCodeVerifier()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const asked = new URLSearchParams({
      client_id: id,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope,
      state,
      nonce,
      ...(hasPkce && {
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    })
    const pushed = async () => {
      const response = await oauth.pushedAuthorizationRequest(server, client, authentication, asked, insecure)
      const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, response)
      return new URLSearchParams({ client_id: id, request_uri })
    }
    const arrival = await browser.go(`${server.authorization_endpoint}?${isPushed ? await pushed() : asked}`)
    const answer = oauth.validateAuthResponse(server, client, new URL(arrival.url), state)
    const exchanged = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      answer,
      redirectUri,
      hasPkce ? verifier : oauth.nopkce,
      insecure,
    )
    const expected = { expectedNonce: nonce, requireIdToken: true }
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, exchanged, expected)
    await oauth.validateApplicationLevelSignature(server, exchanged, insecure)
    const sub = oauth.getValidatedIdTokenClaims(tokens)?.sub ?? ''
    const asking = await oauth.userInfoRequest(server, client, tokens.access_token, insecure)
    const info = await oauth.processUserInfoResponse(server, client, sub, asking)
    expect(info.preferred_username).toBe('alice')
    const token = tokens.refresh_token ?? ''
    const refreshing = await oauth.refreshTokenGrantRequest(server, client, authentication, token, insecure)
    const refreshed = await oauth.processRefreshTokenResponse(server, client, refreshing)
    const revoking = await oauth.revocationRequest(server, client, authentication, refreshed.access_token, insecure)
    await oauth.processRevocationResponse(revoking)
    expect((await stack.deal.send('/rest/v1/deals', { token: refreshed.access_token })).status).toBe(401)
  })
})
