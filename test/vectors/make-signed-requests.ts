/**
 * Writes `signed-requests.json`: `node --import tsx test/vectors/make-signed-requests.ts`. The strings to sign are written out by hand, by the
 * contract and RFC 9421; nothing of the servers' own code makes them.
 */
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SignedRequestVector, SignedRequestVectors, VectorKey } from './signed-request-vectors.ts'

const file = join(import.meta.dirname, 'signed-requests.json')
const now = 1_800_000_000
const hmac = '018f0000-0000-7000-8000-000000000001'
const plain = '018f0000-0000-7000-8000-000000000002'
const rsa = '018f0000-0000-7000-8000-000000000003'

/** The keys stay as they are in the file: vectors that others use must not change by being written again. */
function keysOf(): readonly VectorKey[] {
  if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as SignedRequestVectors).keys
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const secretOf = (seed: string) => createHash('sha256').update(seed).digest('base64url')
  return [
    { id: hmac, kind: 'hmac', requireBodyHash: true, secret: secretOf('one') },
    { id: plain, kind: 'hmac', requireBodyHash: false, secret: secretOf('two') },
    { id: rsa, kind: 'rsa', requireBodyHash: true, privateKeyPem: pair.privateKey, publicKeyPem: pair.publicKey },
  ]
}

const keys = keysOf()

function signatureOf(keyId: string, text: string): Buffer {
  const key = keys.find(({ id }) => id === keyId)
  if (key?.kind === 'rsa') return sign('sha256', Buffer.from(text), String(key.privateKeyPem))
  return createHmac('sha256', String(key?.secret)).update(text).digest()
}

interface Row {
  readonly name: string
  readonly method?: string
  readonly target: string
  readonly body?: string
  readonly key?: string
  readonly signed: string
  readonly outcome?: string
}

const stamp = (keyId: string) => `timestamp=${now}&apiKey=${keyId}`

/** In the query: `target` lacks the signature, `$` in it and in `signed` stands for what every signature has. */
function inQuery({
  name,
  method = 'GET',
  target,
  body,
  key = hmac,
  signed,
  outcome = 'accepted',
}: Row): SignedRequestVector {
  const text = signed.replace('$key', `apikey=${key}`).replace('$time', `timestamp=${now}`)
  const signature = signatureOf(key, text).toString('hex')
  return {
    name,
    method,
    target: `${target.replace('$', () => stamp(key))}&signature=${signature}`,
    headers: {},
    body: body ?? null,
    signed: text,
    outcome,
  }
}

const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex')
const deal = '{"name":"Brücke","price":1234}'
const list = '/rest/v1/deals'

