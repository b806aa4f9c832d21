import { describe, expect, it } from 'vitest'
import { parseBasicCredential } from '../../../../../shared/protocol/authentication/basic/basic-credential.ts'

const encode = (text: string | Uint8Array) => Buffer.from(text as string).toString('base64')

describe('a Basic credential', () => {
  it('is read as in the examples of RFC 7617', () => {
    expect(parseBasicCredential('QWxhZGRpbjpvcGVuIHNlc2FtZQ==')).toEqual({
      username: 'Aladdin',
      password: 'open sesame',
    })
    expect(parseBasicCredential('dGVzdDoxMjPCow==')).toEqual({ username: 'test', password: '123£' })
  })

  it('is split at the first colon', () => {
    expect(parseBasicCredential(encode('a:b:c:'))).toEqual({ username: 'a', password: 'b:c:' })
    expect(parseBasicCredential(encode('a:'))).toEqual({ username: 'a', password: '' })
    expect(parseBasicCredential(encode(':b'))).toEqual({ username: '', password: 'b' })
  })

  it('is composed', () => {
    expect(parseBasicCredential(encode('a:pae\u0301sswort'))?.password).toBe('pa\u00e9sswort')
  })

  it.each([
    ['nothing', ''],
    ['no colon', encode('alice')],
    ['no padding', 'dGVzdDoxMjPCow'],
    ['base64url', encode('a:>>>???').replace(/\+/g, '-').replace(/\//g, '_')],
    ['bits that do not count', 'YTpiC3=='],
    ['a blank', 'dGVz dDoxMjPCow=='],
    ['two credentials', 'dGVzdDoxMjPCow==, dGVzdDoxMjPCow=='],
    ['Latin-1', encode(new Uint8Array([0x61, 0x3a, 0xe9]))],
    ['an overlong form', encode(new Uint8Array([0x61, 0x3a, 0xc0, 0xaf]))],
    ['a surrogate', encode(new Uint8Array([0x61, 0x3a, 0xed, 0xa0, 0x80]))],
    ['NUL', encode('a:b\0')],
    ['a line break', encode('a\n:b')],
    ['C1 control characters', encode('a:\u0085')],
    ['more than anybody has', encode(`a:${'x'.repeat(7000)}`)],
  ])('is none with %s', (_name, text) => {
    expect(parseBasicCredential(text)).toBeUndefined()
  })
})
