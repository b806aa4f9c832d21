import { describe, expect, it } from 'vitest'
import { refuseElsewhere } from '../../../../shared/server/pages/elsewhere.ts'

const origins = { auth: 'https://auth.example', deal: 'https://deal.example' }

describe('a path that a server does not have', () => {
  it('is known to be a route of the other server', () => {
    expect(refuseElsewhere('auth', origins)('/rest/v1/deals')?.message).toBe(
      'This is the auth server. The deal server has that route: https://deal.example/rest.',
    )
    expect(refuseElsewhere('deal', origins)('/login')?.message).toContain('https://auth.example/login')
    expect(refuseElsewhere('deal', origins)('/nowhere')).toBeUndefined()
  })

  it.each(['auth', 'deal'] as const)('is told from the metadata of an OpenID provider: %s', (server) => {
    const refusal = refuseElsewhere(server, origins)('/.well-known/openid-configuration')
    expect(refusal).toMatchObject({
      code: 'not-found',
      message:
        'Keyhold is no OpenID provider. Its OAuth metadata: ' +
        'https://auth.example/.well-known/oauth-authorization-server (RFC 8414).',
    })
  })
})
