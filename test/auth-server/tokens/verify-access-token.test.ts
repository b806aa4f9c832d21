import { createHmac, createPrivateKey, sign, verify as verifySignature } from 'node:crypto'
import fc from 'fast-check'
import { decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { createAccessTokenIssuer } from '../../../auth-server/tokens/access-tokens.ts'
import { systemClock, unixSeconds } from '../../../shared/platform/clock.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { accessTokenAlgs } from '../../../shared/protocol/access-token/access-token.ts'
import { rememberAwaitedTokens } from '../../../shared/protocol/access-token/verified-token-cache.ts'
import {
  type AccessTokenVerdict,
  createAccessTokenVerifier,
} from '../../../shared/protocol/access-token/verify-access-token.ts'
import { campaign } from '../../support/campaign.ts'
import { audience, generateTestKey, issuer, testKey } from '../support/auth-core.ts'
import { createTestClock } from '../support/test-clock.ts'

const clock = createTestClock()
const now = unixSeconds(clock.now())
const foreignKey = generateTestKey()
const keys = { key: (kid: string) => (kid === testKey.kid ? testKey.publicKey : undefined) }
const verify = createAccessTokenVerifier({ keys, issuer, clock })

const header = { alg: 'RS256', typ: 'at+jwt', kid: testKey.kid }
const claims = {
  iss: issuer,
  sub: 'alice',
  aud: audience,
  iat: now,
  exp: now + 1800,
  jti: 'j',
  client_id: 'keyhold',
  sid: 's',
  gen: 1,
}

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Signs whatever it is given; strings stand for JSON text. */
function forge(forgedHeader: unknown, forgedClaims: unknown, key = testKey): string {
  const input = `${encode(forgedHeader)}.${encode(forgedClaims)}`
  return `${input}.${sign('RSA-SHA256', Buffer.from(input), key.privateKey).toString('base64url')}`
}

const reason = (verdict: AccessTokenVerdict) =>
  verdict.ok || verdict.problem === 'token-expired' ? '' : verdict.reason

/** What node:crypto says of the signature. */
function isSigned(token: string): boolean {
  const [first, second, signature = ''] = token.split('.')
  const signed = Buffer.from(`${first}.${second}`)
  return verifySignature('RSA-SHA256', signed, testKey.publicKey, Buffer.from(signature, 'base64url'))
}

describe('an access token', () => {
  it('is accepted as issued', async () => {
    const ids = createIdSource(systemClock)
    const issue = createAccessTokenIssuer({ keys: { signingKey: () => testKey }, ids, issuer, audience })
    const subject = {
      username: 'Alice',
      loginId: 'l',
      generation: 3,
      clientId: 'keyhold',
      audience: null,
      issuedAt: now,
      expiresAt: now + 9,
    }
    const token = await issue(subject)
    const claims = { sub: 'Alice', sid: 'l', gen: 3, aud: audience }
    expect(await verify(token)).toMatchObject({ ok: true, kid: testKey.kid, claims })
    const forOther = await issue({ ...subject, audience: 'urn:example:invoices' })
    expect(await verify(forOther)).toMatchObject({ ok: true, claims: { ...claims, aud: 'urn:example:invoices' } })
    expect(isSigned(token)).toBe(true)
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: testKey.kid })
  })

  it.each([
    ['as made by hand', header, claims],
    ['typ in other letters', { ...header, typ: 'AT+JWT' }, claims],
    ['typ in its long form', { ...header, typ: 'application/at+jwt' }, claims],
    ['another audience, which authentication compares', header, { ...claims, aud: 'x' }],
    ['several audiences', header, { ...claims, aud: ['other', audience] }],
    ['an unknown claim', header, { ...claims, extra: { a: 1 } }],
    ['issued 60 s ahead', header, { ...claims, iat: now + 60, exp: now + 90 }],
    ['valid since now', header, { ...claims, nbf: now }],
    ['one second left', header, { ...claims, exp: now + 1 }],
  ])('is accepted: %s', async (_name, forgedHeader, forgedClaims) => {
    expect(await verify(forge(forgedHeader, forgedClaims))).toMatchObject({ ok: true })
  })

  it.each([
    ['no algorithm', { ...header, alg: 'none' }, claims],
    ['another algorithm', { ...header, alg: 'RS512' }, claims],
    ['a shared-secret algorithm', { ...header, alg: 'HS256' }, claims],
    ['an algorithm in an array', { ...header, alg: ['RS256'] }, claims],
    ['no typ', { ...header, typ: undefined }, claims],
    ['typ of an ID token', { ...header, typ: 'JWT' }, claims],
    ['typ of a refresh token', { ...header, typ: 'refresh+jwt' }, claims],
    ['no kid', { ...header, kid: undefined }, claims],
    ['a numeric kid', { ...header, kid: 1 }, claims],
    ['an overlong kid', { ...header, kid: 'k'.repeat(129) }, claims],
    ['an unknown kid', { ...header, kid: 'other' }, claims],
    ...['crit', 'b64', 'jku', 'x5u', 'jwk', 'x5c', 'zip'].map((member) => [
      member,
      { ...header, [member]: 'x' },
      claims,
    ]),
    ['a header that is no object', '[]', claims],
    ['a header that is no JSON', '{', claims],
    ['a header with a BOM', `\ufeff${JSON.stringify(header)}`, claims],
    ['claims with a BOM', header, `\ufeff${JSON.stringify(claims)}`],
    ['claims that are no object', header, '[]'],
    ['claims that are null', header, 'null'],
    ['another issuer', header, { ...claims, iss: `${issuer}/` }],
    ['an issuer in an array', header, { ...claims, iss: [issuer] }],
    ['an audience that is a number', header, { ...claims, aud: 1 }],
    ['an audience that is null', header, { ...claims, aud: null }],
    ['an audience in an object', header, { ...claims, aud: { deals: audience } }],
    ['issued more than 60 s ahead', header, { ...claims, iat: now + 61 }],
    ['not valid yet', header, { ...claims, nbf: now + 1 }],
    ['expiry before issue', header, { ...claims, iat: now + 50, exp: now + 50 }],
    ['a lifetime beyond reason', header, { ...claims, exp: now + 86_401 }],
    ['expiry as text', header, { ...claims, exp: String(now + 100) }],
    ['an infinite expiry', header, JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e999')],
    ['generation as text', header, { ...claims, gen: '1' }],
    ...Object.keys(claims).map((name) => [`no ${name}`, header, { ...claims, [name]: undefined }]),
  ] as [string, unknown, unknown][])('is refused: %s', async (_name, forgedHeader, forgedClaims) => {
    expect(await verify(forge(forgedHeader, forgedClaims))).toMatchObject({ ok: false, problem: 'invalid-token' })
  })

  it('has expired from the second of its exp on, if all else is right', async () => {
    expect(await verify(forge(header, { ...claims, iat: now - 10, exp: now }))).toMatchObject({
      problem: 'token-expired',
    })
    const forgeries = [
      forge(header, { ...claims, iat: now - 10, exp: now }, foreignKey),
      forge(header, { ...claims, iat: now - 10, exp: now, iss: 'x' }),
      forge({ ...header, kid: foreignKey.kid }, { ...claims, iat: now - 10, exp: now }, foreignKey),
    ]
    for (const token of forgeries) expect(await verify(token)).toMatchObject({ problem: 'invalid-token' })
  })

  it('is refused when its key is not ours, and says which key would be needed', async () => {
    expect(await verify(forge(header, claims, foreignKey))).toMatchObject({ reason: 'the signature is not right' })
    const unknown = await verify(forge({ ...header, kid: foreignKey.kid }, claims, foreignKey))
    expect(unknown).toMatchObject({ problem: 'invalid-token', unknownKid: foreignKey.kid })
  })

  it('is refused in every other spelling', async () => {
    const token = forge(header, claims)
    const [first = '', second = '', third = ''] = token.split('.')
    const spellings = [
      '',
      '.',
      '..',
      '...',
      ` ${token}`,
      `${token} `,
      `${token}=`,
      `${token}.`,
      `${token}.x`,
      `${first}.${second}`,
    ]
    spellings.push(`${first}.${second}.`, `${first}=.${second}.${third}`, `${first}\n.${second}.${third}`)
    spellings.push(token.replaceAll('-', '+').replaceAll('_', '/').concat('='), 'x'.repeat(1e6), `${first}.${second}.é`)
    // The last character has four bits that stand for nothing: the bytes of the signature stay the same.
    const sameBytes = `${third.slice(0, -1)}${String.fromCharCode(third.charCodeAt(third.length - 1) + 1)}`
    expect(Buffer.from(sameBytes, 'base64url')).toEqual(Buffer.from(third, 'base64url'))
    spellings.push(`${first}.${second}.${sameBytes}`)
    for (const spelling of spellings) expect(await verify(spelling)).toMatchObject({ problem: 'invalid-token' })
    expect(reason(await verify('a'.repeat(8193)))).toBe('longer than any access token')
  })

  it('is never accepted without a right signature, and never thrown at', async () => {
    const genuine = forge(header, claims)
    const anyValue = fc.jsonValue({ maxDepth: 2 })
    const memberOf = (object: object) =>
      fc.constantFrom(...Object.keys(object), 'crit', 'b64', 'nbf', 'zip', '__proto__')
    const changed = (object: object) =>
      fc.tuple(memberOf(object), anyValue).map(([name, value]) => JSON.stringify({ ...object, [name]: value }))
    const signed = fc
      .tuple(fc.oneof(fc.constant(JSON.stringify(header)), changed(header)), fc.oneof(changed(claims), fc.json()))
      .map(([a, b]) => forge(a, b))
    const edited = fc
      .tuple(fc.nat(genuine.length - 1), fc.nat(3), fc.string({ maxLength: 3 }))
      .map(([at, cut, insert]) => genuine.slice(0, at) + insert + genuine.slice(at + cut))
    const property = fc.asyncProperty(fc.oneof(signed, edited, fc.string()), async (token) => {
      if ((await verify(token)).ok) expect(isSigned(token)).toBe(true)
    })
    await fc.assert(property, { numRuns: campaign({ short: 200, long: 3000 }) })
  })

  it('is not accepted under a key of another kind', async () => {
    const pss = createPrivateKey(testKey.privateKey.export({ type: 'pkcs8', format: 'pem' }))
    expect(pss.asymmetricKeyType).toBe('rsa')
    const secret = { key: () => pss }
    const underPrivate = createAccessTokenVerifier({ keys: secret, issuer, clock })
    expect(await underPrivate(forge(header, claims, foreignKey))).toMatchObject({ problem: 'invalid-token' })
  })
})

