// Starts Swagger UI on the document that the page names, and signs its reader in (RFC 6749 §4.1, RFC 7636). Tokens live
// in memory: a reload signs in again, silently. A file of its own: the page's policy allows no script in the page.
const root = document.getElementById('swagger-ui')
const signInButton = document.getElementById('sign-in')
const signOutForm = document.getElementById('sign-out')
const isElsewhere = root.dataset.origin !== location.origin
let tokens
let refreshing

// Nobody reads a code in the address, or in the history, afterwards.
const answer = new URLSearchParams(location.search)
history.replaceState(null, '', location.pathname)

// The page may have been opened under another name of the server, such as localhost.
document.getElementById('elsewhere').hidden = !isElsewhere

const ui = window.SwaggerUIBundle({
  domNode: root,
  url: root.dataset.document,
  // There are many operations: tags first.
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  // No badge: it would be fetched from elsewhere.
  validatorUrl: null,
  requestInterceptor: withFreshToken,
  onComplete: signInButton && !isElsewhere ? offerSignIn : undefined,
})

function say(text) {
  document.getElementById('who').textContent = text
}

function random() {
  return encode(crypto.getRandomValues(new Uint8Array(32)))
}

function encode(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** Leads to the auth server. What comes back is checked against what is remembered here. */
async function signIn() {
  const { auth, client, page } = signInButton.dataset
  const [verifier, state] = [random(), random()]
  sessionStorage.setItem('asked', JSON.stringify({ verifier, state }))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const parameters = {
    response_type: 'code',
    client_id: client,
    redirect_uri: page,
    scope: 'openid profile',
    state,
    code_challenge: encode(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  }
  location.assign(`${auth}/oauth/authorize?${new URLSearchParams(parameters)}`)
}

/** Exchanges the code that this page has asked for, if it comes with one. */
async function offerSignIn() {
  const { verifier, state } = JSON.parse(sessionStorage.getItem('asked') ?? '{}')
  sessionStorage.removeItem('asked')
  show()
  signInButton.onclick = signIn
  signOutForm.onformdata = ({ formData }) => formData.set('id_token_hint', tokens.id_token)
  if (!answer.has('state')) return
  if (answer.get('state') !== state) say('This page did not ask for what came from the auth server. Sign in again.')
  else if (!answer.has('code')) say(`Nobody is signed in: ${answer.get('error_description') ?? answer.get('error')}`)
  else {
    const { page } = signInButton.dataset
    const form = { code: answer.get('code'), redirect_uri: page, code_verifier: verifier }
    await ask({ grant_type: 'authorization_code', ...form })
    if (tokens) await showName()
  }
}

/** Gets tokens, which Swagger UI sends from now on. Without them, nobody is signed in. */
async function ask(form) {
  const { auth, client } = signInButton.dataset
  const body = new URLSearchParams({ client_id: client, ...form })
  try {
    const response = await fetch(`${auth}/oauth/token`, { method: 'POST', credentials: 'omit', body })
    const given = await response.json()
    tokens = response.ok ? { ...given, staleAt: Date.now() + (given.expires_in - 5) * 1000 } : undefined
    if (tokens) ui.preauthorizeApiKey('bearer', tokens.access_token)
    else say(`Nobody is signed in: ${given.error_description}`)
  } catch (error) {
    say(`The auth server does not answer: ${error.message}`)
  }
  show()
}

async function showName() {
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  const response = await fetch(`${signInButton.dataset.auth}/oauth/userinfo`, { credentials: 'omit', headers })
  say(`Signed in as ${(await response.json()).preferred_username}: requests act for this user.`)
}

function show() {
  signInButton.hidden = tokens !== undefined
  signOutForm.hidden = tokens === undefined
}

/** Sends no cookie, for a request carries one credential, and new tokens in the place of old ones. */
async function withFreshToken(request) {
  request.credentials = 'omit'
  const isOurs = tokens && request.headers.Authorization === `Bearer ${tokens.access_token}`
  if (isOurs && Date.now() > tokens.staleAt) {
    // Requests that find the token stale together wait for one refresh: each refresh token is used once.
    refreshing ??= ask({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token }).finally(() => {
      refreshing = undefined
    })
    await refreshing
    if (tokens) request.headers.Authorization = `Bearer ${tokens.access_token}`
  }
  return request
}

// A page that is shown again as it was would have the tokens of before.
window.onpageshow = ({ persisted }) => persisted && location.reload()
