import { expect, it } from 'vitest'
import { docsPages } from '../../../../shared/server/pages/page-paths.ts'

it.each([
  ['https://auth.example', 'https://deals.example', ['https://auth.example/docs', 'https://deals.example/docs']],
  ['https://one.example', 'https://one.example', ['https://one.example/docs']],
  ['http://127.0.0.1:4000', 'http://[::1]:4001', ['http://127.0.0.1:4000/docs', 'http://[::1]:4001/docs']],
  // A browser has no PKCE for plain HTTP, and a redirect URI on loopback without a port is good with any port.
  ['http://auth.example', 'http://deals.example:80', []],
  ['http://127.0.0.1', 'http://localhost', []],
  // Nobody has set the origin of the deal server.
  ['https://auth.example', 'http://127.0.0.1:4001', ['https://auth.example/docs']],
  ['https://auth.example', 'https://localhost:4001', ['https://auth.example/docs']],
])('people sign in on the documentation pages of secure origins alone: %s, %s', (auth, deal, pages) => {
  expect(new Set(docsPages({ auth, deal }).filter((url) => !url.includes('/rest/')))).toEqual(new Set(pages))
})
