/** Signs in, holds a deal, gets new tokens, signs out. Tokens live in memory: a reload signs in again, silently. */
import * as oauth from './oauth4webapi.js'
import settings from './settings.js'

const { authServer, dealServer, clientId, page } = settings
const options = { [oauth.allowInsecureRequests]: authServer.startsWith('http:') }
const issuer = new URL(authServer)
const server = await oauth
  .discoveryRequest(issuer, options)
  .then((found) => oauth.processDiscoveryResponse(issuer, found))
const client = { client_id: clientId }
const none = oauth.None()
const $ = (id) => document.getElementById(id)
const say = (text) => {
  $('said').textContent = text
}

let tokens

/** Leads to the auth server. What comes back is checked against what is remembered here. */
async function signIn(prompt) {
  const [verifier, state, nonce] = [
    oauth.generateRandomCodeVerifier(),
    oauth.generateRandomState(),
    oauth.generateRandomNonce(),
  ]
  sessionStorage.setItem('asked', JSON.stringify({ verifier, state, nonce }))
  const parameters = {
    client_id: clientId,
    redirect_uri: page,
    response_type: 'code',
    scope: 'openid profile',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
    ...(prompt && { prompt }),
  }
  location.assign(`${server.authorization_endpoint}?${new URLSearchParams(parameters)}`)
}

/** Exchanges the code in the address of this page. */
async function finish() {
  const { verifier, state, nonce } = JSON.parse(sessionStorage.getItem('asked') ?? '{}')
  sessionStorage.removeItem('asked')
  const answer = new URL(location.href)
  history.replaceState(null, '', page)
  const checked = oauth.validateAuthResponse(server, client, answer, state)
  const response = await oauth.authorizationCodeGrantRequest(server, client, none, checked, page, verifier, options)
  show(
    await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    }),
  )
}

function show(got) {
  tokens = { ...tokens, ...got }
  const claims = oauth.getValidatedIdTokenClaims(got)
  if (claims) $('who').textContent = `Signed in as ${claims.preferred_username}.`
  for (const id of ['hold', 'refresh', 'sign-out']) $(id).hidden = false
  $('sign-in').hidden = true
}

async function refresh() {
  const response = await oauth.refreshTokenGrantRequest(server, client, none, tokens.refresh_token, options)
  show(await oauth.processRefreshTokenResponse(server, client, response))
  say('New tokens are here.')
}

async function hold() {
  const call = (path, more) =>
    fetch(dealServer + path, {
      ...more,
      headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
    })
  const list = await (await call('/rest/v1/deals?status=open&held=false&limit=1')).json()
  const [deal] = list.items ?? []
  if (!deal) return say(list.detail ?? 'There is no deal to hold.')
  const reply = await call(`/rest/v1/deals/${deal.id}/hold`, {
    method: 'PUT',
    body: JSON.stringify({ reason: 'Held from a page' }),
  })
  const body = await reply.json()
  say(reply.ok ? `${body.name} is held.` : body.detail)
}

function signOut() {
  const parameters = { id_token_hint: tokens.id_token, post_logout_redirect_uri: page }
  location.assign(`${server.end_session_endpoint}?${new URLSearchParams(parameters)}`)
}

const handle = (work) => () => work().catch((error) => say(error.error_description ?? error.message))
$('sign-in').onclick = handle(() => signIn())
$('hold').onclick = handle(hold)
$('refresh').onclick = handle(refresh)
$('sign-out').onclick = signOut
if (/[?&](code|error)=/.test(location.search)) await handle(finish)()
