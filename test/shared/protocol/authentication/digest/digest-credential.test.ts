import { describe, expect, it } from 'vitest'
import { parseDigestCredential } from '../../../../../shared/protocol/authentication/digest/digest-credential.ts'
import { processorMs } from '../../../../support/held-up.ts'

const response = '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'
const whole =
  'username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=SHA-256, ' +
  'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, ' +
  'cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, ' +
  `response="${response}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`

describe('a Digest credential', () => {
  it('is read as in RFC 7616 §3.9.1', () => {
    expect(parseDigestCredential(whole)).toEqual({
      user: { username: 'Mufasa' },
      realm: 'http-auth@example.org',
      uri: '/dir/index.html',
      nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
      nc: '00000001',
      cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
      response,
      opaque: 'FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS',
    })
  })

  it.each([
    ['blanks and tabs around signs', whole.replaceAll(', ', ' ,\t').replaceAll('=auth', ' = auth')],
    ['no blanks', whole.replaceAll(', ', ',')],
    ['names in capitals', whole.replace('nonce=', 'NONCE=').replace('response=', 'Response=')],
    [
      'quotes around algorithm and qop, as python-requests writes them',
      whole.replace('algorithm=SHA-256', 'algorithm="SHA-256"').replace('qop=auth', 'qop="auth"'),
    ],
    ['parameters that nobody knows', `${whole}, charset=UTF-8, x="y, z=\\"1\\""`],
    ['userhash=false', `${whole}, userhash=false`],
    ['a response in capitals', whole.replace(response, response.toUpperCase())],
    ['empty elements, which a list may have (RFC 9110 §5.6.1.2)', `, ${whole.replace(', ', ',\t, ')} ,,`],
  ])('is read with %s', (_name, text) => {
    expect(parseDigestCredential(text)).toEqual(parseDigestCredential(whole))
  })

  it('is read without opaque, with an escaped cnonce, and with names in other forms', () => {
    const { opaque, ...rest } = parseDigestCredential(whole) ?? {}
    expect(parseDigestCredential(whole.replace(/, opaque=.*/, ''))).toEqual({ ...rest, opaque: undefined })
    expect(parseDigestCredential(whole.replace(/cnonce="[^"]*"/, 'cnonce="a\\"b\\\\c"'))?.cnonce).toBe('a"b\\c')
    const hash = 'ab'.repeat(32)
    const hashed = `${whole.replace('Mufasa', hash.toUpperCase())}, userhash=true`
    expect(parseDigestCredential(hashed)?.user).toEqual({ userhash: hash })
    const extended = whole.replace('username="Mufasa"', "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe")
    expect(parseDigestCredential(extended)?.user).toEqual({ username: 'Jäsøn Doe' })
  })

  const without = (name: string) => whole.replace(new RegExp(`\\b${name}=("[^"]*"|[^,]*)(, )?`), '')
  const instead = (from: string | RegExp, to: string): [string, string] => [to, whole.replace(from, to)]

  const others: [string, string][] = [
    ...['username', 'realm', 'uri', 'nonce', 'nc', 'cnonce', 'qop', 'response', 'algorithm'].map(
      (name): [string, string] => [`no ${name}`, without(name)],
    ),
    ...['username="Mufasa"', 'nonce="x"', 'QOP=auth', 'nc=00000002', 'x=1, X=2'].map((twice): [string, string] => [
      `twice: ${twice}`,
      `${whole}, ${twice}`,
    ]),
    instead('SHA-256', 'MD5'),
    instead('SHA-256', 'SHA-256-sess'),
    instead('SHA-256', 'SHA-512-256'),
    instead('qop=auth', 'qop=auth-int'),
    instead('qop=auth', 'qop="auth,auth-int"'),
    ...['00000000', '1', '0000001', '000000001', '0000000g', '"00000001"', '-0000001'].map((nc) =>
      instead('nc=00000001', `nc=${nc}`),
    ),
    instead('"Mufasa"', 'Mufasa'),
    instead(`"${response}"`, response),
    instead(response, response.slice(1)),
    instead(response, `${response}00`),
    instead('uri="/dir/index.html"', 'uri=/dir/index.html'),
    instead('"Mufasa"', '"Muf\u0000asa"'),
    instead('"Mufasa"', '"Muf\\'),
    ['userhash of a name', `${whole}, userhash=true`],
    ['userhash in quotes', `${whole.replace('Mufasa', 'ab'.repeat(32))}, userhash="true"`],
    ['userhash of no kind', `${whole}, userhash=maybe`],
    ['username and username*', `${whole}, username*=UTF-8''Mufasa`],
    ['username* and userhash', `${whole.replace('username="Mufasa"', "username*=UTF-8''Mufasa")}, userhash=true`],
    ['username* in another charset', whole.replace('username="Mufasa"', "username*=ISO-8859-1''Mufasa")],
    ['username* in no charset', whole.replace('username="Mufasa"', "username*=UTF-8''%C3%28")],
    ['nothing', ''],
    ['nothing but commas', ', ,'],
    ['no commas', whole.replaceAll(',', '')],
    ['half a string', whole.slice(0, -1)],
    ['something behind a string', whole.replace('"Mufasa"', '"Mufasa"x')],
    ['a cnonce without end', whole.replace(/cnonce="[^"]*"/, `cnonce="${'x'.repeat(600)}"`)],
    ['too much', `${whole}, x="${'y'.repeat(9000)}"`],
  ]

  it.each(others)('is none with %s', (_name, text) => {
    expect(parseDigestCredential(text)).toBeUndefined()
  })

  it('is read or refused at once, however it is made', async () => {
    const texts = [
      '\\"'.repeat(4000),
      ' '.repeat(8000),
      `a=${'"'.repeat(8000)}`,
      'a=b,'.repeat(2000),
      ', '.repeat(4000),
    ]
    const readAll = () => {
      for (const text of texts.flatMap((one) => [one, `x="${one}`])) expect(parseDigestCredential(text)).toBeUndefined()
    }
    expect(await processorMs(readAll)).toBeLessThan(1000)
  })
})
