/** Requests of clients: pushed requests, tokens, userinfo. Numbers are sections of RFC 9700. */
import { randomUUID } from 'node:crypto'
import {
  answerOf,
  assertionOf,
  basic,
  type Changes,
  challengeOf,
  exchange,
  exchangeForm,
  type Proof,
  parametersOf,
  postAs,
  proofOf,
  push,
  statusOf,
  verifier,
} from './ask.ts'
import type { Case } from './authorization-cases.ts'
import { foreignAudience, nobodysKey, type Role, roles, type Side } from './sides.ts'

const withForm =
  (form: (side: Side) => Changes): Proof =>
  async (side) => ({ form: form(side) })
const withAssertion =
  (changes: (side: Side) => Parameters<typeof assertionOf>[1], more: Changes = {}): Proof =>
  async (side) => ({ form: { ...(await assertionOf(side, changes(side))), ...more } })
const claims = (said: (side: Side) => Record<string, unknown>) => withAssertion((side) => ({ claims: said(side) }))
const seconds = (side: Side) => Math.floor(side.now() / 1000)
const secretAsKey = new TextEncoder().encode('a secret of 32 characters or more')

/** Proofs of a client that are wrong, or unusual. */
const proofs: readonly (readonly [name: string, role: Role, proof: Proof])[] = [
  ['nothing', 'web', withForm(() => ({}))],
  ['client_id alone', 'web', withForm(({ clients }) => ({ client_id: clients.web.id }))],
  ['a wrong secret', 'web', async ({ clients }) => basic(clients.web.id, 'wrong')],
  ['an empty secret', 'web', async ({ clients }) => basic(clients.web.id, '')],
  ['the secret of another', 'web', async ({ clients }) => basic(clients.web.id, clients.other.secret)],
  ['an unknown client', 'web', async () => basic(randomUUID(), 'x')],
  ['Basic that is no base64', 'web', async () => ({ headers: { authorization: 'Basic %%%' } })],
  ['Basic without a colon', 'web', async () => ({ headers: { authorization: 'Basic eHg=' } })],
  ['Basic of nothing', 'web', async () => ({ headers: { authorization: 'Basic' } })],
  ['Bearer', 'web', async () => ({ headers: { authorization: 'Bearer x' } })],
  ['basic in small letters', 'web', async ({ clients }) => lowered(basic(clients.web.id, clients.web.secret))],
  ['Basic, with client_id', 'web', both(({ clients }) => ({ client_id: clients.web.id }))],
  ['Basic, with another client_id', 'web', both(({ clients }) => ({ client_id: clients.other.id }))],
  ['Basic, and a secret too', 'web', both(({ clients }) => ({ client_id: clients.web.id, client_secret: 'x' }))],
  [
    'a wrong secret in the form',
    'post',
    withForm(({ clients }) => ({ client_id: clients.post.id, client_secret: 'x' })),
  ],
  ['a secret without client_id', 'post', withForm(({ clients }) => ({ client_secret: clients.post.secret }))],
  ['the secret twice', 'post', withForm(({ clients: { post: own } }) => twice(own.id, own.secret))],
  ['the other method', 'post', async ({ clients }) => basic(clients.post.id, clients.post.secret)],
  [
    'a secret of a public client',
    'page',
    withForm(({ clients }) => ({ client_id: clients.page.id, client_secret: 'x' })),
  ],
  ['Basic without secret', 'page', async ({ clients }) => basic(clients.page.id, '')],
  ['Basic with a secret', 'page', async ({ clients }) => basic(clients.page.id, 'x')],
  ['an unknown client_id', 'page', withForm(() => ({ client_id: randomUUID() }))],
  ['a key of nobody', 'signer', withAssertion(() => ({ key: nobodysKey?.privateKey ?? secretAsKey }))],
  ['HS256', 'signer', withAssertion(() => ({ alg: 'HS256', key: secretAsKey }))],
  ['PS256', 'signer', withAssertion(() => ({ alg: 'PS256' }))],
  ['another issuer', 'signer', claims(({ clients }) => ({ iss: clients.web.id }))],
  ['another subject', 'signer', claims(({ clients }) => ({ sub: clients.web.id }))],
  ['a foreign audience', 'signer', claims(() => ({ aud: 'https://other.example' }))],
  ['the endpoint as audience', 'signer', claims(({ endpoints }) => ({ aud: endpoints.token }))],
  ['two audiences', 'signer', claims(({ issuer }) => ({ aud: [issuer, 'https://other.example'] }))],
  ['no audience', 'signer', claims(() => ({ aud: undefined }))],
  ['an assertion that has expired', 'signer', claims((side) => ({ exp: seconds(side) - 60 }))],
  ['an assertion for later', 'signer', claims((side) => ({ nbf: seconds(side) + 600 }))],
  ['an assertion from later', 'signer', claims((side) => ({ iat: seconds(side) + 600 }))],
  ['an assertion for a year', 'signer', claims((side) => ({ exp: seconds(side) + 31_536_000 }))],
  ['an assertion without exp', 'signer', claims(() => ({ exp: undefined }))],
  ['an assertion without jti', 'signer', claims(() => ({ jti: undefined }))],
  ['an assertion of another type', 'signer', withAssertion(() => ({}), { client_assertion_type: 'x' })],
  ['an assertion without its type', 'signer', withAssertion(() => ({}), { client_assertion_type: null })],
  ['an assertion with another client_id', 'signer', withAssertion(() => ({}), { client_id: randomUUID() })],
  ['an assertion without client_id', 'signer', withAssertion(() => ({}), { client_id: null })],
  ['a text as assertion', 'signer', withAssertion(() => ({}), { client_assertion: 'x' })],
  ['client_id alone', 'signer', withForm(({ clients }) => ({ client_id: clients.signer.id }))],
]

