import { constants, createPublicKey, privateEncrypt, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  decodeKeySignedPayload,
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { parseKeySignedToken } from '../../../shared/protocol/key-signed-token/key-signed-token.ts'
import { generateTestKey } from '../../auth-server/support/auth-core.ts'
import { expectProblem, type Reply } from '../../support/clients/http-client.ts'
import { bodyOf, type TokenKey, tokenOf, tokenSaying, withDigest } from '../../support/clients/key-signed-tokens.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { keySignedHeaders, keySignedToken } from '../../support/clients/scheme-clients/key-signed.ts'
import { describeEmbedded, describeOnce } from '../../support/stores/backends.ts'
import { activeKey } from '../../support/worlds/ring-keys.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let key: TokenKey
let jwtKey: TokenKey
let claims: KeySignedClaims
let payload: Buffer
let good: string

const challenge = 'KeySigned realm="keyhold"'

const askBoth = async (headers: Record<string, string>): Promise<Reply[]> => [
  await stack.auth.send('/me', { headers }),
  await stack.deal.send('/rest/v1/deals', { headers }),
]

/** ProblemError by both servers in the one way, without a word of what was sent. */
const expectRefused = async (token: string, code = 'invalid-token'): Promise<void> => {
  const details = new Set<unknown>()
  for (const reply of await askBoth({ authorization: `KeySigned ${token}` })) {
    expectProblem(reply, 401, code)
    expect(reply.headers.get('www-authenticate')).toBe(challenge)
    if (token.length > 20) expect(reply.text).not.toContain(token.slice(5, 60))
    details.add(reply.body.detail)
  }
  if (code === 'invalid-token') expect([...details]).toEqual(['The key-signed token is not accepted.'])
}

const blockIn = (token: string): Buffer => parseKeySignedToken(token)?.block ?? Buffer.alloc(0)
const withBlock = (block: Buffer, kid = key.kid): string => `kst1.${kid}.${block.toString('base64url')}`
const bodyWith = (at: number, octets: readonly number[]): Buffer => {
  const body = Buffer.from(bodyOf(payload))
  body.set(octets, at)
  return body
}
/** The private key applied to a whole block, padding and all. */
const raw = (block: Buffer): Buffer => privateEncrypt({ key: key.privateKey, padding: constants.RSA_NO_PADDING }, block)
const toNumber = (octets: Buffer): bigint => BigInt(`0x${octets.toString('hex')}`)
const toBlock = (number: bigint): Buffer => Buffer.from(number.toString(16).padStart(512, '0'), 'hex')

describeEmbedded('key-signed tokens that nobody issued', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, environment: { LOGIN_FAILURES_PER_ACCOUNT: '3/900' } })
    const directory = String(stack.environment.KEYS_DIR)
    key = activeKey(directory, 'key-signed')
    jwtKey = activeKey(directory, 'jwt')
    const issued = await keySignedToken(stack.auth, { username: 'alice' })
    const read = createPublicKey(key.privateKey)
    expect(read.asymmetricKeyDetails?.modulusLength).toBe(2048)
    const iat = Math.floor(stack.clock.now() / 1000)
    claims = {
      iat,
      exp: iat + 1800,
      jti: '01890a5d-ac96-774b-bcce-b302099a8057',
      gen: 1,
      sub: 'alice',
      address: null,
      passwordHash: null,
      audience: null,
    }
    payload = encodeKeySignedPayload(claims)
    good = tokenSaying(key, claims)
    expect(issued.split('.')[1]).toBe(key.kid)
  })
  afterAll(() => stack.close())

  it('the means of these tests make tokens that are accepted', async () => {
    for (const token of [good, tokenOf(key, withDigest(bodyOf(payload))), withBlock(raw(padded(payload)))]) {
      expect((await askBoth({ authorization: `KeySigned ${token}` })).map(({ status }) => status)).toEqual([200, 200])
    }
  })

  /** Block type 1, as `raw` takes it. */
  const padded = (octets: Buffer, filling = 0xff): Buffer =>
    Buffer.concat([Buffer.of(0, 1), Buffer.alloc(253 - octets.length, filling), Buffer.of(0), octets])

  it('in any other spelling', async () => {
    const [, kid = '', text = ''] = good.split('.')
    const spellings = [
      'junk',
      'kst1',
      'kst1..',
      `kst1.${kid}`,
      `kst1..${text}`,
      text,
      `${good}=`,
      `.${good}`,
      `${good}.${text}`,
      `${good}!`,
      `${good}\t`,
      `"${good}"`,
      `KST1.${kid}.${text}`,
      `kst01.${kid}.${text}`,
      `kst1 ${kid} ${text}`,
      `kst1.${kid}.${text.slice(0, 100)} ${text.slice(100)}`,
      `kst1.${kid}.${blockIn(good).toString('hex')}`,
      `kst1.${kid}.${blockIn(good).toString('base64')}`,
      `kst1.${kid}.${'A'.repeat(12_000)}`,
      'k'.repeat(12_000),
    ]
    for (const one of spellings.filter((spelling) => spelling.trim() !== good)) await expectRefused(one)
  })

  it('as a number beyond the modulus, its negative, 0 or 1', async () => {
    const n = toNumber(Buffer.from(String(createPublicKey(key.privateKey).export({ format: 'jwk' }).n), 'base64url'))
    let beyond: Buffer | undefined
    while (!beyond) {
      const jti = randomBytes(16)
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      const number = toNumber(blockIn(tokenSaying(key, { ...claims, jti }))) + n
      if (number < 1n << 2048n) beyond = toBlock(number)
    }
    await expectRefused(withBlock(beyond))
    for (const number of [n, 0n, 1n]) await expectRefused(withBlock(toBlock(number)))
    await expectRefused(withBlock(toBlock(n - toNumber(blockIn(good)))))
  })

  it('with other padding', async () => {
    const blockOfType = (type: number, filling: number) => {
      const block = padded(payload, filling)
      block[1] = type
      return block
    }
    const short = Buffer.concat([Buffer.of(0, 1), Buffer.alloc(7, 255), Buffer.of(0)])
    const blocks = [
      blockOfType(2, 7),
      blockOfType(0, 0),
      blockOfType(1, 254),
      blockOfType(1, 0),
      Buffer.concat([short, payload, Buffer.alloc(256 - short.length - payload.length)]),
      Buffer.concat([Buffer.alloc(256 - payload.length), payload]),
      Buffer.concat([payload, Buffer.alloc(256 - payload.length)]),
      Buffer.concat([Buffer.of(0, 1), Buffer.alloc(254, 255)]),
      padded(Buffer.alloc(0)),
    ]
    for (const block of blocks) await expectRefused(withBlock(raw(block)))
  })

  it('from another key', async () => {
    const stranger = generateTestKey()
    await expectRefused(tokenSaying({ ...stranger, kid: key.kid }, claims))
    await expectRefused(tokenSaying(stranger, claims))
    await expectRefused(tokenSaying(jwtKey, claims))
    await expectRefused(tokenSaying({ ...jwtKey, kid: key.kid }, claims))
    await expectRefused(tokenSaying({ ...key, kid: jwtKey.kid }, claims))
  })

  it('with a payload that only looks like one', async () => {
    const json = Buffer.from(JSON.stringify({ sub: 'alice', exp: claims.exp }))
    for (const one of [withDigest(Buffer.alloc(0)), json, withDigest(json), withDigest(bodyWith(3, [0x75]))])
      await expectRefused(tokenOf(key, one))
  })

  it('with a name, an address or a time that is none', async () => {
    const head = bodyOf(payload).subarray(0, 38)
    const saying = (...parts: (Buffer | string)[]) =>
      tokenOf(
        key,
        withDigest(Buffer.concat([head, ...parts.flatMap((part) => [Buffer.of(part.length), Buffer.from(part)])])),
      )
    expect(decodeKeySignedPayload(withDigest(Buffer.concat([head, Buffer.from('\u0005alice\0\0')])))).toEqual(claims)
    const names = ['anonymous', 'ANONYMOUS', 'alice\0', '\0', 'al ice', 'alice\n', 'ali\u00e7e', 'x'.repeat(65), '*']
    for (const name of names) await expectRefused(saying(name, '', ''))
    for (const length of [3, 17]) await expectRefused(saying('alice', Buffer.alloc(length), ''))
    const { iat } = claims
    const time = (seconds: number) => [...Buffer.from(seconds.toString(16).padStart(12, '0'), 'hex')]
    for (const [from, to] of [
      [iat, iat + 86_401],
      [iat + 3600, iat],
      [iat + 120, iat + 240],
      [0, 2 ** 47],
    ]) {
      await expectRefused(tokenOf(key, withDigest(bodyWith(4, [...time(from ?? 0), ...time(to ?? 0)]))))
    }
    await expectRefused(tokenSaying(key, { ...claims, sub: 'nobody-there' }), 'principal-disabled')
    await expectRefused(tokenSaying(key, { ...claims, gen: 2 ** 31 - 1 }), 'login-ended')
  })
})

