import { describe, expect, it, vi } from 'vitest'
import { openInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { verifyRequestPurpose } from '../../../shared/protocol/internal-api/verify-request.ts'
import { askAboutRequests } from '../../../verify/src/asked/ask-about-requests.ts'
import type { AuthClient, InternalQuestion } from '../../../verify/src/auth-client/auth-client.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const serviceSecret = 'a secret of a service with some length'
const request = {
  method: 'GET',
  url: 'https://a.test/',
  headers: { authorization: ['Basic eDp5'] },
  hasBody: false,
  clientAddress: '192.0.2.1',
}
const accepted = {
  scheme: 'basic',
  username: 'alice',
  userId: 'id',
  version: 1,
  rights: [],
  credential: { generation: null, loginId: null, expiresAt: null, rights: null, carriesPassword: false },
  headers: {},
}
const refusal = { status: 401, code: 'invalid-credentials', detail: 'd', members: {}, headers: { a: ['b'] } }

function open(answer: (question: InternalQuestion) => Promise<{ status: number; body: unknown }>) {
  const ask = vi.fn<AuthClient['ask']>(async (question) => ({ headers: new Headers(), ...(await answer(question)) }))
  return { ask, about: askAboutRequests(fakeSystems({ authClient: { ask }, serviceSecret })) }
}

describe('a question about a request', () => {
  it('is sealed under the secret of the service', async () => {
    const { ask, about } = open(async () => ({ status: 200, body: { accepted } }))
    expect(await about(request)).toEqual(accepted)
    const { body, target } = ask.mock.calls[0]?.[0] ?? {}
    expect(target).toBe('/verify-request')
    const { sealed } = body as { sealed: string }
    expect(sealed).not.toContain('eDp5')
    const opened = openInternally(sealed, { secrets: [serviceSecret], purpose: verifyRequestPurpose })
    expect(JSON.parse(opened ?? '')).toEqual(request)
  })

  it('is answered by a refusal with its status, code and fields', async () => {
    const { about } = open(async () => ({ status: 200, body: { refusal } }))
    await expect(about(request)).rejects.toMatchObject({ status: 401, code: refusal.code, headers: refusal.headers })
  })

  it.each([
    [403, { code: 'missing-right' }],
    [200, {}],
    [200, { accepted: { username: 'alice' } }],
    [500, undefined],
  ])('is not answered by %i with %o', async (status, body) => {
    await expect(open(async () => ({ status, body })).about(request)).rejects.toMatchObject({
      dependency: 'auth-server',
    })
  })

  it('waits for its turn, and is not asked for ever', async () => {
    vi.useFakeTimers()
    const { ask, about } = open(() => new Promise(() => undefined))
    const asked = Array.from({ length: 257 }, () => about(request))
    await vi.advanceTimersByTimeAsync(1)
    expect(ask).toHaveBeenCalledTimes(256)
    const last = expect(asked[256]).rejects.toMatchObject({ dependency: 'auth-server' })
    await vi.advanceTimersByTimeAsync(3_000)
    await last
    vi.useRealTimers()
  })
})
