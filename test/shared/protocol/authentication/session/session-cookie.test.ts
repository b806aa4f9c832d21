import { describe, expect, it } from 'vitest'
import type { HttpRequest } from '../../../../../shared/platform/http/request.ts'
import { createSessionCookie, expireAll } from '../../../../../shared/protocol/authentication/session/session-cookie.ts'

const http = { auth: 'http://127.0.0.1:4000', deal: 'http://127.0.0.1:4001' }
const https = { auth: 'https://auth.example', deal: 'https://deals.example' }

const callWith = (cookie: string | undefined, isHttps = false): HttpRequest =>
  ({ peer: { isHttps }, header: (name: string) => (name === 'cookie' ? cookie : undefined) }) as unknown as HttpRequest

const over = [
  { what: 'plain HTTP', origins: http, isHttps: false, name: 'keyhold_session' },
  { what: 'a connection that is HTTPS', origins: http, isHttps: true, name: '__Host-keyhold_session' },
  { what: 'HTTPS that a proxy takes off', origins: https, isHttps: false, name: '__Host-keyhold_session' },
  {
    what: 'one public origin on HTTPS',
    origins: { ...http, deal: https.deal },
    isHttps: false,
    name: '__Host-keyhold_session',
  },
]

describe.each(over)('the session cookie over $what', ({ origins, isHttps, name }) => {
  const cookie = createSessionCookie({ publicOrigins: origins })
  const secure = name.startsWith('__Host-') ? '; Secure' : ''

  it('is set with all attributes, and expired with the same', () => {
    const call = callWith(undefined, isHttps)
    expect(cookie.set(call, 'key')).toBe(`${name}=key; Path=/; HttpOnly${secure}; SameSite=Lax`)
    expect(cookie.expire(call)).toBe(`${name}=; Path=/; HttpOnly${secure}; SameSite=Lax; Max-Age=0`)
  })

  it('is read under the name under which it is set, and under no other', () => {
    const other = name === 'keyhold_session' ? '__Host-keyhold_session' : 'keyhold_session'
    expect(cookie.read(callWith(`a=b; ${name}=key; c=d`, isHttps))).toEqual(['key'])
    for (const line of [`${other}=key`, `x${name}=key`, `${name}x=key`, `${name.toUpperCase()}=key`, name, '', 'a=b']) {
      expect(cookie.read(callWith(line, isHttps)), line).toEqual([])
    }
    expect(cookie.read(callWith(undefined, isHttps))).toEqual([])
  })

  it('is read as often as it is there, whatever its value', () => {
    const read = (line: string) => cookie.read(callWith(line, isHttps))
    expect(read(`${name}=a;${name}=b`)).toEqual(['a', 'b'])
    expect(read(`${name}=`)).toEqual([''])
    expect(read(`${name} = a=b `)).toEqual(['a=b'])
    expect(read(`${name}="quoted"`)).toEqual(['"quoted"'])
  })
})

describe('the refusal of several session cookies', () => {
  const expired = (path: string, host: string, isHttps = false): string[] => {
    const header = (name: string) => (name === 'host' ? host : undefined)
    const request = { path, peer: { isHttps }, header } as unknown as HttpRequest
    return expireAll(createSessionCookie({ publicOrigins: http }), request)
  }
  const placesIn = (lines: readonly string[]) =>
    lines.map((line) => /^keyhold_session=; (.*); HttpOnly; SameSite=Lax; Max-Age=0$/.exec(line)?.[1])

  it.each([
    ['/', '127.0.0.1:4000', ['Path=/']],
    ['/a', '[::1]:4000', ['Path=/', 'Path=/a', 'Path=/a/']],
    ['/a/', '', ['Path=/', 'Path=/a', 'Path=/a/']],
    ['/a/b.c', '10.0.0.1', ['Path=/', 'Path=/a', 'Path=/a/', 'Path=/a/b.c', 'Path=/a/b.c/']],
    ['/', 'localhost:4000', ['Path=/', 'Path=/; Domain=localhost']],
    ['/', 'a.b.test', ['Path=/', 'Path=/; Domain=a.b.test', 'Path=/; Domain=b.test', 'Path=/; Domain=test']],
    ['/a;Domain=x/b', 'evil;Domain=y', ['Path=/', 'Path=/a', 'Path=/a/']],
  ])('expires those that %s of %s can get', (path, host, places) => {
    expect(placesIn(expired(path, host))).toEqual(places)
  })

  it('stays small, and knows that there is one alone over HTTPS', () => {
    expect(expired('/a'.repeat(5_000), 'a.b.c.d.e.test').length).toBe(28)
    expect(expired('/a', 'a.test', true)).toEqual([expect.stringContaining('__Host-keyhold_session=; Path=/;')])
  })
})
