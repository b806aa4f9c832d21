/** The modules of the Basic OP plan for static clients and discovery, by their names. */
import { expect } from 'vitest'
import { basicOf, expectOAuthError, postForm } from '../../../support/clients/oauth-requests.ts'
import { answerOf } from '../../../support/clients/sign-in/applications.ts'
import {
  type Asked,
  ask,
  completed,
  exchangeAt,
  newBrowser,
  type SignedIn,
  signIn,
  userInfo,
  verified,
  type World,
} from './flow.ts'

/** A module of the plan. */
export interface Module {
  readonly name: string
  /** `warning`: it passes with a warning. `skipped`: discovery says that there is nothing to test. */
  readonly result: 'passed' | 'warning' | 'skipped'
  /** Why it warns or is skipped. */
  readonly reason?: string
  readonly run: (world: World) => Promise<void>
}

const passes = (name: string, run: Module['run']): Module => ({ name, result: 'passed', run })
const warns = (name: string, reason: string, run: Module['run']): Module => ({ name, result: 'warning', reason, run })

/** A module that needs these scopes, which discovery does not name. */
const lacksScopes = (name: string, scopes: readonly string[]): Module => ({
  name,
  result: 'skipped',
  reason: `scopes_supported lacks ${scopes.join(' and ')}`,
  run: async (world) => {
    for (const scope of scopes) expect(world.metadata.scopes_supported).not.toContain(scope)
    await signIn(world, { scope: `openid ${scopes.join(' ')}` })
  },
})

/** A module that needs request objects, which discovery excludes. */
const lacksRequestObjects = (name: string, asked: Asked): Module => ({
  name,
  result: 'skipped',
  reason: 'request_parameter_supported is false',
  run: async (world) => {
    expect(world.metadata.request_parameter_supported).toBe(false)
    const { arrival } = await ask(world, await newBrowser(world), asked)
    expect(answerOf(arrival)).toMatchObject({ error: 'request_not_supported' })
  },
})
/** An unsigned request object: `{"alg":"none"}`, `{}`. */
const unsigned = 'eyJhbGciOiJub25lIn0.e30.'

/** A sign-in with these parameters succeeds. */
const succeeds = (name: string, asked: Asked, form = false) =>
  passes(name, async (world) => {
    await completed(world, await ask(world, await newBrowser(world), asked, form))
  })

/** A sign-in, and another one in the same browser, with what differs. */
async function twice(world: World, pass: (first: SignedIn) => Asked) {
  const browser = await newBrowser(world)
  const first = await completed(world, await ask(world, browser))
  world.stack.clock.advanceSeconds(30)
  const asked = await ask(world, browser, pass(first))
  const second = await completed(world, asked)
  expect(second.claims.sub).toBe(first.claims.sub)
  return { first, second, wasAsked: asked.wasAsked }
}

/** The second sign-in asks the user again, and has a later time. */
const asksAgain = (name: string, asked: Asked) =>
  passes(name, async (world) => {
    const { first, second, wasAsked } = await twice(world, () => asked)
    expect(wasAsked).toBe(true)
    expect(Number(second.claims.auth_time)).toBeGreaterThan(Number(first.claims.auth_time))
  })

/** The second sign-in asks nobody, and has the same time. */
const asksNobody = (name: string, asked: (first: SignedIn) => Asked) =>
  passes(name, async (world) => {
    const { first, second, wasAsked } = await twice(world, asked)
    expect(wasAsked).toBe(false)
    expect(second.claims.auth_time).toBe(first.claims.auth_time)
  })

/** A code that comes again, so much later. */
const reused = (name: string, seconds: number) =>
  passes(name, async (world) => {
    const { code, verifier, tokens } = await signIn(world)
    world.stack.clock.advanceSeconds(seconds)
    expectOAuthError(await exchangeAt(world, { code, verifier }), 400, 'invalid_grant')
    const { status } = await world.stack.auth.send('/oauth/userinfo', { token: String(tokens.access_token) })
    expect(status).toBe(401)
  })

const refreshes = passes('oidcc-refresh-token', async (world) => {
  const { client, other, stack, metadata } = world
  expect(metadata.grant_types_supported).toContain('refresh_token')
  const scope = 'openid offline_access'
  const { tokens, claims } = await signIn(world, { scope, prompt: 'consent' })
  stack.clock.advanceSeconds(1)
  const form = { grant_type: 'refresh_token', scope }
  const refresh = (token: unknown, by = client) =>
    postForm(stack, '/oauth/token', { ...form, refresh_token: String(token) }, basicOf(by.id, by.secret))
  const { status, body } = await refresh(tokens.refresh_token)
  expect({ status, type: body.token_type }).toEqual({ status: 200, type: 'Bearer' })
  expect(body.access_token).not.toBe(tokens.access_token)
  const again = await verified(world, body.id_token)
  for (const name of ['iss', 'sub', 'aud', 'auth_time', 'azp']) expect(again[name]).toEqual(claims[name])
  expect(Number(again.iat)).toBeGreaterThan(Number(claims.iat))
  expectOAuthError(await refresh(body.refresh_token, other), 400, 'invalid_grant')
})

const nameOf = 'an essential claim is not granted by itself: claims_parameter_supported is false'

