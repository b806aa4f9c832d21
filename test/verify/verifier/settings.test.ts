import { describe, expect, it } from 'vitest'
import { readVerifierSettings } from '../../../verify/src/verifier/settings.ts'
import type { VerifierOptions } from '../../../verify/src/verifier/verifier.ts'

const right: VerifierOptions = {
  authServer: 'https://auth.test/',
  service: { id: '01900000-0000-7000-8000-000000000000', secret: 'x'.repeat(43) },
  audience: 'urn:example:invoices',
}

describe('the options of a verifier', () => {
  it('have defaults', () => {
    const { authUrl, publicOrigin, trustedOrigins, recordMaxAgeMs } = readVerifierSettings(right)
    expect({ authUrl, publicOrigin, trustedOrigins, recordMaxAgeMs }).toEqual({
      authUrl: 'https://auth.test',
      publicOrigin: 'https://service.invalid',
      trustedOrigins: new Set(),
      recordMaxAgeMs: 300_000,
    })
    const { trustedOrigins: own } = readVerifierSettings({
      ...right,
      origin: 'https://a.test/',
      trustedOrigins: ['http://b.test'],
    })
    expect(own).toEqual(new Set(['https://a.test', 'http://b.test']))
  })

  it.each<[string, Partial<VerifierOptions>]>([
    ['authServer', { authServer: 'auth.test' }],
    ['authServer', { authServer: 'ftp://auth.test' }],
    ['authServer', { authServer: 'https://auth.test/?a' }],
    ['authServer', { authServer: 'http://auth.test' }],
    ['service.id', { service: { ...right.service, id: 'invoices' } }],
    ['service.secret', { service: { ...right.service, secret: '' } }],
    ['audience', { audience: '' }],
    ['origin', { origin: 'invoices' }],
    ['trustedOrigins', { trustedOrigins: ['*'] }],
    ['trustedProxies', { trustedProxies: 'all' }],
    ['recordMaxAgeSeconds', { recordMaxAgeSeconds: -1 }],
    ['recordMaxAgeSeconds', { recordMaxAgeSeconds: Number.NaN }],
    ['recordMaxAgeSeconds', { recordMaxAgeSeconds: 86_401 }],
    ['maxBodyBytes', { maxBodyBytes: 0.5 }],
  ])('name %s for %o', (name, wrong) => {
    expect(() => readVerifierSettings({ ...right, ...wrong })).toThrow(new RegExp(`^createVerifier: ${name} must be`))
  })

  it.each([
    { authServer: 'http://127.0.0.1:4000' },
    { authServer: 'http://localhost:4000' },
    { authServer: 'http://[::1]:4000' },
    { authServer: 'http://auth.test', allowInsecureHttp: true },
  ])('allow %o', (options) => {
    expect(readVerifierSettings({ ...right, ...options }).authUrl).toBe(options.authServer)
  })
})
