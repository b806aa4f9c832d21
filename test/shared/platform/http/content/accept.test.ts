import { expect, it } from 'vitest'
import { prefersJson } from '../../../../../shared/platform/http/content/accept.ts'

it.each([
  [undefined, false],
  ['*/*', false],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
  ['application/json', true],
  ['application/problem+json', true],
  ['application/json, text/plain, */*', false],
  ['application/json, */*;q=0.5', true],
  ['text/html;q=0.5, Application/JSON ; Q=0.6', true],
  ['text/html;q=0, */*', true],
  ['application/*', true],
  ['application/json;q=0', false],
  ['application/json;q=much', false],
  ['image/png', false],
  [',;,', false],
])('takes a client that accepts %s for one that would rather have JSON: %s', (accept, expected) => {
  expect(prefersJson(accept)).toBe(expected)
})
