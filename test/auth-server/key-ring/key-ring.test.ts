import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { chmod, cp, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKeyRing } from '../../../auth-server/key-ring/create-key-ring.ts'
import { replaceKeyRing } from '../../../auth-server/key-ring/key-files.ts'
import { type KeyRing, openKeyRing } from '../../../auth-server/key-ring/key-ring.ts'
import type { KeyRingFile } from '../../../auth-server/key-ring/keyring-file.ts'
import { createTestClock } from '../support/test-clock.ts'

/** This number of a JWK and two. */
const increased = (member: string | undefined): string => {
  const number = BigInt(`0x${Buffer.from(member ?? '', 'base64url').toString('hex')}`) + 2n
  const hex = number.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}

describe('the key ring', () => {
  const options = { bits: 2048, clock: createTestClock() }
  const errors: string[] = []
  const log = { info: () => undefined, error: (message: unknown) => void errors.push(String(message)) }
  let directory = ''
  let ring: KeyRing | undefined

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'keyhold-keys-'))
    errors.length = 0
  })
  afterEach(async () => {
    await ring?.close()
    ring = undefined
    await rm(directory, { recursive: true, force: true })
  })

  /** One ring is made and copied, for tests of what happens later: generating keys takes long. */
  let made = ''
  const copyRing = async () => {
    if (made === '') {
      made = await mkdtemp(join(tmpdir(), 'keyhold-ring-'))
      await createKeyRing(made, options)
    }
    await cp(made, directory, { recursive: true })
  }
  afterAll(() => rm(made, { recursive: true, force: true }))

  const path = (name: string) => join(directory, name)
  const open = async (passphrase?: string) => {
    ring = await openKeyRing({ directory, passphrase }, log)
    return ring
  }
  const readRing = async (): Promise<KeyRingFile> => JSON.parse(await readFile(path('keyring.json'), 'utf8'))
  const writeRing = (content: unknown) => writeFile(path('keyring.json'), JSON.stringify(content))

  it('is made once, of files that only their owner can read', async () => {
    expect(await createKeyRing(directory, options)).toBe(true)
    expect(await createKeyRing(directory, options)).toBe(false)
    const files = await readdir(directory)
    expect(files).toHaveLength(3)
    for (const file of files) expect((await stat(path(file))).mode & 0o777).toBe(0o600)
    const opened = await open()
    expect(opened.status().map(({ use, state }) => [use, state])).toEqual([
      ['jwt', 'active'],
      ['key-signed', 'active'],
    ])
    expect(opened.signingKey('jwt').kid).not.toBe(opened.signingKey('key-signed').kid)
  })

  it('is the same for all that start at once', async () => {
    const made = await Promise.all(Array.from({ length: 3 }, () => createKeyRing(directory, options)))
    expect(made.filter(Boolean)).toHaveLength(1)
    expect(await readdir(directory)).toHaveLength(3)
    await open()
  })

  it('publishes public members only, each use on its own', async () => {
    await copyRing()
    const opened = await open()
    for (const [use, alg] of [
      ['jwt', 'RS256'],
      ['key-signed', 'kst1'],
    ] as const) {
      const { keys } = opened.jwkSet(use)
      expect(keys).toHaveLength(1)
      for (const jwk of keys) {
        expect(Object.keys(jwk).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
        expect(jwk).toMatchObject({ kty: 'RSA', use: 'sig', alg, e: 'AQAB', kid: opened.signingKey(use).kid })
        expect(await calculateJwkThumbprint({ ...jwk })).toBe(jwk.kid)
        const pem = opened.publicKeyPem(jwk.kid) ?? ''
        expect(pem).toContain('BEGIN PUBLIC KEY')
        expect(createPublicKey(pem).export({ format: 'jwk' }).n).toBe(jwk.n)
      }
    }
    const [jwt] = opened.jwkSet('jwt').keys
    expect(opened.verificationKeys('jwt').key(jwt?.kid ?? '')?.type).toBe('public')
    expect(opened.verificationKeys('key-signed').key(jwt?.kid ?? '')).toBeUndefined()
    expect(opened.publicKeyPem('unknown')).toBeUndefined()
  })

  it.each([
    ['ES256', { kty: 'EC', crv: 'P-256' }, ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']],
    ['EdDSA', { kty: 'OKP', crv: 'Ed25519' }, ['alg', 'crv', 'kid', 'kty', 'use', 'x']],
  ] as const)('signs access tokens with %s, and leaves RSA to key-signed tokens', async (jwtAlg, kind, members) => {
    await createKeyRing(directory, { ...options, jwtAlg, passphrase: 'open sesame' })
    const opened = await open('open sesame')
    const { kid, alg, privateKey } = opened.signingKey('jwt')
    expect(alg).toBe(jwtAlg)
    expect(opened.signingKey('key-signed')).toMatchObject({ alg: 'kst1', privateKey: { asymmetricKeyType: 'rsa' } })
    const [jwk] = opened.jwkSet('jwt').keys
    expect(jwk).toMatchObject({ kid, alg: jwtAlg, use: 'sig', ...kind })
    expect(Object.keys(jwk ?? {}).sort()).toEqual(members)
    expect(await calculateJwkThumbprint({ ...jwk })).toBe(kid)
    expect(opened.verificationKeys('jwt').key(kid)?.equals(createPublicKey(privateKey))).toBe(true)
    const ring = await readRing()
    for (const other of ['RS256', 'ES256', 'EdDSA'].filter((name) => name !== jwtAlg)) {
      await writeRing({ ...ring, keys: ring.keys.map((key) => (key.kid === kid ? { ...key, alg: other } : key)) })
      await expect(openKeyRing({ directory, passphrase: 'open sesame' }, log)).rejects.toThrow(/must be an/)
    }
  })

  it('opens encrypted files with their passphrase alone', async () => {
    await createKeyRing(directory, { ...options, passphrase: 'open sesame' })
    await expect(open()).rejects.toThrow(/KEYS_PASSPHRASE/)
    await expect(open('wrong')).rejects.toThrow(/KEYS_PASSPHRASE/)
    await open('open sesame')
  })

  it('says which file is wrong and what was expected', async () => {
    await expect(open()).rejects.toThrow(/keyring\.json cannot be read \(ENOENT\); expected/)
    await writeFile(path('keyring.json'), '{')
    await expect(open()).rejects.toThrow(/is not JSON/)
    for (const foreign of [{}, [], { keys: [] }, { keyholdKeyRing: 1, keys: [] }, { keyholdKeyRing: 2, keys: [{}] }]) {
      await writeRing(foreign)
      await expect(open()).rejects.toThrow(/is not a Keyhold key ring/)
    }
    expect(await createKeyRing(directory, options)).toBe(false)
  })

  it('refuses entries that contradict each other or their files', async () => {
    await copyRing()
    const whole = await readRing()
    const [jwt, other] = whole.keys
    if (!jwt || !other) throw new Error('two keys expected')
    const cases: [unknown[], RegExp][] = [
      [[jwt], /one active key for key-signed, and has 0/],
      [[jwt, { ...jwt }, other], /names one kid twice/],
      [[{ ...jwt, state: 'pending' }, other], /one active key for jwt, and has 0/],
      [[{ ...jwt, state: 'asleep' }, other], /keys\.0\.state/],
      [[{ ...jwt, alg: 'kst1' }, other], /must have alg RS256/],
      [[{ ...jwt, use: 'key-signed', alg: 'kst1', state: 'retired' }, other], /one active key for jwt/],
      [[{ ...jwt, file: '../secret.pem' }, other], /keys\.0\.file/],
      [[{ ...jwt, file: other.file }, other], /is not the key/],
      [[{ ...jwt, file: 'gone.pem' }, other], /gone\.pem cannot be read \(ENOENT\)/],
    ]
    for (const [keys, message] of cases) {
      await writeRing({ ...whole, keys })
      await expect(open()).rejects.toThrow(message)
    }
  })

  it('refuses a private key that was changed where its public half does not show it', async () => {
    await copyRing()
    const [jwt] = (await readRing()).keys
    const file = path(jwt?.file ?? '')
    const jwk = createPrivateKey(await readFile(file, 'utf8')).export({ format: 'jwk' })
    const changed = { ...jwk, d: increased(jwk.d), dp: increased(jwk.dp) }
    const damaged = createPrivateKey({ key: changed, format: 'jwk' })
    await writeFile(file, damaged.export({ type: 'pkcs8', format: 'pem' }))
    await expect(open()).rejects.toThrow(/is damaged: its private key does not sign for/)
  })

  it('refuses files that others can read, weak keys and foreign ones', async () => {
    await copyRing()
    const [jwt] = (await readRing()).keys
    const file = path(jwt?.file ?? '')
    await chmod(file, 0o640)
    await expect(open()).rejects.toThrow(/can be read by others \(mode 640\); expected 600/)
    await chmod(file, 0o600)
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
    const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    for (const key of [weak, foreign]) {
      await writeFile(file, key.export({ type: 'pkcs8', format: 'pem' }))
      await expect(open()).rejects.toThrow(/RSA key of at least 2048 bits/)
    }
    await writeFile(file, 'no key')
    await expect(open()).rejects.toThrow(/cannot be used; expected a private key in PKCS#8/)
  })

  it('follows changes by itself, and keeps what it has when they are wrong', async () => {
    await copyRing()
    const opened = await open()
    const before = await readRing()
    const kid = opened.signingKey('jwt').kid
    for (const broken of ['', '{', JSON.stringify({ keyholdKeyRing: 1, keys: [] })]) {
      await writeFile(path('keyring.json'), broken)
      await opened.reload()
      expect(opened.signingKey('jwt').kid).toBe(kid)
      expect(opened.problem()).toContain('keyring.json')
    }
    await unlink(path('keyring.json'))
    await opened.reload()
    expect(opened.jwkSet('jwt').keys).toHaveLength(1)
    expect(errors.length).toBeGreaterThanOrEqual(2)
    expect(errors.length).toBeLessThanOrEqual(4)

    await createKeyRing(directory, options)
    const after = await readRing()
    const retired = before.keys.map((key) => ({ ...key, state: 'retired' }))
    await writeRing({ ...after, keys: [...retired, ...after.keys] })
    // The new ring was there for a moment without the retired keys, and may have been seen so.
    await expect.poll(() => opened.jwkSet('jwt').keys.map((key) => key.kid)).toEqual([after.keys[0]?.kid, kid])
    expect(opened.signingKey('jwt').kid).toBe(after.keys[0]?.kid)
    expect(opened.problem()).toBeUndefined()
    expect(opened.verificationKeys('jwt').key(kid)).toBeDefined()

    const removed = before.keys.map((key) => ({ ...key, state: 'removed' }))
    await writeRing({ ...after, keys: [...removed, ...after.keys] })
    await expect.poll(() => opened.verificationKeys('jwt').key(kid)).toBeUndefined()
    expect(opened.publicKeyPem(kid)).toBeUndefined()
  })

  it('learns of a ring that is put in place from the system, long before it is due to look', async () => {
    await copyRing()
    ring = await openKeyRing({ directory }, log, { intervalMs: 3_600_000 })
    const { keys } = await readRing()
    const changed = new Promise<void>((resolve) => ring?.onChange(resolve))
    await replaceKeyRing(directory, {
      keyholdKeyRing: 1,
      keys: keys.map((key) => ({ ...key, revokedReason: 'no reason at all' })),
    })
    await changed
    expect(ring.status().map(({ revokedReason }) => revokedReason)).toEqual(['no reason at all', 'no reason at all'])
  })
})
