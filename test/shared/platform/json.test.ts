import { expect, it } from 'vitest'
import { DoubledMember, parseJson } from '../../../shared/platform/json.ts'

it.each([
  '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}',
  '{"a:":":\\":","b":"\\\\"}',
  '{"__proto__":1,"constructor":{"__proto__":2}}',
  '[[],{},"a:b",null,1e3,true]',
  '":"',
])('reads %s', (text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text))
})

it.each([
  '{"a":1,"a":1}',
  '{"a":1,"\\u0061":2}',
  '[{"b":{"c":[{"a":{},"a":[]}]}}]',
  '{"__proto__":1,"__proto__":1}',
  '{"\\\\":1,"\\u005c":":"}',
])('refuses %s', (text) => {
  expect(() => parseJson(text)).toThrow(DoubledMember)
})

it('reads what is as deep as it is long', () => {
  const depth = 100_000
  expect(() => parseJson(`${'['.repeat(depth)}{"a":1,"a":1}${']'.repeat(depth)}`)).toThrow(DoubledMember)
})