/** All 35, in the order of the plan. */
export const basicModules: readonly Module[] = [
  passes('oidcc-server', async (world) => {
    expect((await signIn(world)).claims).toMatchObject({ nonce: 'the nonce', at_hash: expect.any(String) })
  }),
  passes('oidcc-response-type-missing', async (world) => {
    const { arrival } = await ask(world, await newBrowser(world), { response_type: null })
    expect(answerOf(arrival)).toMatchObject({ error: 'invalid_request', state: 'the state' })
  }),
  passes('oidcc-userinfo-get', async (world) => void (await userInfo(world, await signIn(world)))),
  passes('oidcc-userinfo-post-header', async (world) => void (await userInfo(world, await signIn(world), 'POST'))),
  warns('oidcc-userinfo-post-body', 'tokens come in the header alone (RFC 6750 §2.2 is optional)', async (world) => {
    const { tokens } = await signIn(world)
    const reply = await postForm(world.stack, '/oauth/userinfo', { access_token: String(tokens.access_token) })
    expect(reply.status).toBe(401)
  }),
  passes('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', async (world) => {
    const { arrival } = await ask(world, await newBrowser(world), { nonce: null })
    expect(answerOf(arrival).code).toBeDefined()
  }),
  passes('oidcc-scope-profile', async (world) => {
    const info = await userInfo(world, await signIn(world, { scope: 'openid profile' }))
    expect(info).toMatchObject({ name: 'Alice', preferred_username: 'alice', updated_at: expect.any(Number) })
  }),
  passes('oidcc-scope-email', async (world) => {
    const info = await userInfo(world, await signIn(world, { scope: 'openid email' }))
    expect(info).toMatchObject({ email: 'alice@example.com', email_verified: false })
  }),
  lacksScopes('oidcc-scope-address', ['address']),
  lacksScopes('oidcc-scope-phone', ['phone']),
  lacksScopes('oidcc-scope-all', ['address', 'phone']),
  passes('oidcc-alternate-happy-flow', async (world) => {
    expect(await userInfo(world, await signIn(world, { scope: 'email openid' }))).toHaveProperty('email')
  }),
  succeeds('oidcc-display-page', { display: 'page' }),
  succeeds('oidcc-display-popup', { display: 'popup' }),
  asksAgain('oidcc-prompt-login', { prompt: 'login' }),
  passes('oidcc-prompt-none-not-logged-in', async (world) => {
    const { arrival } = await ask(world, await newBrowser(world), { prompt: 'none' })
    expect(answerOf(arrival)).toMatchObject({ error: 'login_required', state: 'the state' })
  }),
  asksNobody('oidcc-prompt-none-logged-in', () => ({ prompt: 'none' })),
  asksAgain('oidcc-max-age-1', { max_age: '1' }),
  asksNobody('oidcc-max-age-10000', () => ({ max_age: '10000' })),
  succeeds('oidcc-ensure-request-with-unknown-parameter-succeeds', { extra: 'foobar' }),
  asksNobody('oidcc-id-token-hint', ({ tokens }) => ({ prompt: 'none', id_token_hint: String(tokens.id_token) })),
  succeeds('oidcc-login-hint', { login_hint: 'alice@example.com' }),
  succeeds('oidcc-ui-locales', { ui_locales: 'se' }),
  succeeds('oidcc-claims-locales', { claims_locales: 'se' }),
  warns(
    'oidcc-ensure-request-with-acr-values-succeeds',
    'acr says what happened, not what was asked',
    async (world) => {
      const { claims } = await signIn(world, { acr_values: '1 2' })
      expect(claims.acr).toBe('pwd')
    },
  ),
  reused('oidcc-codereuse', 0),
  reused('oidcc-codereuse-30seconds', 30),
  passes('oidcc-ensure-registered-redirect-uri', async (world) => {
    const { arrival } = await ask(world, await newBrowser(world), { redirect_uri: 'https://app.example/callback/abc' })
    expect(arrival.reply.status).toBe(400)
    expect(arrival.reply.headers.get('content-type')).toContain('text/html')
  }),
  succeeds('oidcc-ensure-post-request-succeeds', {}, true),
  passes('oidcc-server-client-secret-post', async (world) => {
    const { arrival, verifier } = await ask(world, await newBrowser(world))
    const { client, stack } = world
    const { status, body } = await postForm(stack, '/oauth/token', {
      grant_type: 'authorization_code',
      code: answerOf(arrival).code ?? '',
      redirect_uri: client.redirectUri,
      client_id: client.id,
      client_secret: client.secret,
      ...(verifier !== undefined && { code_verifier: verifier }),
    })
    expect(status).toBe(200)
    await verified(world, body.id_token)
  }),
  lacksRequestObjects('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported', {
    request: unsigned,
  }),
  warns('oidcc-claims-essential', nameOf, async (world) => {
    const signedIn = await signIn(world, { claims: '{"userinfo":{"name":{"essential":true}}}' })
    expect(world.metadata.claims_parameter_supported).toBe(false)
    expect(await userInfo(world, signedIn)).not.toHaveProperty('name')
  }),
  lacksRequestObjects('oidcc-ensure-request-object-with-redirect-uri', { request: unsigned }),
  refreshes,
  passes('oidcc-ensure-request-with-valid-pkce-succeeds', async (world) => {
    await signIn({ ...world, hasPkce: true })
  }),
]