function both(form: (side: Side) => Changes): Proof {
  return async (side) => ({ ...basic(side.clients.web.id, side.clients.web.secret), form: form(side) })
}
const lowered = ({ headers }: { headers: { authorization: string } }) => ({
  headers: { authorization: headers.authorization.replace('Basic', 'basic') },
})
const twice = (id: string, secret: string) => ({ client_id: id, client_secret: [secret, secret] })

const atToken: Case[] = proofs.map(([name, role, proof]) => ({
  name: `token, ${role}: ${name}`,
  run: async (side) => statusOf(await exchange(side, role, { proof })),
}))
const atPar: Case[] = proofs
  .filter(([name]) => !/client_id|Bearer/.test(name))
  .map(([name, role, proof]) => ({
    name: `par, ${role}: ${name}`,
    run: async (side) => statusOf(await push(side, role, {}, proof)),
  }))

const replayed: Case = {
  name: 'token, signer: an assertion twice',
  run: async (side) => {
    const form = await assertionOf(side, {})
    const proof = withForm(() => form)
    const first = statusOf(await exchange(side, 'signer', { proof }))
    return `${first}, ${statusOf(await exchange(side, 'signer', { proof }))}`
  },
}

interface Exchanged {
  readonly asked?: Changes
  readonly changes?: Changes
}
const exchanges = (name: string, { asked, changes }: Exchanged = {}, role: Role = 'web'): Case => ({
  name: `token, ${name}`,
  run: async (side) => statusOf(await exchange(side, role, { ...(asked && { asked }), ...(changes && { changes }) })),
})

/** A form of the token endpoint, made of the right one. */
const sends = (name: string, make: (side: Side, right: URLSearchParams) => Promise<Response>): Case => ({
  name: `token, ${name}`,
  run: async (side) => {
    const { headers: _proved, form } = await proofOf('page')(side)
    const right = parametersOf(side, { ...(await exchangeForm(side, 'page')), ...form })
    return statusOf(await answerOf(await make(side, right)))
  },
})
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

const again: Case[] = [
  {
    name: 'token, 4.5 a code twice',
    run: async (side) => {
      const form = await exchangeForm(side, 'web')
      const answers = [
        await postAs(side, side.endpoints.token, form, proofOf('web')),
        await postAs(side, side.endpoints.token, form, proofOf('web')),
      ]
      const token = String(answers[0]?.body.access_token)
      return `${answers.map(statusOf).join(', ')}, ${await readUserInfo(side, { authorization: `Bearer ${token}` })}`
    },
  },
  {
    name: 'token, 4.5 a code of another client',
    run: async (side) => {
      const form = await exchangeForm(side, 'other')
      const foreign = await postAs(side, side.endpoints.token, form, proofOf('web'))
      const withOwn = { ...form, redirect_uri: roles.web.redirectUris[0] }
      return [foreign, await postAs(side, side.endpoints.token, withOwn, proofOf('web'))].map(statusOf).join(', ')
    },
  },
  {
    name: 'token, a code after a wrong verifier',
    run: async (side) => {
      const form = await exchangeForm(side, 'web')
      const wrong = { ...form, code_verifier: 'w'.repeat(43) }
      const first = await postAs(side, side.endpoints.token, wrong, proofOf('web'))
      return `${statusOf(first)}, ${statusOf(await postAs(side, side.endpoints.token, form, proofOf('web')))}`
    },
  },
]

