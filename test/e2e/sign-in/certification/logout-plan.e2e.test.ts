/**
 * What the plan RP-Initiated Logout OP of the OpenID Foundation's conformance suite asks, module by module, after the
 * names and the descriptions of the modules. Keyhold is not certified.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  answerOf,
  codeOf,
  exchange,
  newVerifier,
  registerClient,
  requestOf,
  signedInBrowser,
  type TestClient,
} from '../../../support/clients/sign-in/applications.ts'
import { type Arrival, type Browser, hiddenFields } from '../../../support/clients/sign-in/browser.ts'
import { describeEmbedded } from '../../../support/stores/backends.ts'
import { openStack, type Stack } from '../../../support/worlds/stack.ts'

let stack: Stack
let client: TestClient
const uri = 'https://app.example/signed-out'

describeEmbedded('the plan RP-Initiated Logout OP', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    client = await registerClient(stack, { kind: 'confidential', postLogoutRedirectUris: [uri] })
  })
  afterAll(() => stack.close())

  interface Module {
    readonly name: string
    /** The parameters, of the ID token that the browser's sign-in gave. */
    readonly asked: (idToken: string) => Record<string, string>
    /** Where the browser comes to: the URI, a page that asks or says that the user has signed out, or an error. */
    readonly comes: 'back' | 'back with state' | 'signed out' | 'asked' | 'refused'
  }
  const state = 'the state'
  const hint = (id_token_hint: string) => ({ id_token_hint })
  const all = (idToken: string) => ({ ...hint(idToken), post_logout_redirect_uri: uri, state })
  const modified = (idToken: string) => idToken.replace(/\.[^.]{4}/, '.AAAA')
  const modules: readonly Module[] = [
    { name: 'oidcc-rp-initiated-logout', asked: all, comes: 'back with state' },
    {
      name: 'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
      asked: (idToken) => ({ ...all(idToken), post_logout_redirect_uri: `${uri}/bad` }),
      comes: 'refused',
    },
    {
      name: 'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
      asked: (idToken) => ({ ...all(idToken), post_logout_redirect_uri: `${uri}?foo=bar` }),
      comes: 'refused',
    },
    {
      name: 'oidcc-rp-initiated-logout-modified-id-token-hint',
      asked: (idToken) => all(modified(idToken)),
      comes: 'refused',
    },
    {
      name: 'oidcc-rp-initiated-logout-no-id-token-hint',
      asked: () => ({ client_id: client.id, post_logout_redirect_uri: uri, state }),
      comes: 'asked',
    },
    { name: 'oidcc-rp-initiated-logout-no-params', asked: () => ({}), comes: 'asked' },
    { name: 'oidcc-rp-initiated-logout-only-state', asked: () => ({ state }), comes: 'asked' },
    {
      name: 'oidcc-rp-initiated-logout-no-post-logout-redirect-uri',
      asked: (idToken) => ({ ...hint(idToken), state }),
      comes: 'signed out',
    },
    {
      name: 'oidcc-rp-initiated-logout-no-state',
      asked: (idToken) => ({ ...hint(idToken), post_logout_redirect_uri: uri }),
      comes: 'back',
    },
  ]

  const isSignedIn = async (browser: Browser) => {
    const { challenge } = newVerifier()
    const silent = requestOf(client, { code_challenge: challenge, prompt: 'none' })
    return answerOf(await browser.go(`/oauth/authorize?${silent}`)).code !== undefined
  }
  const placeOf = ({ url, reply }: Arrival): Module['comes'] => {
    if (url === `${uri}?${new URLSearchParams({ state })}`) return 'back with state'
    if (url === uri) return 'back'
    if (url.endsWith('/console/signed-out')) return 'signed out'
    return reply.status === 400 ? 'refused' : 'asked'
  }

  it('oidcc-rp-initiated-logout-discovery-endpoint-verification', async () => {
    const { body } = await stack.auth.send('/.well-known/openid-configuration')
    expect(body.end_session_endpoint).toBe(`${new URL(String(body.issuer)).origin}/oauth/logout`)
  })

  it.each(modules)('$name: the browser is $comes', async ({ asked, comes }) => {
    const browser = await signedInBrowser(stack, 'alice')
    const { body } = await exchange(stack, client, await codeOf(browser, client))
    const arrival = await browser.go(`/oauth/logout?${new URLSearchParams(asked(String(body.id_token)))}`)
    expect(placeOf(arrival)).toBe(comes)
    if (comes === 'asked') {
      expect(await isSignedIn(browser)).toBe(true)
      await browser.go('/oauth/logout/decision', hiddenFields(arrival.reply.text))
    }
    expect(await isSignedIn(browser)).toBe(comes === 'refused')
  })
})
