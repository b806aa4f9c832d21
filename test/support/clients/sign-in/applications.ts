/** Applications that sign people in with a stack: clients, browsers, and what they send. */
import { createHash, randomBytes } from 'node:crypto'
import { passwordOf, type Stack } from '../../worlds/stack.ts'
import { type Reply, rememberSecret } from '../http-client.ts'
import { type Arrival, Browser } from './browser.ts'

/** What signing in needs of a stack. */
export type SignInStack = Pick<Stack, 'auth' | 'logIn'>

/** A client that was registered. */
export interface TestClient {
  readonly id: string
  /** Empty for a public client. */
  readonly secret: string
  readonly redirectUri: string
}

/** The redirect URI of clients of tests. Nobody listens there. */
export const callback = 'https://app.example/callback'

let made = 0

/** Registers a client as `admin`: public and first-party unless told otherwise. */
export async function registerClient(stack: SignInStack, values: object = {}): Promise<TestClient> {
  made += 1
  const { access } = await stack.logIn('admin')
  const base = { name: `application ${made}`, kind: 'public', firstParty: true, redirectUris: [callback] }
  const { status, body, text } = await stack.auth.send('/clients', { token: access, json: { ...base, ...values } })
  if (status !== 201) throw new Error(text)
  const secret = String(body.secret ?? '')
  if (secret !== '') rememberSecret(secret)
  return { id: String(body.id), secret, redirectUri: (body.redirectUris as string[])[0] ?? '' }
}

/** A new verifier with its challenge (RFC 7636). */
export function newVerifier() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** The origin that browsers see. */
export const originOf = async (stack: SignInStack): Promise<string> => {
  const { body } = await stack.auth.send('/.well-known/openid-configuration')
  return new URL(String(body.authorization_endpoint)).origin
}

/** The parameters of a request of this client; null leaves one out. */
export function requestOf(client: TestClient, more: Readonly<Record<string, string | null>> = {}): URLSearchParams {
  const all = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirectUri,
    scope: 'openid',
    state: 'the state',
    nonce: 'the nonce',
    code_challenge_method: 'S256',
    ...more,
  }
  return new URLSearchParams(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null))
}

/** What came to the client: the members of the query of its redirect URI. */
export const answerOf = ({ url }: Pick<Arrival, 'url'>): Readonly<Record<string, string>> =>
  Object.fromEntries(new URL(url).searchParams)

/** A browser in which this user is signed in. */
export async function signedInBrowser(stack: SignInStack, username: string): Promise<Browser> {
  const browser = new Browser(await originOf(stack))
  await browser.go('/sessions', {
    username,
    password: passwordOf(username),
    return_to: `${await originOf(stack)}/docs`,
  })
  return browser
}

/** Sends a browser for a code, and returns what the client gets, with the verifier. */
export async function codeOf(
  browser: Browser,
  client: TestClient,
  more: Readonly<Record<string, string | null>> = {},
): Promise<{ readonly code: string; readonly verifier: string }> {
  const { verifier, challenge } = newVerifier()
  const arrival = await browser.go(`/oauth/authorize?${requestOf(client, { code_challenge: challenge, ...more })}`)
  const { code } = answerOf(arrival)
  if (code === undefined) throw new Error(`no code at ${arrival.url}: ${arrival.reply.text.slice(0, 2000)}`)
  return { code, verifier }
}

/** Sends a form to the token endpoint as this client. */
export async function askTokens(
  stack: SignInStack,
  client: TestClient,
  form: Readonly<Record<string, string | undefined>>,
): Promise<Reply> {
  const fields = { client_id: client.id, ...(client.secret !== '' && { client_secret: client.secret }), ...form }
  const given = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const reply = await stack.auth.send('/oauth/token', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(given).toString(),
  })
  for (const name of ['access_token', 'refresh_token', 'id_token'])
    if (typeof reply.body[name] === 'string') rememberSecret(reply.body[name])
  return reply
}

/** Exchanges a code. */
export const exchange = (
  stack: SignInStack,
  client: TestClient,
  { code, verifier }: { code: string; verifier?: string },
) =>
  askTokens(stack, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirectUri,
    code_verifier: verifier,
  })
