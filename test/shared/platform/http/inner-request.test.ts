import { describe, expect, it } from 'vitest'
import { createInnerRequest } from '../../../../shared/platform/http/inner-request.ts'
import { createHttpRequest } from '../../../../shared/platform/http/request.ts'

/** A request as a browser sends it for a page, with what a program could add. */
function pageRequest() {
  const headers = {
    cookie: 'keyhold_session=k',
    authorization: 'Bearer t',
    origin: 'http://a.test',
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': '7',
    'if-match': '"1"',
    'x-http-method-override': 'DELETE',
  }
  const rawHeaders = Object.entries(headers).flat()
  const incoming = { method: 'POST', url: '/page?a=1&signature=s', headers, rawHeaders }
  const peer = { address: '127.0.0.1', isHttps: false, isContradicted: false }
  return createHttpRequest({ incoming, peer, pathParameters: { page: 'x' }, requestId: 'r' } as never)
}

describe('a request that a page makes', () => {
  const inner = createInnerRequest(pageRequest(), {
    method: 'PUT',
    path: '/things/1',
    pathParameters: { id: '1' },
    headers: { 'content-type': 'application/json' },
    body: '{"ü":1}',
  })

  it('has the session and the origin of the page, and no other credential', () => {
    expect(inner.header('cookie')).toBe('keyhold_session=k')
    expect(inner.header('origin')).toBe('http://a.test')
    expect(inner.header('sec-fetch-site')).toBe('same-origin')
    expect(inner.header('authorization')).toBeUndefined()
    expect(inner.headerLines('authorization')).toEqual([])
    expect(inner.query.get('signature')).toBeNull()
  })

  it('has its own method, path, body and type, and no option of the page', async () => {
    expect([inner.method, inner.path, inner.pathParameters]).toEqual(['PUT', '/things/1', { id: '1' }])
    expect(inner.header('content-type')).toBe('application/json')
    expect(inner.header('content-length')).toBe('8')
    expect((await inner.readBody()).toString()).toBe('{"ü":1}')
    expect(inner.header('if-match')).toBeUndefined()
    expect(inner.header('x-http-method-override')).toBeUndefined()
    expect(inner.rawQuery).toBe('')
  })

  it('names its caller in the log line of the page', () => {
    const outer = pageRequest()
    const named = createInnerRequest(outer, { method: 'GET', path: '/', pathParameters: {} })
    named.caller = { userId: 'u', scheme: 'session' }
    expect(outer.caller).toEqual({ userId: 'u', scheme: 'session' })
    expect(named.requestId).toBe(outer.requestId)
  })
})
