import { describe, expect, it } from 'vitest'
import {
  callerOfInternalRequest,
  idOfInternalCredential,
  signInternalRequest,
} from '../../../../shared/protocol/internal-api/requests.ts'

const clock = { now: () => 1_700_000_000_000, monotonic: () => 0 }
const request = { method: 'GET', target: '/internal/feed', body: '' }
const secret = 'a service secret of 32 characters or more'
const nonce = 'n'.repeat(24)
const [id, otherId] = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8058']

/** The text after the scheme's name. */
const credentialOf = (signing: { id?: string; secret: string }): string =>
  signInternalRequest(request, { ...signing, clock, nonce }).slice('Keyhold-Internal '.length)

describe('the credential of a service below /internal', () => {
  it('names the service', () => {
    const credential = credentialOf({ id, secret })
    expect(idOfInternalCredential(credential)).toBe(id)
    expect(callerOfInternalRequest(request, credential, { secrets: [secret], clock })).toMatchObject({
      id,
      secret,
      nonce,
    })
  })

  it('is not good with another id, nor without one, and one without an id not with one', () => {
    const ofService = credentialOf({ id, secret })
    const ofPair = credentialOf({ secret })
    const changed = [ofService.replace(id, otherId), ofService.replace(`id=${id}, `, ''), `id=${id}, ${ofPair}`]
    for (const credential of changed)
      expect(callerOfInternalRequest(request, credential, { secrets: [secret], clock })).toBeUndefined()
  })

  it('is not good under another secret', () => {
    const credential = credentialOf({ id, secret })
    expect(callerOfInternalRequest(request, credential, { secrets: [`${secret}!`], clock })).toBeUndefined()
  })
})

it('leaves the credential of the pair as it was', () => {
  expect(credentialOf({ secret })).toBe(
    `time=1700000000, nonce=${nonce}, mac=CwM5aWLiUgdKsqeQ5OCDzzIb18dquDweW-7UbyrNKao`,
  )
  expect(idOfInternalCredential(credentialOf({ secret }))).toBeUndefined()
})