const names = ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'client_id', 'unknown']
const doubled = names.map((name) =>
  sends(`${name} twice`, (side, right) => {
    right.append(name, right.get(name) ?? 'x')
    right.append(name, right.get(name) ?? 'x')
    return fetch(side.endpoints.token, { method: 'POST', body: right })
  }),
)

/** A refresh with these parameters in place of the right ones. */
const refreshes = (name: string, changes: (tokens: Tokens) => Changes, role: Role = 'web', by: Role = role): Case => ({
  name: `refresh, ${name}`,
  run: async (side) => {
    const { body } = await exchange(side, role, {
      asked: { scope: 'openid profile' },
    })
    const form = { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) }
    return statusOf(await postAs(side, side.endpoints.token, { ...form, ...changes(body) }, proofOf(by)))
  },
})
type Tokens = Readonly<Record<string, unknown>>

/** The first token comes again after so many refreshes, and the latest after it. */
const rotated = [1, 2, 3].map(
  (times): Case => ({
    name: `refresh, 4.14 the first token again after ${times}`,
    run: async (side) => {
      const { body } = await exchange(side, 'web')
      const refresh = (token: unknown) => {
        const form = { grant_type: 'refresh_token', refresh_token: String(token) }
        return postAs(side, side.endpoints.token, form, proofOf('web'))
      }
      let latest = body.refresh_token
      for (let time = 0; time < times; time += 1) latest = (await refresh(latest)).body.refresh_token
      return [await refresh(body.refresh_token), await refresh(latest)].map(statusOf).join(', ')
    },
  }),
)

async function readUserInfo(side: Side, headers: Record<string, string>, init: RequestInit = {}, query = '') {
  const { status, challenge } = await answerOf(await fetch(side.endpoints.userinfo + query, { ...init, headers }))
  return status < 300 ? `${status}` : `${status} ${/error="([^"]*)"/.exec(challenge)?.[1] ?? ''}`.trim()
}

type Asks = (side: Side, tokens: Tokens) => Promise<string>
const reads = (name: string, ask: Asks, asked: Changes = {}): Case => ({
  name: `userinfo, ${name}`,
  run: async (side) => ask(side, (await exchange(side, 'web', { asked })).body),
})
const bearer = (token: unknown, scheme = 'Bearer') => ({ authorization: `${scheme} ${token}` })

