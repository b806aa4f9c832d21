import { describe, expect, it } from 'vitest'
import { metadataEndpoints } from '../../../auth-server/http/oauth/metadata.ts'

const settings = {
  publicOrigin: 'https://auth.example',
  publicOrigins: { deal: 'https://deals.example' },
  schemes: ['bearer'],
}
const wellKnown = '/.well-known/oauth-authorization-server'

const documentAt = async (issuer: string, schemes = settings.schemes) => {
  const [route] = metadataEndpoints({ ...settings, issuer, schemes })
  const answer = await route?.handle({ header: () => undefined } as never)
  return JSON.parse(String(answer?.body))
}

describe('the metadata of the authorization server (RFC 8414)', () => {
  it.each([
    ['https://auth.example', [wellKnown]],
    ['https://auth.example/', [wellKnown]],
    ['https://auth.example/tenant/one', [wellKnown, `${wellKnown}/tenant/one`]],
    ['https://auth.example/tenant/', [wellKnown, `${wellKnown}/tenant`]],
    ['https://auth.example/:any*', [wellKnown]],
    ['keyhold', [wellKnown]],
  ])('of the issuer %s stands where clients look for it', async (issuer, paths) => {
    expect(metadataEndpoints({ ...settings, issuer }).map(({ path }) => path)).toEqual(paths)
    expect((await documentAt(issuer)).issuer).toBe(issuer)
  })

  it('names endpoints below the public origin, and no way in that is not served', async () => {
    const document = await documentAt('https://auth.example')
    expect(document.token_endpoint).toBe('https://auth.example/oauth/token')
    expect(document.protected_resources).toEqual(['https://deals.example'])
    expect(document.introspection_endpoint_auth_methods_supported).toContain('Bearer')
    const without = await documentAt('https://auth.example', ['session'])
    expect(without.introspection_endpoint_auth_methods_supported).not.toContain('Bearer')
  })
})
