import { describe, expect, it, vi } from 'vitest'
import { sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { apiKeySecretPurpose, type InternalApiKey } from '../../../shared/protocol/internal-api/api-key.ts'
import type { PrincipalRecord } from '../../../shared/protocol/principal/record.ts'
import type { InternalQuestion, InternalResponse } from '../../../verify/src/auth-client/auth-client.ts'
import { createApiKeyStore } from '../../../verify/src/credentials/api-key-store.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const id = '018f0000-0000-7000-8000-000000000001'
const serviceSecret = 'a service secret of the tests, long enough'

const record = (version: number): PrincipalRecord => ({
  username: 'alice',
  userId: 'u',
  enabled: true,
  roles: [],
  rights: [],
  generation: 1,
  keptLogin: null,
  revokedIds: [],
  version,
})

const told = (version: number, sealedUnder = serviceSecret): InternalApiKey => ({
  id,
  kind: 'hmac',
  username: 'alice',
  userId: 'u',
  version,
  requireBodyHash: true,
  rights: null,
  expiresAt: null,
  secretSealed: sealInternally('the secret', { secret: sealedUnder, purpose: apiKeySecretPurpose(id) }),
  publicKeyPem: null,
  former: null,
})

function open(
  answer: (question: InternalQuestion) => Partial<InternalResponse>,
  changes: Parameters<typeof fakeSystems>[0] = {},
) {
  let present = record(1)
  let time = 1
  const ask = vi.fn(async (question: InternalQuestion) => ({
    status: 200,
    headers: new Headers(),
    body: undefined,
    ...answer(question),
  }))
  const clock = { now: () => time, monotonic: () => time }
  const systems = fakeSystems({ authClient: { ask }, clock, serviceSecret, ...changes })
  const store = createApiKeyStore(systems, { get: () => present })
  return {
    ask,
    store,
    become: (version: number) => {
      present = record(version)
    },
    pass: (milliseconds: number) => {
      time += milliseconds
    },
  }
}

describe('API keys on a deal server', () => {
  it('are loaded once, and decrypted', async () => {
    const { store, ask } = open(() => ({ body: told(1) }))
    expect((await store.find(id))?.key?.export().toString()).toBe('the secret')
    await store.find(id)
    expect(ask).toHaveBeenCalledExactlyOnceWith({ method: 'GET', target: `/api-keys/${id}` })
  })

  it('are loaded again after their principal changed: a revoked key is gone', async () => {
    let answer: Partial<InternalResponse> = { body: told(1) }
    const { store, become } = open(() => answer)
    expect(await store.find(id)).toBeDefined()
    answer = { status: 404 }
    become(2)
    expect(await store.find(id)).toBeUndefined()
  })

  it.each(['x', '', id.toUpperCase(), `${id}/used`, '../principals/alice'])(
    'whose id is %j exist nowhere',
    async (other) => {
      const { store, ask } = open(() => ({ body: told(1) }))
      expect(await store.find(other)).toBeUndefined()
      expect(ask).not.toHaveBeenCalled()
    },
  )

  it.each([
    ['another status', { status: 500 }],
    ['another form', { body: { id } }],
    ['a secret sealed under another service secret', { body: told(1, 'another service secret of enough length') }],
    [
      'a secret sealed for another key',
      { body: { ...told(1), secretSealed: sealInternally('s', { secret: serviceSecret, purpose: 'x' }) } },
    ],
  ])('are not taken from an answer of %s', async (_, answer) => {
    await expect(open(() => answer).store.find(id)).rejects.toThrow(Unavailable)
  })

  it('are reported as used once a minute, also after a failed report', async () => {
    const { store, ask, pass } = open(() => ({ status: 204 }))
    for (let count = 0; count < 5; count += 1) store.noteUse(id)
    expect(ask).toHaveBeenCalledExactlyOnceWith({ method: 'POST', target: `/api-keys/${id}/used` })
    pass(60_001)
    store.noteUse(id)
    expect(ask).toHaveBeenCalledTimes(2)
    const failing = { ask: () => Promise.reject(new Unavailable('auth-server')) }
    const log = { debug: vi.fn() }
    open(() => ({}), { authClient: failing, log }).store.noteUse(id)
    await eventually(() => expect(log.debug).toHaveBeenCalledOnce())
  })
})
