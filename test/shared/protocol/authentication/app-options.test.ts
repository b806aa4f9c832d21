import { expect, it } from 'vitest'
import { fallbackChallengeOf } from '../../../../shared/protocol/authentication/app-options.ts'

it('is the one of the first scheme that browsers show no dialog for', () => {
  expect(fallbackChallengeOf(['digest', 'basic', 'key-signed', 'bearer'])).toBe('Bearer realm="keyhold"')
  expect(fallbackChallengeOf(['basic', 'key-signed'])).toBe('KeySigned realm="keyhold"')
  expect(fallbackChallengeOf(['basic', 'digest', 'session', 'signed-request'])).toBeUndefined()
})
