/**
 * Requests signed in the query: the string to sign is written out by hand beside each target, by
 * docs/contract/callers.md#signed-request.
 */
import { createHash } from 'node:crypto'
import type { SignedRequestVector } from './signed-request-vectors.ts'
import { deal, hmac, list, now, plain, rsa, signatureOf } from './signing-keys.ts'

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
  { name: 'its audience', target: `${list}?$&audience=deals`, signed: `${list}?$key&audience=deals&$time` },
  {
    name: 'its origin as the audience',
    target: `${list}?$&Audience=https://deals.example`,
    signed: `${list}?$key&audience=https://deals.example&$time`,
  },
  {
    name: 'the audience of another service',
    target: `${list}?$&audience=urn:example:invoices`,
    signed: `${list}?$key&audience=urn:example:invoices&$time`,
    outcome: 'invalid-signature',
  },
  {
    name: 'an empty audience',
    target: `${list}?$&audience=`,
    signed: `${list}?$key&audience=&$time`,
    outcome: 'invalid-signature',
  },
  {
    name: 'two audiences',
    target: `${list}?$&audience=deals&audience=deals`,
    signed: `${list}?$key&audience=deals&audience=deals&$time`,
    outcome: 'invalid-parameter',
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
    name: 'a body and its digest, without the method',
    method: 'PATCH',
    target: `${list}/1?$&bodySha256=${sha256Hex(deal)}`,
    body: deal,
    signed: `${list}/1?$key&bodysha256=${sha256Hex(deal)}&$time`,
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

/** All of them. */
export const signedInQuery: readonly SignedRequestVector[] = [...queryRows.map(inQuery), ...times]
