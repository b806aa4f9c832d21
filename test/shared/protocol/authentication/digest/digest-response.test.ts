import { describe, expect, it } from 'vitest'
import {
  digestHa1,
  digestResponse,
  digestUserhash,
} from '../../../../../shared/protocol/authentication/digest/digest-response.ts'
import document from '../../../../vectors/digest.json' with { type: 'json' }

const { vectors } = document

describe('the computations of Digest', () => {
  it('begin with the example of RFC 7616', () => {
    expect(vectors[0]).toMatchObject({
      username: 'Mufasa',
      response: '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1',
    })
  })

  it.each(vectors)('give what the vectors say: $name', (vector) => {
    const ha1 = digestHa1(vector.username, vector.secret, vector.realm)
    expect(ha1).toBe(vector.ha1)
    expect(digestUserhash(vector.username, vector.realm)).toBe(vector.userhash)
    expect(digestResponse(ha1, vector)).toBe(vector.response)
    expect(digestResponse(ha1, { ...vector, method: '' })).toBe(vector.rspauth)
  })
})
