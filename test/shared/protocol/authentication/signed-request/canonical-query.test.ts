import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../../../shared/platform/problems/errors.ts'
import {
  readSignedQuery,
  stringToSign,
} from '../../../../../shared/protocol/authentication/signed-request/canonical-query.ts'
import { campaign } from '../../../../support/campaign.ts'

type Pair = readonly [name: string, value: string]

/** Text of few characters, so that names meet: those with a meaning, letters in both cases, and others. */
const text = fc.string({
  unit: fc.constantFrom('a', 'A', 'b', '=', '&', '+', ' ', '%', '?', 'é', '\uFEFF', '😀'),
  maxLength: 3,
})
const pairs = fc.array(fc.tuple(text, text), { maxLength: 4 })

const encode = (list: readonly Pair[]): string =>
  list.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')

function signed(rawQuery: string, path = '/p'): string | undefined {
  try {
    return stringToSign(path, readSignedQuery(rawQuery))
  } catch (error) {
    if (error instanceof ProblemError) return undefined
    throw error
  }
}

/** What a list says, whatever its order: names in lower case, as they are signed. */
const meaning = (list: readonly Pair[]): string =>
  JSON.stringify(list.map(([name, value]) => [name.replace(/[A-Z]/g, (c) => c.toLowerCase()), value].join('\0')).sort())

describe('the string to sign', () => {
  it('is never shared by two different lists of parameters', () => {
    fc.assert(
      fc.property(pairs, pairs, (one, other) => {
        const [a, b] = [signed(encode(one)), signed(encode(other))]
        fc.pre(a !== undefined && b !== undefined)
        expect(a === b).toBe(meaning(one) === meaning(other))
      }),
      { numRuns: campaign({ short: 300, long: 3000 }) },
    )
  })

  it('is never shared after a list is cut at another place', () => {
    fc.assert(
      fc.property(text, text, text, (a, b, c) => {
        const joined = signed(encode([[a, `${b}&${c}`]]))
        const split = signed(
          encode([
            [a, b],
            [c, ''],
          ]),
        )
        expect(joined === undefined || joined !== split).toBe(true)
      }),
    )
  })

  it('is the same for every spelling and order of one list', () => {
    fc.assert(
      fc.property(pairs, fc.boolean(), (list, isReversed) => {
        const escapeAll = (part: string) =>
          [...Buffer.from(part)].map((octet) => `%${octet.toString(16).padStart(2, '0')}`).join('')
        const spelt = list.map(([name, value]) => `${escapeAll(name)}=${escapeAll(value)}`)
        const plain = signed(encode(list))
        fc.pre(plain !== undefined && list.every(([name, value]) => name !== '' || value !== ''))
        expect(signed((isReversed ? spelt.reverse() : spelt).join('&'))).toBe(plain)
      }),
    )
  })

  it('differs from path to path', () => {
    expect(signed('a=1', '/p')).not.toBe(signed('a=1', '/p/'))
    expect(signed('a=1', '/%70')).not.toBe(signed('a=1', '/p'))
  })
})

describe('a query', () => {
  it('never makes anything but a list or a refusal of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (query) => {
        const result = signed(query)
        expect(result === undefined || typeof result === 'string').toBe(true)
      }),
    )
  })

  it.each(['%', '%1', '%zz', '%C3', '%C3%28', '%ED%A0%80', '%F5%80%80%80', '%C0%80', 'a=%00', 'ü', 'a b', 'a#b'])(
    'that is not well encoded is refused: %s',
    (query) => expect(() => readSignedQuery(query)).toThrow(expect.objectContaining({ code: 'invalid-parameter' })),
  )

  it.each(['timestamp', 'apiKey', 'signature', 'nonce', 'method', 'bodySha256'])('names %s at most once', (name) => {
    for (const query of [`${name}=1&${name}=1`, `${name}=1&${name.toUpperCase()}=2`]) {
      expect(() => readSignedQuery(query)).toThrow(expect.objectContaining({ code: 'invalid-parameter' }))
    }
  })
})
