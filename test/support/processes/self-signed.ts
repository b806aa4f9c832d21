/** Certificates for tests of TLS: X.509 v3 (RFC 5280 §4.1), signed by their own key, for 127.0.0.1 and localhost. */
import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface SelfSigned {
  readonly certPem: string
  readonly keyPem: string
}

/** One ASN.1 value in DER (X.690). */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const lengthOctets = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...lengthOctets]), content])
}

const sequence = (...contents: Uint8Array[]) => der(0x30, ...contents)
const octets = (text: string) => Buffer.from(text, 'hex')
const utcTime = (year: number) => der(0x17, Buffer.from(`${String(year % 100).padStart(2, '0')}0101000000Z`))

const sha256WithRsa = sequence(der(0x06, octets('2a864886f70d01010b')), der(0x05))
const commonName = der(0x06, octets('550403'))
const subjectAltName = der(0x06, octets('551d11'))
const basicConstraints = der(0x06, octets('551d13'))

/** A certificate that is its own authority, good from 2020 to the beginning of `until`. */
export function selfSigned(name = 'Keyhold test', until = 2049): SelfSigned {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const subject = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from(name)))))
  const names = sequence(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from('localhost')))
  const extensions = sequence(
    sequence(basicConstraints, der(0x01, octets('ff')), der(0x04, sequence(der(0x01, octets('ff'))))),
    sequence(subjectAltName, der(0x04, names)),
  )
  const serial = der(0x02, Buffer.concat([octets('01'), randomBytes(8)]))
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const toBeSigned = sequence(
    der(0xa0, der(0x02, octets('02'))),
    serial,
    sha256WithRsa,
    subject,
    sequence(utcTime(2020), utcTime(until)),
    subject,
    publicKey,
    der(0xa3, extensions),
  )
  const signature = der(0x03, octets('00'), sign('sha256', toBeSigned, privateKey))
  const body = sequence(toBeSigned, sha256WithRsa, signature).toString('base64')
  const lines = body.match(/.{1,64}/g) ?? []
  return {
    certPem: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    keyPem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}