/** What clients send. */
export const tokenCases: readonly Case[] = [
  ...(['web', 'post', 'signer', 'page', 'plain', 'native'] as const).map((role) => exchanges(role, {}, role)),
  ...atToken,
  replayed,
  ...again,
  exchanges('no code', { changes: { code: null } }),
  exchanges('an empty code', { changes: { code: '' } }),
  exchanges('a text as code', { changes: { code: 'x' } }),
  exchanges('a long text as code', { changes: { code: 'x'.repeat(20_000) } }),
  exchanges('no redirect_uri', { changes: { redirect_uri: null } }),
  exchanges('4.1 a redirect_uri with one character more', { changes: { redirect_uri: 'https://app.example/cb/' } }),
  exchanges('4.1 the other redirect_uri', { changes: { redirect_uri: roles.web.redirectUris[1] } }),
  exchanges('4.8 no verifier', { changes: { code_verifier: null } }),
  exchanges('4.8 an empty verifier', { changes: { code_verifier: '' } }),
  exchanges('4.8 another verifier', { changes: { code_verifier: 'w'.repeat(43) } }),
  exchanges('4.8 the challenge as verifier', { changes: { code_verifier: challengeOf(verifier) } }),
  exchanges('4.8 a short verifier', { changes: { code_verifier: 'w'.repeat(42) } }),
  exchanges('4.8 a long verifier', { changes: { code_verifier: 'w'.repeat(129) } }),
  exchanges('4.8 a verifier with blanks', { changes: { code_verifier: `${'w'.repeat(43)} ` } }),
  exchanges('without PKCE', { asked: withoutPkce(), changes: { code_verifier: null } }, 'plain'),
  exchanges('4.8 a verifier after a request without challenge', { asked: withoutPkce() }, 'plain'),
  exchanges('4.8 no verifier of a client that may leave PKCE out', { changes: { code_verifier: null } }, 'plain'),
  exchanges('a foreign resource', { changes: { resource: foreignAudience } }),
  exchanges('a scope', { changes: { scope: 'openid' } }),
  ...[null, '', 'password', 'implicit', 'client_credentials', 'AUTHORIZATION_CODE', 'x'].map((grant) =>
    exchanges(`grant_type=${grant}`, { changes: { grant_type: grant } }),
  ),
  ...doubled,
  sends('by GET', (side, right) => fetch(`${side.endpoints.token}?${right}`)),
  sends('in the query', (side, right) => fetch(`${side.endpoints.token}?${right}`, { method: 'POST' })),
  sends('as JSON', (side, right) =>
    fetch(side.endpoints.token, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(Object.fromEntries(right)),
    }),
  ),
  sends('as text', (side, right) => fetch(side.endpoints.token, { method: 'POST', body: right.toString() })),
  sends('nothing', (side) => fetch(side.endpoints.token, { method: 'POST', body: '', headers: formType })),
  refreshes('right', () => ({})),
  refreshes('right of a public client', () => ({}), 'page'),
  refreshes('4.14 by another client', () => ({}), 'other', 'web'),
  refreshes('4.14 of a public client by another', () => ({}), 'page', 'native'),
  refreshes('no token', () => ({ refresh_token: null })),
  refreshes('a text', () => ({ refresh_token: 'x' })),
  refreshes('an access token', ({ access_token }) => ({ refresh_token: String(access_token) })),
  refreshes('an ID token', ({ id_token }) => ({ refresh_token: String(id_token) })),
  refreshes('the same scope in another order', () => ({ scope: 'profile openid' })),
  refreshes('a smaller scope', () => ({ scope: 'openid' })),
  refreshes('a greater scope', () => ({ scope: 'openid deal.read' })),
  refreshes('a foreign resource', () => ({ resource: foreignAudience })),
  refreshes('as a code', ({ refresh_token }) => ({ grant_type: 'authorization_code', code: String(refresh_token) })),
  ...rotated,
  ...(['web', 'post', 'signer', 'page', 'third'] as const).map((role) => ({
    name: `par, ${role}`,
    run: async (side: Side) => statusOf(await push(side, role)),
  })),
  ...atPar,
  ...pushes('request_uri', ['urn:ietf:params:oauth:request_uri:x', 'https://evil.example/r']),
  ...pushes('redirect_uri', [null, 'https://evil.example/cb', 'https://app.example/cb/']),
  ...pushes('response_type', [null, 'token']),
  ...pushes('code_challenge', [null, 'x']),
  ...pushes('code_challenge_method', [null, 'plain']),
  ...pushes('scope', [null, 'openid x', 'x']),
  ...pushes('prompt', ['none', 'none login', 'x']),
  ...pushes('max_age', ['-1']),
  ...pushes('request', ['e30.e30.']),
  ...pushes('resource', [foreignAudience]),
  ...pushes('client_id', [null, ({ clients }) => clients.other.id]),
  ...pushes('state', [['1', '2']]),
  ...pushes('id_token_hint', ['x']),
  reads('right', (side, { access_token }) => readUserInfo(side, bearer(access_token))),
  reads('bearer in small letters', (side, { access_token }) => readUserInfo(side, bearer(access_token, 'bearer'))),
  reads('by POST', (side, { access_token }) => readUserInfo(side, bearer(access_token), { method: 'POST' })),
  reads('token in the form', (side, { access_token }) =>
    readUserInfo(side, formType, { method: 'POST', body: `access_token=${access_token}` }),
  ),
  reads('4.3 token in the query', (side, { access_token }) =>
    readUserInfo(side, {}, {}, `?access_token=${access_token}`),
  ),
  reads('token twice', (side, { access_token }) =>
    readUserInfo(
      side,
      { ...formType, ...bearer(access_token) },
      { method: 'POST', body: `access_token=${access_token}` },
    ),
  ),
  reads('no token', (side) => readUserInfo(side, {})),
  reads('a text', (side) => readUserInfo(side, bearer('x'))),
  reads('nothing behind Bearer', (side) => readUserInfo(side, bearer(''))),
  reads('4.6 an ID token', (side, { id_token }) => readUserInfo(side, bearer(id_token))),
  reads('4.6 a refresh token', (side, { refresh_token }) => readUserInfo(side, bearer(refresh_token))),
  reads('Basic', (side) => readUserInfo(side, basic('alice', 'x').headers)),
  reads('DPoP', (side, { access_token }) => readUserInfo(side, bearer(access_token, 'DPoP'))),
  reads('without openid', (side, { access_token }) => readUserInfo(side, bearer(access_token)), {
    scope: 'deal.read',
    nonce: null,
  }),
]

function withoutPkce(): Changes {
  return { code_challenge: null, code_challenge_method: null }
}

function pushes(name: string, values: readonly Changes[string][]): Case[] {
  return values.map((value) => ({
    name: `par: ${name}=${typeof value === 'function' ? 'that of another' : JSON.stringify(value)}`,
    run: async (side) => statusOf(await push(side, 'web', { [name]: value })),
  }))
}
