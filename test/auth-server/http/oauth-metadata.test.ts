import { describe, expect, it } from 'vitest'
import { metadataEndpoints } from '../../../auth-server/http/oauth/metadata.ts'
import type { KeyRing } from '../../../auth-server/key-ring/key-ring.ts'

const settings = {
  publicOrigin: 'https://auth.example',
  publicOrigins: { deal: 'https://deals.example' },
  schemes: ['bearer'],
}
const wellKnown = '/.well-known/oauth-authorization-server'
const openId = '/.well-known/openid-configuration'
const keyRing = { jwkSet: () => ({ keys: [{ alg: 'RS256' }] }) } as unknown as KeyRing

const documentAt = async (issuer: string, schemes = settings.schemes) => {
  const [route] = metadataEndpoints({ ...settings, issuer, schemes }, keyRing)
  const answer = await route?.handle({ header: () => undefined } as never)
  return JSON.parse(String(answer?.body))
}

describe('the metadata of the authorization server (RFC 8414)', () => {
  it.each([
    ['https://auth.example', []],
    ['https://auth.example/', []],
    ['https://auth.example/tenant/one', [`${wellKnown}/tenant/one`, `/tenant/one${openId}`]],
    ['https://auth.example/tenant/', [`${wellKnown}/tenant`, `/tenant${openId}`]],
    ['https://auth.example/:any*', []],
    ['keyhold', []],
  ])('of the issuer %s stands where clients look for it', async (issuer, paths) => {
    expect(metadataEndpoints({ ...settings, issuer }, keyRing).map(({ path }) => path)).toEqual([
      wellKnown,
      openId,
      ...paths,
    ])
    expect((await documentAt(issuer)).issuer).toBe(issuer)
  })

  it('names endpoints below the public origin, and no way in that is not served', async () => {
    const document = await documentAt('https://auth.example')
    expect(document.token_endpoint).toBe('https://auth.example/oauth/token')
    expect(document.protected_resources).toEqual(['https://deals.example'])
    expect(document.introspection_endpoint_auth_methods_supported).toContain('Bearer')
    expect(document).not.toHaveProperty('authorization_endpoint')
    const without = await documentAt('https://auth.example', ['session'])
    expect(without.authorization_endpoint).toBe('https://auth.example/oauth/authorize')
    expect(without.id_token_signing_alg_values_supported).toEqual(['RS256'])
    expect(without.introspection_endpoint_auth_methods_supported).not.toContain('Bearer')
  })
})
