import { hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { deriveKey } from '../../../../shared/platform/crypto/derive-key.ts'
import { openInternally, sealInternally } from '../../../../shared/platform/crypto/internal-sealing.ts'
import { seal, unseal } from '../../../../shared/platform/crypto/seal.ts'

const key = Buffer.alloc(32, 1)
const context = { key, associatedData: 'use' }

describe('a sealed text', () => {
  it('opens with its key and its use, and with nothing else', () => {
    for (const text of ['', 'secret', 'schlüssel \0']) {
      const sealed = seal(text, context)
      expect(unseal(sealed, context)).toBe(text)
      expect(unseal(sealed, { ...context, associatedData: 'other' })).toBeUndefined()
      expect(unseal(sealed, { ...context, key: Buffer.alloc(32, 2) })).toBeUndefined()
    }
  })

  it('does not open when a byte was changed or is missing', () => {
    const sealed = seal('secret', context)
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(unseal(changed, context)).toBeUndefined()
      expect(unseal(sealed.subarray(0, at), context)).toBeUndefined()
    }
  })

  it('keeps the form of texts that are stored or sent already', () => {
    const stored = Buffer.from('AAECAwQFBgcICQoLyMP2VEWKcm7nhwZ3VqBiCNb5+B/7GA==', 'base64')
    expect(unseal(stored, context)).toBe('secret')
    const sent = 'AAECAwQFBgcICQoLDE87jn8amwjrWV9r5I2qZOUL5MnVpw'
    expect(openInternally(sent, { secrets: ['other', 'service'], purpose: 'use' })).toBe('secret')
    expect(openInternally(sent, { secrets: ['other'], purpose: 'use' })).toBeUndefined()
  })

  it('between servers opens under a former secret too', () => {
    const sealed = sealInternally('secret', { secret: 'former', purpose: 'use' })
    expect(openInternally(sealed, { secrets: ['current', 'former'], purpose: 'use' })).toBe('secret')
    expect(openInternally(sealed, { secrets: ['former'], purpose: 'other' })).toBeUndefined()
  })
})

it('derives keys by HKDF-SHA256', () => {
  expect(deriveKey('secret', 'cache 1')).toEqual(Buffer.from(hkdfSync('sha256', 'secret', '', 'keyhold cache 1', 32)))
})
