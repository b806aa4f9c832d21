/** Authorization requests, good and bad. Numbers are sections of RFC 9700. */
import { randomUUID } from 'node:crypto'
import { type Asking, authorize, type Changes, exchange, outcomeOf, push } from './ask.ts'
import { foreignAudience, type Role, roles, type Side } from './sides.ts'

/** A request of the suite. */
export interface Case {
  readonly name: string
  run(side: Side): Promise<string>
}

const asks = (name: string, changes: Changes, role: Role = 'web', asking: Asking = {}): Case => ({
  name,
  run: async (side) => outcomeOf(side, await authorize(side, role, changes, asking)),
})

const redirectsOfWeb = [
  'https://app.example/cb',
  'https://app.example/other?tenant=1',
  'https://app.example/other',
  'https://app.example/other?tenant=2',
  'https://app.example/other?tenant=1&more=1',
  'https://app.example/cb/',
  'https://app.example/c',
  'https://app.example/cbb',
  'https://app.example/CB',
  'https://APP.example/cb',
  'HTTPS://app.example/cb',
  'http://app.example/cb',
  'https://app.example:443/cb',
  'https://app.example:8443/cb',
  'https://user@app.example/cb',
  'https://user:word@app.example/cb',
  'https://app.example/cb#',
  'https://app.example/cb#part',
  'https://app.example/cb?',
  'https://app.example/cb?x=1',
  'https://app.example/%63b',
  'https://app.example/a/../cb',
  'https://app.example/a/%2e%2e/cb',
  'https://app.example/%2e/cb',
  'https://app.example//cb',
  'https://app.example\\cb',
  'https://app.example/cb%00',
  'https://app.example/cb\u0000',
  'https://app.example/cb ',
  ' https://app.example/cb',
  'https://app.example/cb\n',
  'https://app.example./cb',
  'https://app.example.evil.example/cb',
  'https://evil.example/https://app.example/cb',
  'https://app.example@evil.example/cb',
  'https://other.example/cb',
  '//app.example/cb',
  '/cb',
  'javascript:alert(1)',
  'data:text/html,x',
  'urn:ietf:wg:oauth:2.0:oob',
]
const redirectsOfNative = [
  'http://127.0.0.1/cb',
  'http://127.0.0.1:49152/cb',
  'http://127.0.0.1:80/cb',
  'http://127.0.0.1:99999/cb',
  'http://127.0.0.1:/cb',
  'http://127.0.0.1:49152/cb/',
  'http://127.0.0.1:49152/cb?x=1',
  'http://127.0.0.1:49152/cb#x',
  'http://user@127.0.0.1:49152/cb',
  'http://127.0.0.2:49152/cb',
  'http://127.1:49152/cb',
  'http://2130706433/cb',
  'http://localhost:49152/cb',
  'http://[::1]:49152/cb',
  'https://127.0.0.1:49152/cb',
  'com.example.app:/cb',
  'com.example.app:/other',
  'com.example.app://cb',
]

const parameters = [
  'response_type',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'max_age',
  'login_hint',
  'id_token_hint',
  'claims',
  'unknown',
]
const rightTwice: Case[] = (['client_id', 'redirect_uri'] as const).map((name) => ({
  name: `${name} twice, rightly`,
  run: async (side) => {
    const value = name === 'client_id' ? side.clients.web.id : roles.web.redirectUris[0]
    return outcomeOf(side, await authorize(side, 'web', { [name]: [value, value] }))
  },
}))
const withoutPkce: Changes = { code_challenge: null, code_challenge_method: null }

const single = (name: string, values: readonly (string | null)[], role: Role = 'web'): Case[] =>
  values.map((value) => asks(`${role}: ${name}=${shortened(value)}`, { [name]: value }, role))

const shortened = (value: string | null): string =>
  value === null || value.length < 60 ? `${value}` : `${value.slice(0, 20)}… (${value.length})`

const signedOut: Case[] = [null, 'none', 'login', 'consent', 'none login'].map((prompt) =>
  asks(`nobody signed in, prompt=${prompt}`, { prompt }, 'web', { isSignedIn: false }),
)

const hints: Case[] = [
  { name: 'id_token_hint of this client', asked: 'web' as const },
  { name: 'id_token_hint of another client', asked: 'other' as const },
].map(({ name, asked }) => ({
  name,
  run: async (side) => {
    const { body } = await exchange(side, asked)
    return outcomeOf(side, await authorize(side, 'web', { id_token_hint: String(body.id_token) }))
  },
}))

/** A request that was pushed goes on with this query. */
const pushed = (name: string, only: Changes, asks = 1): Case => ({
  name: `pushed, then ${name}`,
  run: async (side) => {
    const { body } = await push(side, 'web')
    let outcome = ''
    for (let time = 0; time < asks; time += 1) {
      const query = { request_uri: String(body.request_uri), ...only }
      outcome = outcomeOf(side, await authorize(side, 'web', {}, { only: query }))
    }
    return outcome
  },
})
const idOf = (role: Role) => (side: Side) => side.clients[role].id