describeOnce('passwords beside key-signed tokens', (openBackend) => {
  let token: string
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, environment: { LOGIN_FAILURES_PER_ACCOUNT: '3/900' } })
    token = await keySignedToken(stack.auth, { username: 'alice', include: ['username', 'password'] })
  })
  afterAll(() => stack.close())

  const encoded = Buffer.from(passwordOf('alice')).toString('base64url')
  const withField = (field: string) => ({ ...keySignedHeaders(token), 'x-key-signed-password': field })

  it.each([
    ['padding alone', '='],
    ['nothing', ''],
    ['a single letter', 'a'],
    ['half of its padding', `${encoded}=`],
    ['padding that it does not need', 'YWxpY2UhPT8='.padEnd(16, '=')],
    ['a letter of no alphabet', `${encoded}!`],
    ['spaces', `${encoded.slice(0, 3)} ${encoded.slice(3)}`],
    ['bits that mean nothing', 'YWxpY2X'],
    ['no UTF-8', Buffer.of(0xff, 0xfe).toString('base64url')],
    ['half a character', Buffer.of(0xc3).toString('base64url')],
    ['more than any password', Buffer.alloc(1025, 'x').toString('base64url')],
    ['more letters than any password', 'A'.repeat(4097)],
    ['very many letters', 'A'.repeat(10_000)],
  ])('are refused, uncounted, when they cannot be one: %s', async (_what, field) => {
    for (let round = 0; round < 4; round += 1) {
      for (const reply of await askBoth(withField(field))) expectProblem(reply, 400, 'invalid-parameter')
    }
  })

  it('are refused when there are two of them', async () => {
    const fields = `authorization: KeySigned ${token}\r\nx-key-signed-password: ${encoded}\r\n`.concat(
      `x-key-signed-password: ${encoded}\r\n`,
    )
    const request = `GET /me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${fields}\r\n`
    const reply = await sendRaw(stack.auth.port, request)
    expect(reply && { status: reply.status, code: reply.body.code }).toEqual({ status: 400, code: 'invalid-parameter' })
  })
})
