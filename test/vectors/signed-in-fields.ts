/** Requests signed in header fields: the signature base is written out by hand beside each, by RFC 9421. */
import { createHash } from 'node:crypto'
import type { SignedRequestVector } from './signed-request-vectors.ts'
import { deal, hmac, list, now, plain, rsa, signatureOf } from './signing-keys.ts'

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

/** All of them. */
export const signedInFields: readonly SignedRequestVector[] = fieldRows.map(inFields)