const queryRows: Row[] = [
  { name: 'nothing but the signature', target: `${list}?$`, signed: `${list}?$key&$time` },
  { name: 'with an RSA key', key: rsa, target: `${list}?$`, signed: `${list}?$key&$time` },
  {
    name: 'names in lower case, sorted',
    target: `${list}?Status=open&limit=5&$`,
    signed: `${list}?$key&limit=5&status=open&$time`,
  },
  {
    name: 'duplicates are kept and sorted by value',
    target: `${list}?b=2&b=10&a=1&$`,
    signed: `${list}?a=1&$key&b=10&b=2&$time`,
  },
  { name: 'plus and %20 are both a space', target: `${list}?q=a+b%20c&$`, signed: `${list}?$key&q=a b c&$time` },
  { name: '%2B is a plus', target: `${list}?q=a%2Bb&$`, signed: `${list}?$key&q=a+b&$time` },
  { name: 'a slash in a value is decoded', target: `${list}?q=a%2Fb&$`, signed: `${list}?$key&q=a/b&$time` },
  { name: 'the path stays as it is sent', target: '/rest/v1/deals%2F?$', signed: '/rest/v1/deals%2F?$key&$time' },
  { name: 'decoded once only', target: `${list}?q=%2541&$`, signed: `${list}?$key&q=%41&$time` },
  { name: 'no value and an empty one sign alike', target: `${list}?a&b=&$`, signed: `${list}?a=&$key&b=&$time` },
  { name: 'a value may hold =', target: `${list}?q=a=b&$`, signed: `${list}?$key&q=a=b&$time` },
  { name: 'empty parts count for nothing', target: `${list}?&&q=1&&$`, signed: `${list}?$key&q=1&$time` },
  {
    name: 'sorted by octets of UTF-8, not by code units of UTF-16',
    target: `${list}?q=%F0%9F%98%80&q=%EF%BF%A5&q=%C3%A9&$`,
    signed: `${list}?$key&q=é&q=￥&q=😀&$time`,
  },
  { name: 'only ASCII letters have cases', target: `${list}?%C3%84=1&$`, signed: `${list}?$key&$time&Ä=1` },
  {
    name: 'a byte order mark is a character',
    target: `${list}?q=%EF%BB%BFx&$`,
    signed: `${list}?$key&q=\uFEFFx&$time`,
  },
  {
    name: 'a body and its digest',
    method: 'POST',
    target: `${list}/?$&bodySha256=${sha256Hex(deal)}&method=POST`,
    body: deal,
    signed: `${list}/?$key&bodysha256=${sha256Hex(deal)}&method=POST&$time`,
  },
  {
    name: 'a nonce',
    method: 'DELETE',
    target: `${list}/1?$&nonce=7&method=DELETE`,
    signed: `${list}/1?$key&method=DELETE&nonce=7&$time`,
  },
  {
    name: 'a body without its digest',
    method: 'POST',
    target: `${list}/?$`,
    body: deal,
    signed: `${list}/?$key&$time`,
    outcome: 'body-hash-required',
  },
  {
    name: 'a body without its digest, by a key made for that',
    method: 'POST',
    key: plain,
    target: `${list}/?$`,
    body: deal,
    signed: `${list}/?$key&$time`,
  },
  {
    name: 'a deletion that does not bind its method',
    method: 'DELETE',
    target: `${list}/1?$`,
    signed: `${list}/1?$key&$time`,
    outcome: 'signature-method-required',
  },
  {
    name: 'another body than the digest says',
    method: 'POST',
    key: plain,
    target: `${list}/?$&bodySha256=${sha256Hex(deal)}`,
    body: '{}',
    signed: `${list}/?$key&bodysha256=${sha256Hex(deal)}&$time`,
    outcome: 'invalid-signature',
  },
  {
    name: 'another method than it says',
    method: 'POST',
    key: plain,
    target: `${list}/1/unhold?$&method=GET`,
    signed: `${list}/1/unhold?$key&method=GET&$time`,
    outcome: 'invalid-signature',
  },
  {
    name: 'a string that was encoded before it was signed',
    target: `${list}?q=a%20b&$`,
    signed: `${list}?$key&q=a%20b&$time`,
    outcome: 'invalid-signature',
  },
  {
    name: 'a name that holds =',
    target: `${list}?a%3Db=c&$`,
    signed: `${list}?a=b=c&$key&$time`,
    outcome: 'ambiguous-parameter',
  },
  {
    name: 'a name that holds &',
    target: `${list}?a%26b=c&$`,
    signed: `${list}?a&b=c&$key&$time`,
    outcome: 'ambiguous-parameter',
  },
  {
    name: 'a value that holds &',
    target: `${list}?a=b%26c=d&$`,
    signed: `${list}?a=b&c=d&$key&$time`,
    outcome: 'ambiguous-parameter',
  },
  {
    name: 'names that collide',
    target: `${list}?A=1&a=2&$`,
    signed: `${list}?a=1&a=2&$key&$time`,
    outcome: 'ambiguous-parameter',
  },
  { name: 'bad UTF-8', target: `${list}?q=%FF&$`, signed: `${list}?$key&q=\uFFFD&$time`, outcome: 'invalid-parameter' },
  { name: 'NUL', target: `${list}?q=%00&$`, signed: `${list}?$key&q=\0&$time`, outcome: 'invalid-parameter' },
  {
    name: 'bad percent encoding',
    target: `${list}?q=%4&$`,
    signed: `${list}?$key&q=%4&$time`,
    outcome: 'invalid-parameter',
  },
  {
    name: 'two timestamps',
    target: `${list}?timestamp=1&$`,
    signed: `${list}?$key&timestamp=1&$time`,
    outcome: 'invalid-parameter',
  },
  {
    name: 'two keys by the case of a letter',
    target: `${list}?APIKEY=1&$`,
    signed: `${list}?apikey=1&$key&$time`,
    outcome: 'invalid-parameter',
  },
  {
    name: 'two nonces',
    target: `${list}?nonce=1&nonce=2&$`,
    signed: `${list}?$key&nonce=1&nonce=2&$time`,
    outcome: 'invalid-parameter',
  },
]

