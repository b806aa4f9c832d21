/** One sign-in as the modules of the conformance suite do it, with the checks that all of them share. */
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'
import { expect } from 'vitest'
import type { Reply } from '../../../support/clients/http-client.ts'
import { basicOf, postForm } from '../../../support/clients/oauth-requests.ts'
import {
  answerOf,
  newVerifier,
  originOf,
  registerClient,
  requestOf,
  type TestClient,
} from '../../../support/clients/sign-in/applications.ts'
import { type Arrival, Browser } from '../../../support/clients/sign-in/browser.ts'
import { passwordOf, type Stack } from '../../../support/worlds/stack.ts'

/** Changes of a request. */
export type Asked = Readonly<Record<string, string | null>>

/** What a sign-in gave. */
export interface SignedIn {
  readonly code: string
  readonly verifier: string | undefined
  readonly tokens: Readonly<Record<string, unknown>>
  readonly claims: JWTPayload
}

/** What the modules run with. */
export interface World {
  readonly stack: Stack
  readonly metadata: Readonly<Record<string, unknown>>
  readonly client: TestClient
  readonly other: TestClient
  /** False: requests have a nonce alone. */
  readonly hasPkce: boolean
}

/** A world whose clients are registered as the suite wants them. */
export async function openWorld(stack: Stack, hasPkce: boolean): Promise<World> {
  const { body: metadata } = await stack.auth.send('/.well-known/openid-configuration')
  const values = { kind: 'confidential', requirePkce: hasPkce }
  const [client, other] = [await registerClient(stack, values), await registerClient(stack, values)]
  return { stack, metadata, client, other, hasPkce }
}

/** A browser in which nobody is signed in: "remove any cookies". */
export const newBrowser = async ({ stack }: World): Promise<Browser> => new Browser(await originOf(stack))

/** Asks for a code, and signs in as alice where the server asks for that. */
export async function ask(world: World, browser: Browser, asked: Asked = {}, form = false) {
  const { verifier, challenge } = newVerifier()
  const pkce = world.hasPkce ? { code_challenge: challenge } : { code_challenge: null, code_challenge_method: null }
  const query = requestOf(world.client, { ...pkce, ...asked })
  const page = form
    ? await browser.go('/oauth/authorize', Object.fromEntries(query))
    : await browser.go(`/oauth/authorize?${query}`)
  const wasAsked = page.url.includes('/account/sign-in')
  const arrival = wasAsked ? await browser.signIn(page, 'alice', passwordOf('alice')) : page
  return { arrival, wasAsked, verifier: world.hasPkce || 'code_challenge' in asked ? verifier : undefined, challenge }
}

/** Exchanges the code of an arrival, by Basic. */
export function exchangeAt(
  { stack, client }: World,
  { code, verifier }: { readonly code: string; readonly verifier: string | undefined },
): Promise<Reply> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: client.redirectUri }
  const withVerifier = verifier === undefined ? form : { ...form, code_verifier: verifier }
  return postForm(stack, '/oauth/token', withVerifier, basicOf(client.id, client.secret))
}

/** Checks an ID token as the suite does: signature, issuer, audience, times, hashes, nonce. */
export async function verified({ stack, metadata, client }: World, idToken: unknown): Promise<JWTPayload> {
  const keys = createRemoteJWKSet(new URL(String(metadata.jwks_uri)))
  const expected = { issuer: String(metadata.issuer), audience: client.id, currentDate: new Date(stack.clock.now()) }
  const { payload, protectedHeader } = await jwtVerify(String(idToken), keys, expected)
  expect(metadata.id_token_signing_alg_values_supported).toContain(protectedHeader.alg)
  expect(protectedHeader).toMatchObject({ alg: 'RS256', kid: expect.any(String) })
  expect(payload).toMatchObject({ sub: expect.any(String), exp: expect.any(Number), iat: expect.any(Number) })
  expect(String(payload.sub).length).toBeLessThanOrEqual(255)
  return payload
}

/** Reads the answer of a browser that came back, and exchanges its code. */
export async function completed(
  world: World,
  { arrival, verifier }: { readonly arrival: Arrival; readonly verifier: string | undefined },
): Promise<SignedIn> {
  const answer = answerOf(arrival)
  expect(answer, arrival.reply.text.slice(0, 500)).toMatchObject({ state: 'the state', iss: world.metadata.issuer })
  const code = answer.code ?? ''
  const reply = await exchangeAt(world, { code, verifier })
  expect(reply.status, reply.text).toBe(200)
  expect(reply.headers.get('cache-control')).toContain('no-store')
  expect(reply.body).toMatchObject({ token_type: 'Bearer', expires_in: expect.any(Number) })
  return { code, verifier, tokens: reply.body, claims: await verified(world, reply.body.id_token) }
}

/** Signs in in a new browser. */
export const signIn = async (world: World, asked: Asked = {}): Promise<SignedIn> =>
  completed(world, await ask(world, await newBrowser(world), asked))

/** The claims of userinfo, which are of the same person. */
export async function userInfo({ stack }: World, { tokens, claims }: SignedIn, method: 'GET' | 'POST' = 'GET') {
  const { status, body } = await stack.auth.send('/oauth/userinfo', { method, token: String(tokens.access_token) })
  expect({ status, sub: body.sub }).toEqual({ status: 200, sub: claims.sub })
  return body
}
