import { describe, expect, it } from 'vitest'
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import { createCrossSiteRule, trustedOrigins } from '../../../../shared/protocol/authentication/cross-site.ts'

const [auth, deal] = ['http://127.0.0.1:4000', 'http://127.0.0.1:4001']
const settings = { host: '127.0.0.1', publicOrigins: { auth, deal }, ports: [4000, 4001], corsOrigins: [] }

it('trusts pages of this machine by all its names where clients come from it alone', () => {
  const names = ['localhost', '127.0.0.1', '[::1]']
  const own = names.flatMap((name) =>
    [4000, 4001].flatMap((port) => [`http://${name}:${port}`, `https://${name}:${port}`]),
  )
  expect([...trustedOrigins(settings)].sort()).toEqual([...own].sort())
})

it.each([
  ['behind a proxy', { publicOrigins: { auth: 'https://auth.example', deal: 'https://deals.example' } }],
  ['with one server behind a proxy', { publicOrigins: { auth, deal: 'https://deals.example' } }],
  ['where other machines reach the listener', { host: '0.0.0.0' }],
])('trusts no page for being on loopback %s', (_where, changed) => {
  const changedSettings = { ...settings, ...changed }
  const expected = new Set(Object.values(changedSettings.publicOrigins))
  expect(trustedOrigins(changedSettings)).toEqual(expected)
})

describe('the cross-site rule', () => {
  type Fields = Readonly<Record<string, string>>
  const rule = createCrossSiteRule(new Set([auth]))
  const isAllowed = (method: string, fields: Fields): boolean => {
    const request = { method, header: (name: string) => fields[name], foreignOrigin: 'https://service.test' }
    try {
      rule(request as unknown as HttpRequest)
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'cross-site' })
      return false
    }
  }
  const unsafe: readonly (readonly [string, Fields])[] = [
    ['POST', {}],
    ['CONNECT', {}],
    ['get', {}],
    ['GET', { upgrade: 'websocket', connection: 'Upgrade' }],
    ['GET', { upgrade: 'h2c' }],
    ['HEAD', { upgrade: '' }],
    ['GET', { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }],
    ['OPTIONS', { 'sec-websocket-version': '13' }],
  ]

  it.each<[Fields, boolean]>([
    [{}, true],
    [{ origin: auth }, true],
    [{ origin: 'https://service.test' }, true],
    [{ origin: auth, 'sec-fetch-site': 'cross-site' }, true],
    [{ origin: deal }, false],
    [{ origin: '' }, false],
    [{ origin: deal, 'sec-fetch-site': 'same-origin' }, false],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': '' }, false],
    [{ origin: 'null' }, false],
    [{ origin: 'null', 'sec-fetch-site': 'same-origin' }, true],
    [{ origin: 'null', 'sec-fetch-site': 'same-site' }, false],
    [{ origin: 'null', 'sec-fetch-site': 'cross-site' }, false],
    [{ origin: 'null', 'sec-fetch-site': '' }, false],
    [{ origin: 'null', 'sec-fetch-site': 'same-origin, cross-site' }, false],
  ])('judges what changes something, or the protocol, by %j: %s', (fields, expected) => {
    for (const [method, more] of unsafe) {
      expect(isAllowed(method, { ...fields, ...more }), `${method} ${JSON.stringify(more)}`).toBe(expected)
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS']) expect(isAllowed(method, fields)).toBe(true)
  })
})
