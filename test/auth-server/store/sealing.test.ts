import { describe, expect, it } from 'vitest'
import { createSealing } from '../../../auth-server/store/sealing.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { OperatorError } from '../../../shared/platform/operator-error.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

const key = (fill: number) => Buffer.alloc(32, fill).toString('base64url')
const sealingUnder = (keys: string) => createSealing(parseSecretsKeys(keys))
const place = { purpose: 'refresh-token', row: 'a/1' }

describe('sealing', () => {
  it('opens what it sealed, each time differently', () => {
    const sealing = sealingUnder(key(1))
    for (const text of ['', 'secret', 'schlüssel \0']) expect(sealing.open(sealing.seal(text, place), place)).toBe(text)
    expect(sealing.seal('secret', place)).not.toBe(sealing.seal('secret', place))
    expect(sealing.seal('secret', place)).not.toContain('secret')
  })

  it('opens nothing elsewhere, nothing that was changed, and says nothing of it', () => {
    const sealing = sealingUnder(key(1))
    const sealed = sealing.seal('planted-secret', place)
    const [version, keyId, body = ''] = sealed.split('.')
    const flipped = Buffer.from(body, 'base64url')
    flipped[14] = (flipped[14] ?? 0) ^ 1
    const attempts = [
      () => sealing.open(sealed, { ...place, row: 'a/2' }),
      () => sealing.open(sealed, { ...place, purpose: 'digest-secret' }),
      () => sealing.open(`${version}.${keyId}.${flipped.toString('base64url')}`, place),
      () => sealing.open(`${version}.${keyId}.${body.slice(0, -4)}`, place),
      () => sealing.open(`${version}.${keyId}.AAAA`, place),
      () => sealing.open(`2.${keyId}.${body}`, place),
      () => sealing.open('', place),
    ]
    for (const attempt of attempts) {
      expect(attempt).toThrow(/SECRETS_KEY/)
      expect(attempt).not.toThrow(/planted-secret/)
    }
  })

  it('is not available for what was sealed under a key that is not there', () => {
    const sealed = sealingUnder(key(1)).seal('planted-secret', place)
    const [version, , body] = sealed.split('.')
    const attempts = [
      () => sealingUnder(key(2)).open(sealed, place),
      () => sealingUnder(key(1)).open(`${version}.other.${body}`, place),
    ]
    for (const attempt of attempts) {
      expect(attempt).toThrow(new Unavailable('secrets-key'))
      expect(attempt).toThrow(
        expect.objectContaining({
          cause: expect.objectContaining({ message: expect.stringContaining('SECRETS_KEY') }),
        }),
      )
    }
  })

  it('opens what a former key sealed', () => {
    const sealed = sealingUnder(key(1)).seal('secret', place)
    expect(sealingUnder(`${key(2)},${key(1)}`).open(sealed, place)).toBe('secret')
    const fresh = sealingUnder(`${key(2)},${key(1)}`).seal('secret', place)
    expect(sealingUnder(key(2)).open(fresh, place)).toBe('secret')
  })
})

describe('SECRETS_KEY', () => {
  it.each(['', 'short', key(1).slice(1), `${key(1)}=`, `${key(1)},`, `${key(1)}A`, `+${key(1).slice(1)}`])(
    'refuses %j',
    (text) => {
      expect(() => parseSecretsKeys(text)).toThrow(OperatorError)
    },
  )

  it('has a key of its own for every purpose', () => {
    const [only] = parseSecretsKeys(key(1))
    expect(only.derive('sealing')).not.toEqual(only.derive('refresh tokens'))
    expect(only.derive('sealing')).toHaveLength(32)
    expect(parseSecretsKeys(key(2))[0].id).not.toBe(only.id)
  })
})