describe('an access token of each algorithm', () => {
  const all = accessTokenAlgs.map((alg) => generateTestKey(alg))
  const every = { key: (kid: string) => all.find((key) => key.kid === kid)?.publicKey }
  const verifyAny = createAccessTokenVerifier({ keys: every, issuer, clock })
  const subject = { username: 'alice', loginId: 'l', generation: 1, clientId: 'keyhold', audience: null }
  const ids = createIdSource(systemClock)

  it.each(all)('is accepted as issued: $alg', async (key) => {
    const issue = createAccessTokenIssuer({ keys: { signingKey: () => key }, ids, issuer, audience })
    const token = await issue({ ...subject, issuedAt: now, expiresAt: now + 9 })
    expect(decodeProtectedHeader(token)).toEqual({ alg: key.alg, typ: 'at+jwt', kid: key.kid })
    expect(await verifyAny(token)).toMatchObject({ ok: true, kid: key.kid, claims: { sub: 'alice' } })
    const [first, second, signature = ''] = token.split('.')
    const damaged = Buffer.from(signature, 'base64url').fill(1, 8, 9).toString('base64url')
    expect(await verifyAny(`${first}.${second}.${damaged}`)).toMatchObject({ problem: 'invalid-token' })
  })

  it.each(all)('is refused under a header with another algorithm than that of its key: $alg', async (key) => {
    for (const alg of ['HS256', 'none', ...accessTokenAlgs].filter((other) => other !== key.alg)) {
      const input = `${encode({ ...header, alg, kid: key.kid })}.${encode(claims)}`
      const digest = key.alg === 'EdDSA' ? null : 'sha256'
      const signature = sign(digest, Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
      const verdict = await verifyAny(`${input}.${signature.toString('base64url')}`)
      expect(verdict).toMatchObject({ ok: false, problem: 'invalid-token' })
      const underPublicKey = createHmac('sha256', key.publicKey.export({ type: 'spki', format: 'pem' })).update(input)
      expect(await verifyAny(`${input}.${underPublicKey.digest('base64url')}`)).toMatchObject({ ok: false })
    }
  })
})

describe('verified tokens', () => {
  it('are remembered only as long as they live and their key is there', async () => {
    const moving = createTestClock()
    let present = true
    let verifications = 0
    const changing = { key: (kid: string) => (present ? keys.key(kid) : undefined) }
    const slow = createAccessTokenVerifier({ keys: changing, issuer, clock: moving })
    const counting = (token: string) => {
      verifications += 1
      return slow(token)
    }
    const remembering = rememberAwaitedTokens(counting, { keys: changing, clock: moving })
    const token = forge(header, claims)
    for (let times = 0; times < 5; times += 1) expect(await remembering(token)).toMatchObject({ ok: true })
    expect(verifications).toBe(1)
    present = false
    expect(await remembering(token)).toMatchObject({ unknownKid: testKey.kid })
    present = true
    expect(await remembering(token)).toMatchObject({ ok: true })
    moving.advance(1_799_999)
    expect(await remembering(token)).toMatchObject({ ok: true })
    moving.advance(1)
    expect(await remembering(token)).toMatchObject({ problem: 'token-expired' })
    const before = verifications
    for (let times = 0; times < 3; times += 1) expect(await remembering('nonsense')).toMatchObject({ ok: false })
    expect(verifications).toBe(before + 3)
  })
})
