import { expect, it } from 'vitest'
import * as z from 'zod'
import { pageParameters, readQuery } from '../../../../../shared/platform/http/content/query-parameters.ts'
import { isSignatureParameter } from '../../../../../shared/protocol/authentication/signature-parameters.ts'
import { plainRequest } from '../../../../support/clients/plain-request.ts'

const read = (rawQuery: string) => readQuery(plainRequest({ method: 'GET', target: `/?${rawQuery}` }), pageParameters)

it('ignores the parameters of signed requests, in any ASCII case and any number', () => {
  for (const name of ['timestamp', 'apiKey', 'APIKEY', 'signature', 'nonce', 'bodySha256', 'bodysha256', 'Method']) {
    expect(isSignatureParameter(name)).toBe(true)
    expect(read(`limit=3&${name}=x&${name}=y`)).toEqual({ limit: 3 })
  }
  for (const name of ['api_key', 'timestamps', 'tımestamp', 'sort']) {
    expect(isSignatureParameter(name)).toBe(false)
    expect(() => read(`${name}=x`)).toThrow()
  }
})

it.each(['%', '%4', '%zz', '%ff', '%C3&limit=3', '%ED%A0%80', '%C0%80'])(
  'refuses %s, as signed requests do',
  (text) => {
    expect(() => read(`cursor=${text}`)).toThrow(expect.objectContaining({ code: 'invalid-parameter' }))
    expect(() => read(`${text}=3`)).toThrow(expect.objectContaining({ code: 'invalid-parameter' }))
  },
)

it('decodes what is percent-encoded, and a plus as a blank', () => {
  expect(read('cursor=a%2Bb+%C3%A9%25&%6cimit=3')).toEqual({ cursor: 'a+b \u00e9%', limit: 3 })
})

it('takes a list more than once, and nothing else', () => {
  const schema = z.strictObject({ list: z.array(z.string().min(1)).max(3).default([]), one: z.string().optional() })
  const readList = (rawQuery: string) => readQuery(plainRequest({ method: 'GET', target: `/?${rawQuery}` }), schema)
  expect([readList(''), readList('list=a'), readList('list=a&one=b&list=c')]).toEqual([
    { list: [] },
    { list: ['a'] },
    { list: ['a', 'c'], one: 'b' },
  ])
  for (const wrong of ['one=a&one=b', 'list=', 'list=a&list=b&list=c&list=d', '__proto__=a&__proto__=b']) {
    expect(() => readList(wrong)).toThrow(expect.objectContaining({ code: 'invalid-parameter' }))
  }
})
