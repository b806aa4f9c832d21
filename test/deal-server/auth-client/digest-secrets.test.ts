import { describe, expect, it, vi } from 'vitest'
import { followDigestSecrets } from '../../../deal-server/auth-client/digest-secrets.ts'
import { sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { digestSecretPurpose } from '../../../shared/protocol/internal-api/digest-secret.ts'
import type { PrincipalRecord } from '../../../shared/protocol/principal/record.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const serviceSecret = 'a service secret of the tests, long enough'
const alice = { username: 'alice' }

const recordOf = (version: number): PrincipalRecord => ({
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

/** Secrets over an auth server that can go away; then records come late, as when the feed is silent. */
function open() {
  let record: Promise<PrincipalRecord> | PrincipalRecord = recordOf(1)
  let isAway = false
  const ask = vi.fn(async () => {
    if (isAway) throw new Unavailable('auth-server')
    const ha1Sealed = sealInternally('a1', { secret: serviceSecret, purpose: digestSecretPurpose('u') })
    return { status: 200, headers: new Headers(), body: { username: 'alice', userId: 'u', version: 1, ha1Sealed } }
  })
  const systems = fakeSystems({ authClient: { ask }, clock: { now: () => 1, monotonic: () => 1 }, serviceSecret })
  const secrets = followDigestSecrets(systems, { get: () => record })
  return {
    secrets,
    ask,
    leave: (next: Promise<PrincipalRecord>) => {
      isAway = true
      record = next
    },
  }
}

describe('Digest secrets of a deal server', () => {
  it('are there for a known user while no auth server answers', async () => {
    const { secrets, ask, leave } = open()
    expect(await secrets.find(alice)).toMatchObject({ ha1: 'a1' })
    leave(Promise.resolve(recordOf(1)))
    expect(await secrets.held?.(alice)).toMatchObject({ ha1: 'a1' })
    expect(ask).toHaveBeenCalledOnce()
    await expect(secrets.find(alice)).rejects.toThrow(Unavailable)
  })

  it('are not when the principal has changed, when no record can be had, or for a user who is not known', async () => {
    const { secrets, leave } = open()
    await secrets.find(alice)
    expect(await secrets.held?.({ username: 'bob' })).toBeUndefined()
    leave(Promise.reject(new Unavailable('auth-server')))
    await expect(secrets.held?.(alice)).rejects.toThrow(Unavailable)
    leave(Promise.resolve(recordOf(2)))
    expect(await secrets.held?.(alice)).toBeUndefined()
    leave(Promise.resolve(recordOf(1)))
    expect(await secrets.held?.(alice)).toBeUndefined()
  })
})