const times = (
  [
    ['as old as may be', now - 300, 'accepted'],
    ['too old', now - 301, 'signature-too-old'],
    ['as far ahead as may be', now + 300, 'accepted'],
    ['too far ahead', now + 301, 'signature-from-future'],
    ['no time at all', 'soon', 'invalid-signature'],
    ['a time of too many digits', '9'.repeat(13), 'invalid-signature'],
  ] as const
).map(([name, time, outcome]) => {
  const signed = `${list}?apikey=${hmac}&timestamp=${time}`
  const target = `${list}?timestamp=${time}&apiKey=${hmac}&signature=${signatureOf(hmac, signed).toString('hex')}`
  return { name, method: 'GET', target, headers: {}, body: null, signed, outcome }
})

interface FieldRow {
  readonly name: string
  readonly method?: string
  readonly target: string
  readonly body?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly input: string
  readonly base: readonly string[]
  readonly outcome?: string
}

const digest = (text: string) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`

/** In header fields: `base` are the lines before `@signature-params`; `$` in `input` stands for created and keyid. */
function inFields({
  name,
  method = 'GET',
  target,
  body,
  key = hmac,
  headers = {},
  input,
  base,
  outcome = 'accepted',
}: FieldRow): SignedRequestVector {
  const parameters = input.replace('$', `created=${now};keyid="${key}"`)
  const signed = [...base, `"@signature-params": ${parameters}`].join('\n')
  const signature = signatureOf(key, signed).toString('base64')
  return {
    name: `RFC 9421: ${name}`,
    method,
    target,
    headers: { ...headers, 'signature-input': `sig1=${parameters}`, signature: `sig1=:${signature}:` },
    body: body ?? null,
    signed,
    outcome,
  }
}

const get = ['"@method": GET', `"@path": ${list}`]

const fieldRows: FieldRow[] = [
  { name: 'method and path', target: list, input: '("@method" "@path");$', base: get },
  {
    name: 'with an RSA key and its algorithm',
    key: rsa,
    target: list,
    input: '("@method" "@path");$;alg="rsa-v1_5-sha256"',
    base: get,
  },
  {
    name: 'with nonce, tag and expires',
    target: list,
    input: `("@method" "@path");$;nonce="a";tag="b";expires=${now + 1}`,
    base: get,
  },
  {
    name: 'the whole target',
    target: `${list}?limit=5`,
    input: '("@method" "@target-uri");$',
    base: ['"@method": GET', `"@target-uri": https://deals.example${list}?limit=5`],
  },
  {
    name: 'every derived component',
    target: `${list}?q=a+b`,
    headers: { 'x-extra': '  two words ' },
    input:
      '("@method" "@authority" "@scheme" "@target-uri" "@request-target" "@path" "@query" "@query-param";name="q" "x-extra");$',
    base: [
      '"@method": GET',
      '"@authority": deals.example',
      '"@scheme": https',
      `"@target-uri": https://deals.example${list}?q=a+b`,
      `"@request-target": ${list}?q=a+b`,
      `"@path": ${list}`,
      '"@query": ?q=a+b',
      '"@query-param";name="q": a%20b',
      '"x-extra": two words',
    ],
  },
  {
    name: 'a body and its digest',
    method: 'POST',
    target: `${list}/`,
    body: deal,
    headers: { 'content-digest': digest(deal) },
    input: '("@method" "@path" "content-digest");$',
    base: ['"@method": POST', `"@path": ${list}/`, `"content-digest": ${digest(deal)}`],
  },
  {
    name: 'a body without its digest',
    method: 'POST',
    key: plain,
    target: `${list}/`,
    body: deal,
    input: '("@method" "@path");$',
    base: ['"@method": POST', `"@path": ${list}/`],
    outcome: 'body-hash-required',
  },
  {
    name: 'another body than the digest says',
    method: 'POST',
    target: `${list}/`,
    body: '{}',
    headers: { 'content-digest': digest(deal) },
    input: '("@method" "@path" "content-digest");$',
    base: ['"@method": POST', `"@path": ${list}/`, `"content-digest": ${digest(deal)}`],
    outcome: 'invalid-signature',
  },
  {
    name: 'without the method',
    target: list,
    input: '("@path");$',
    base: [`"@path": ${list}`],
    outcome: 'signature-method-required',
  },
  {
    name: 'without the path',
    target: list,
    input: '("@method");$',
    base: ['"@method": GET'],
    outcome: 'invalid-signature',
  },
  {
    name: 'without the query',
    target: `${list}?limit=5`,
    input: '("@method" "@path");$',
    base: get,
    outcome: 'invalid-signature',
  },
  {
    name: 'a component twice',
    target: list,
    input: '("@method" "@method" "@path");$',
    base: ['"@method": GET', ...get],
    outcome: 'invalid-signature',
  },
  {
    name: 'a component that nobody knows',
    target: list,
    input: '("@method" "@path" "@status");$',
    base: [...get, '"@status": 200'],
    outcome: 'invalid-signature',
  },
  {
    name: 'a component with a parameter',
    target: list,
    headers: { 'x-extra': 'a' },
    input: '("@method" "@path" "x-extra";sf);$',
    base: [...get, '"x-extra";sf: a'],
    outcome: 'invalid-signature',
  },
  {
    name: 'a field that is not there',
    target: list,
    input: '("@method" "@path" "x-extra");$',
    base: [...get, '"x-extra": '],
    outcome: 'invalid-signature',
  },
  {
    name: 'a parameter that nobody knows',
    target: list,
    input: '("@method" "@path");$;colour="red"',
    base: get,
    outcome: 'invalid-signature',
  },
  {
    name: 'the algorithm of another kind of key',
    target: list,
    input: '("@method" "@path");$;alg="rsa-v1_5-sha256"',
    base: get,
    outcome: 'invalid-signature',
  },
  {
    name: 'an algorithm that is not served',
    target: list,
    input: '("@method" "@path");$;alg="rsa-pss-sha512"',
    base: get,
    outcome: 'invalid-signature',
  },
  {
    name: 'without created',
    target: list,
    input: `("@method" "@path");keyid="${hmac}"`,
    base: get,
    outcome: 'invalid-signature',
  },
  {
    name: 'too old',
    target: list,
    input: `("@method" "@path");created=${now - 301};keyid="${hmac}"`,
    base: get,
    outcome: 'signature-too-old',
  },
  {
    name: 'of the future',
    target: list,
    input: `("@method" "@path");created=${now + 301};keyid="${hmac}"`,
    base: get,
    outcome: 'signature-from-future',
  },
  {
    name: 'expired by its own word',
    target: list,
    input: `("@method" "@path");$;expires=${now}`,
    base: get,
    outcome: 'signature-too-old',
  },
]

const vectors: SignedRequestVectors = {
  description: 'Signed requests, CONTRACT section 4: in the query, and by RFC 9421. See docs/signed-requests.md.',
  now,
  ttlSeconds: 300,
  origin: 'https://deals.example',
  keys,
  vectors: [...queryRows.map(inQuery), ...times, ...fieldRows.map(inFields)],
}
writeFileSync(file, `${JSON.stringify(vectors, null, 2)}\n`)
