/**
 * The TLS certificate of a server (TLS_CERT, TLS_KEY). It is read at the start and again after a renewal, without a
 * restart.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Log } from '../../log/log.ts'
import { OperatorError } from '../../operator-error.ts'
import type { SettingProblem } from '../../settings/settings.ts'

/** The PEM files of the certificate and its key. The certificate file may also contain the chain. */
export interface CertificateFiles {
  readonly certificateFile: string
  readonly keyFile: string
}

interface CertificatePem {
  readonly cert: string
  readonly key: string
}

/**
 * TLS 1.3, and TLS 1.2 only with ephemeral keys and authenticated encryption (RFC 9325 §4.2). Pass the rules again with
 * each renewed certificate: Node.js uses its defaults for missing options.
 */
export const tlsRules = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  ciphers: [
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'TLS_AES_128_GCM_SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
  ].join(':'),
} as const

/**
 * The error for certificate files that cannot be used. The message names the file and the reason, and contains nothing
 * of the key.
 */
export class CertificateError extends OperatorError {
  override readonly name = 'CertificateError'
  readonly problems: readonly SettingProblem[]

  constructor(problems: readonly SettingProblem[]) {
    super(problems.map(({ variable, expected }) => `${variable}: ${expected}`).join('\n'))
    this.problems = problems
  }
}

/** A certificate that may be renewed. */
export interface Certificate {
  readonly pem: CertificatePem
  /**
   * Calls `apply` for each renewed certificate that can be used, until the returned function is called. Looks at times,
   * and at once on SIGHUP.
   */
  watch(apply: (pem: CertificatePem) => void): () => void
  /** When the first certificate of the chain that is served expires, in milliseconds since the epoch. */
  expiresAt(): number
}

interface CertificateOptions {
  readonly log: Log
  /** How often the files are read, in milliseconds; each minute when left out. */
  readonly intervalMs?: number
}

/** Reads the certificate; undefined without files. @throws CertificateError */
export async function openCertificate(
  files: CertificateFiles | undefined,
  { log, intervalMs = 60_000 }: CertificateOptions,
): Promise<Certificate | undefined> {
  if (!files) return undefined
  const pem = await readCertificate(files)
  let last = pem
  return {
    pem,
    expiresAt: () => expiryOf(last),
    watch(apply) {
      let failure: string | undefined
      const reload = async () => {
        try {
          const now = await readCertificate(files)
          failure = undefined
          if (now.cert === last.cert && now.key === last.key) return
          apply(now)
          last = now
          log.info(`Serving with the renewed certificate in ${files.certificateFile}`)
        } catch (error) {
          const message = error instanceof Error ? error.message : 'unknown error'
          if (message !== failure) log.error(`Still serving with the former certificate: ${message}`)
          failure = message
        }
      }
      const read = () => void reload()
      const timer = setInterval(read, intervalMs).unref()
      process.on('SIGHUP', read)
      return () => {
        clearInterval(timer)
        process.off('SIGHUP', read)
      }
    },
  }
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function expiryOf({ cert }: CertificatePem): number {
  const chain = cert.match(pemCertificate) ?? []
  return Math.min(...chain.map((one) => Date.parse(new X509Certificate(one).validTo)))
}

/** The problems of these files, to report them together with the problems of the settings. */
export async function certificateProblems(files: CertificateFiles | undefined): Promise<readonly SettingProblem[]> {
  try {
    if (files) await readCertificate(files)
    return []
  } catch (error) {
    if (error instanceof CertificateError) return error.problems
    throw error
  }
}

/** @throws CertificateError with the problems of both files */
async function readCertificate({ certificateFile, keyFile }: CertificateFiles): Promise<CertificatePem> {
  const [certificate, privateKey] = await Promise.allSettled([
    readPem('TLS_CERT', certificateFile, 'a PEM certificate', (pem) => new X509Certificate(pem)),
    readPem('TLS_KEY', keyFile, 'an unencrypted PEM private key', createPrivateKey),
  ])
  if (certificate.status === 'rejected' || privateKey.status === 'rejected') {
    const reasons = [certificate, privateKey].map((read) => (read.status === 'rejected' ? read.reason : undefined))
    throw new CertificateError(reasons.flatMap((reason) => (reason instanceof CertificateError ? reason.problems : [])))
  }
  const [cert, key] = [certificate.value.pem, privateKey.value.pem]
  if (!certificate.value.parsed.checkPrivateKey(privateKey.value.parsed))
    throw unusable('TLS_KEY', 'is not the private key of the first certificate in TLS_CERT')
  parsed('TLS_CERT', 'a certificate that TLS can be served with', () => createSecureContext({ cert, key }))
  return { cert, key }
}

async function readPem<Content>(variable: string, file: string, what: string, parse: (pem: string) => Content) {
  const pem = await readFile(file, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    throw unusable(variable, `the file cannot be read${code}`)
  })
  return { pem, parsed: parsed(variable, what, () => parse(pem)) }
}

const unusable = (variable: string, expected: string) => new CertificateError([{ variable, expected }])

/** Hides the error message of the library, which may contain parts of a key. */
function parsed<Result>(variable: string, what: string, parse: () => Result): Result {
  try {
    return parse()
  } catch {
    throw unusable(variable, `the file does not hold ${what}`)
  }
}
