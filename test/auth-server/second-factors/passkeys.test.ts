import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registeredPasskey } from '../../../auth-server/second-factors/passkeys.ts'
import { canMakeCertificates } from '../../support/processes/stores/postgres-server.ts'

const party = { id: 'localhost', origins: ['http://localhost:4000'] }
const challenge = 'Y2hhbGxlbmdl'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()
const clientData = Buffer.from(JSON.stringify({ type: 'webauthn.create', challenge, origin: party.origins[0] }))

/** COSE_Key of the passkey (RFC 9052 §7): an ES256 key on P-256. */
const coseKey = () => {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))
  const members: [number, number | Uint8Array][] = [
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, bytes(x)],
    [-3, bytes(y)],
  ]
  return Buffer.from(isoCBOR.encode(new Map(members)))
}

const credentialId = Buffer.from('a passkey of the test')
/** Authenticator data (WebAuthn §6.1): user present and verified, with an attested credential. */
const authData = Buffer.concat([
  sha256(party.id),
  Buffer.from([0x45, 0, 0, 0, 0]),
  Buffer.alloc(16),
  Buffer.from([0, credentialId.length]),
  credentialId,
  coseKey(),
])
const signed = sign('sha256', Buffer.concat([authData, sha256(clientData)]), privateKey)

type Statement = Map<string, unknown>

const answerWith = (fmt: string, attStmt: Statement) => {
  const bytes = (data: Buffer) => new Uint8Array(data)
  const object = new Map<string, unknown>(Object.entries({ fmt, attStmt, authData: bytes(authData) }))
  const id = credentialId.toString('base64url')
  const attestationObject = Buffer.from(isoCBOR.encode(object as never)).toString('base64url')
  const response = { clientDataJSON: clientData.toString('base64url'), attestationObject, transports: ['internal'] }
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
}
const signature = (): [string, unknown][] => [
  ['alg', -7],
  ['sig', new Uint8Array(signed)],
]
const register = (answer: unknown) => registeredPasskey(party, answer, challenge)

describe('a new passkey', () => {
  it.each([
    ['without attestation', answerWith('none', new Map())],
    ['that attests itself', answerWith('packed', new Map(signature()))],
  ])('%s is stored', async (_, answer) => {
    expect(await register(answer)).toMatchObject({ credentialId: answer.id, transports: ['internal'] })
  })

  it.each(['android-key', 'android-safetynet', 'apple', 'fido-u2f', 'packed', 'tpm', 'x'])(
    'with certificates of the format %s is refused',
    async (fmt) => {
      expect(await register(answerWith(fmt, new Map([...signature(), ['x5c', [new Uint8Array(2)]]])))).toBeUndefined()
    },
  )

  it.each([undefined, null, 1, 'x', {}, { response: null }, { response: { attestationObject: 'oA' } }])(
    'that is %j is refused',
    async (answer) => {
      expect(await register(answer)).toBeUndefined()
    },
  )

  it('is refused when its CBOR is nested without end', async () => {
    const { response, ...answer } = answerWith('none', new Map())
    const attestationObject = Buffer.alloc(100_000, 0x81).toString('base64url')
    expect(await register({ ...answer, response: { ...response, attestationObject } })).toBeUndefined()
  })
})

describe.skipIf(!canMakeCertificates())('the certificates of a new passkey', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-attestation-'))
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(String(request.url))
    response.end()
  })
  let list = ''

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    list = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list.crl`
  })
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve))
    rmSync(folder, { recursive: true })
  })

  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const keyFile = (name: string, key: KeyObject) =>
    writeFileSync(join(folder, name), key.export({ type: 'pkcs8', format: 'pem' }))

  /** A leaf for the passkey's key as Android's key store makes it, and its root; both name a revocation list. */
  const makeChain = (): Buffer[] => {
    // KeyDescription: versions and levels 0, the challenge, no unique id, two empty lists.
    const description = Buffer.concat([
      Buffer.from('0201000a01000201000a01000420', 'hex'),
      sha256(clientData),
      Buffer.from('040030003000', 'hex'),
    ])
    const extension = `30${description.length.toString(16).padStart(2, '0')}${description.toString('hex')}`
    const points = `crlDistributionPoints=URI:${list}`
    writeFileSync(join(folder, 'leaf.cnf'), `${points}\n1.3.6.1.4.1.11129.2.1.17=DER:${extension}\n`)
    keyFile('root.key', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
    keyFile('leaf.key', privateKey)
    const subject = ['-subj', '/CN=root', '-addext', points, '-days', '2', '-outform', 'DER', '-out', 'root.der']
    openssl('req', '-x509', '-new', '-key', 'root.key', ...subject)
    openssl('x509', '-inform', 'DER', '-in', 'root.der', '-out', 'root.pem')
    openssl('req', '-new', '-key', 'leaf.key', '-subj', '/CN=leaf', '-out', 'leaf.csr')
    const issuer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial', '-days', '1', '-extfile', 'leaf.cnf']
    openssl('x509', '-req', '-in', 'leaf.csr', ...issuer, '-outform', 'DER', '-out', 'leaf.der')
    return ['leaf', 'root'].map((name) => openssl('x509', '-inform', 'DER', '-in', `${name}.der`, '-outform', 'DER'))
  }

  it('make no server send a request', async () => {
    const x5c = makeChain().map((certificate) => new Uint8Array(certificate))
    expect(await register(answerWith('android-key', new Map([...signature(), ['x5c', x5c]])))).toBeUndefined()
    expect(asked).toEqual([])
  })
})
