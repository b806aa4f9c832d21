import { expect, it } from 'vitest'
import { quietChallengeOf } from '../../../../shared/protocol/authentication/fallback-challenge.ts'

it('is the one of the first scheme that browsers show no dialog for', () => {
  expect(quietChallengeOf(['digest', 'basic', 'key-signed', 'bearer'])).toBe('Bearer realm="keyhold"')
  expect(quietChallengeOf(['basic', 'key-signed'])).toBe('KeySigned realm="keyhold"')
  expect(quietChallengeOf(['basic', 'digest', 'session', 'signed-request'])).toBeUndefined()
})
