import { describe, expect, it } from 'vitest'
import { redirectUriProblem, registeredUri } from '../../../auth-server/clients/redirect-uri.ts'

describe('a redirect URI', () => {
  it.each([
    'https://app.example/callback',
    'https://app.example',
    'https://app.example/',
    'https://app.example/cb?tenant=a',
    'https://app.example:8443/cb',
    'https://xn--bcher-kva.example/cb',
    'http://127.0.0.1/cb',
    'http://127.0.0.1:3000/cb',
    'http://[::1]/cb',
    'http://localhost:3000/cb',
  ])('can be %s', (uri) => {
    expect(redirectUriProblem(uri, 'confidential')).toBeUndefined()
  })

  it.each([
    '',
    'app.example/cb',
    '//app.example/cb',
    '/cb',
    'https:app.example',
    'https:///app.example',
    'https://app.example/cb#x',
    'https://app.example/cb#',
    'https://user@app.example/cb',
    'https://user:secret@app.example/cb',
    'https://*.example/cb',
    'https://app.example/*',
    'https://app.example\\cb',
    'https://app.example/a/../cb',
    'https://app.example/a/%2e%2e/cb',
    'HTTPS://app.example/cb',
    'https://APP.example/cb',
    'https://app.example:443/cb',
    'https://bücher.example/cb',
    'https://app.example/cb\n',
    ' https://app.example/cb',
    'https://app.example/c b',
    'https://app.example/cb?code=x',
    'https://app.example/cb?tenant=a&state=x',
  ])('cannot be %j: it has another form', (uri) => {
    expect(redirectUriProblem(uri, 'public')?.code).toBe('redirect-form')
  })

  it.each([
    'http://app.example/cb',
    'http://127.0.0.2/cb',
    'http://localhost.example/cb',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'myapp:/cb',
    'ftp://app.example/cb',
  ])('cannot be %j: nothing keeps its answer secret', (uri) => {
    expect(redirectUriProblem(uri, 'public')?.code).toBe('redirect-scheme')
  })

  it('has a scheme of its own with a dot in it only for a public client', () => {
    expect(redirectUriProblem('com.example.app:/cb', 'public')).toBeUndefined()
    expect(redirectUriProblem('com.example.app:/cb', 'confidential')?.code).toBe('redirect-scheme')
  })
})

describe('the redirect URI of a request', () => {
  const registered = ['https://app.example/cb', 'http://127.0.0.1/cb', 'http://[::1]/', 'http://localhost/cb']

  it.each(['https://app.example/cb', 'http://127.0.0.1/cb', 'http://127.0.0.1:49152/cb', 'http://[::1]:1/'])(
    'is %s, which is registered',
    (uri) => {
      expect(registeredUri(registered, uri)).toBe(uri)
    },
  )

  it.each([
    'https://app.example/cb/',
    'https://app.example/CB',
    'https://app.example/cb?x=1',
    'https://app.example:443/cb',
    'https://app.example/%63b',
    'https://app.example@evil.example/cb',
    'https://app.example.evil.example/cb',
    'https://evil.example/https://app.example/cb',
    'http://app.example/cb',
    'http://127.0.0.1:0/cb',
    'http://127.0.0.1:99999/cb',
    'http://127.0.0.1:80@evil.example/cb',
    'http://127.0.0.1:3000/cb/../x',
    'http://127.0.0.1:3000/cb#x',
    'http://127.1:3000/cb',
    'http://localhost:3000/cb',
    'https://127.0.0.1:3000/cb',
    '',
  ])('is not %j, which differs', (uri) => {
    expect(registeredUri(registered, uri)).toBeUndefined()
  })
})