/** What browsers send. */
export const authorizationCases: readonly Case[] = [
  ...redirectsOfWeb.map((uri) => asks(`4.1 web: redirect_uri=${JSON.stringify(uri)}`, { redirect_uri: uri })),
  ...redirectsOfNative.map((uri) => asks(`4.1 native: redirect_uri=${uri}`, { redirect_uri: uri }, 'native')),
  ...single('redirect_uri', [null, '']),
  asks('4.11 another client with the redirect_uri of this one', { client_id: idOf('other') }),
  ...single('client_id', [null, '', 'nonsense', randomUUID(), "' or 1=1 --"]),
  asks('client_id in capitals', { client_id: (side) => side.clients.web.id.toUpperCase() }),
  ...parameters.map((name) => asks(`${name} twice`, { [name]: ['1', '1'] })),
  ...rightTwice,
  asks('state twice, differently', { state: ['one', 'two'] }),
  ...single('response_type', [null, '', 'token', 'id_token', 'code id_token', 'code token', 'none', 'CODE', 'x']),
  ...single('response_mode', ['query', 'fragment', 'form_post', 'web_message', 'query.jwt', 'x', '']),
  ...single('state', [null, '', 'ü€', 's'.repeat(512), 's'.repeat(513)]),
  ...single('nonce', [null, '', 'n'.repeat(513)]),
  ...single('scope', [null, '', 'openid openid', ' openid ', 'openid\tprofile', 'openid "', 'openid é', 'OPENID', 'x']),
  ...single('scope', ['openid x', 'openid profile email roles', 'profile', 'deal.read', 'openid deal.read x']),
  ...single('scope', ['openid offline_access', 'openid user.manage'], 'third'),
  // 4.8: downgrade of PKCE.
  ...single('code_challenge', [null, '', 'x'.repeat(42), 'x'.repeat(44), 'x'.repeat(128), `${'x'.repeat(42)}=`]),
  ...single('code_challenge', ['x'.repeat(42).concat('+'), 'x'.repeat(129), `${'x'.repeat(42)} `]),
  ...single('code_challenge_method', [null, '', 'plain', 's256', 'S512']),
  asks('4.8 a public client without PKCE', withoutPkce, 'page'),
  asks('4.8 a client that needs PKCE without it', withoutPkce),
  asks('a client that needs no PKCE without it', withoutPkce, 'plain'),
  asks('a client that needs no PKCE without it and nonce', { ...withoutPkce, nonce: null }, 'plain'),
  asks('a client that needs no PKCE without it and openid', { ...withoutPkce, scope: 'deal.read' }, 'plain'),
  asks('a client that needs no PKCE with a method alone', { code_challenge: null }, 'plain'),
  asks('a client that needs no PKCE with plain', { code_challenge_method: 'plain' }, 'plain'),
  ...single('prompt', ['none', 'login', 'consent', 'select_account', 'create', 'none login', 'login consent', 'x', '']),
  ...single('prompt', ['NONE', 'none none', ' none']),
  ...single('prompt', [null, 'none', 'login', 'consent'], 'third'),
  ...signedOut,
  ...single('max_age', ['0', '100000', '-1', '1.5', 'x', '', '+50000', '1e5', '99999999999999999999']),
  asks('max_age=0 with prompt=none', { max_age: '0', prompt: 'none' }),
  ...single('id_token_hint', ['x', 'e30.e30.', '']),
  ...hints,
  ...single('claims', ['{"id_token":{"email":null}}', 'x', '[]']),
  ...single('acr_values', ['pwd', 'unknown:acr']),
  ...single('display', ['page', 'x']),
  ...single('ui_locales', ['de fr', 'x'.repeat(100)]),
  ...single('login_hint', ['alice', 'x']),
  ...single('request', ['e30.e30.', 'x']),
  ...single('request_uri', ['https://evil.example/r', 'urn:ietf:params:oauth:request_uri:x', 'x']),
  ...single('registration', ['{}']),
  ...single('resource', [foreignAudience, 'x', '', 'urn:x#y']),
  asks('unknown parameters', { unknown: 'x', __proto__x: 'y', 'a[b]': 'c' }),
  asks('by POST', {}, 'web', { method: 'POST' }),
  asks('by POST without response_type', { response_type: null }, 'web', { method: 'POST' }),
  asks('by POST with a foreign redirect_uri', { redirect_uri: 'https://evil.example' }, 'web', { method: 'POST' }),
  asks('nothing', {}, 'web', { only: {} }),
  pushed('used', { client_id: idOf('web') }),
  pushed('used twice', { client_id: idOf('web') }, 2),
  pushed('by another client', { client_id: idOf('other') }),
  pushed('without client_id', {}),
  pushed('with another state beside it', { client_id: idOf('web'), state: 'another' }),
  pushed('with a foreign redirect_uri beside it', { client_id: idOf('web'), redirect_uri: 'https://evil.example' }),
]
