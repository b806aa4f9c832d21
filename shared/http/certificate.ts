/**
 * The certificate a server is served with (TLS_CERT, TLS_KEY): read at the start, and again when it has been renewed, so that renewing
 * needs no restart.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Log } from '../log.ts'

/** Where certificate and key are: PEM files; the certificate's may hold the chain behind it. */
export interface CertificateFiles {
  readonly certificateFile: string
  readonly keyFile: string
}

/** What TLS is served with, as Node.js takes it. */
export interface CertificatePem {
  readonly cert: string
  readonly key: string
}

/** The files cannot be served with: the message says which and why, and holds nothing of the key. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
}

/** A certificate that may be renewed. */
export interface Certificate {
  readonly pem: CertificatePem
  /** Calls `apply` whenever the files hold another certificate that can be served with, until the answered function is called. */
  watch(apply: (pem: CertificatePem) => void): () => void
}

export interface CertificateOptions {
  readonly log: Pick<Log, 'info' | 'error'>
  /** How often the files are looked at, in milliseconds; each minute. */
  readonly intervalMs?: number
}

/** The certificate in these files; undefined when there are none. @throws CertificateError */
export async function openCertificate(
  files: CertificateFiles | undefined,
  { log, intervalMs = 60_000 }: CertificateOptions,
): Promise<Certificate | undefined> {
  if (!files) return undefined
  const pem = await readCertificate(files)
  return {
    pem,
    watch(apply) {
      let last = pem
      let failure: string | undefined
      const look = async () => {
        try {
          const now = await readCertificate(files)
          failure = undefined
          if (now.cert === last.cert && now.key === last.key) return
          apply(now)
          last = now
          log.info(`serving with the renewed certificate in ${files.certificateFile}`)
        } catch (error) {
          const message = error instanceof Error ? error.message : 'unknown error'
          if (message !== failure) log.error(`still serving with the former certificate: ${message}`)
          failure = message
        }
      }
      const timer = setInterval(() => void look(), intervalMs).unref()
      return () => clearInterval(timer)
    },
  }
}

async function readCertificate({ certificateFile, keyFile }: CertificateFiles): Promise<CertificatePem> {
  const cert = await readPem('TLS_CERT', certificateFile)
  const key = await readPem('TLS_KEY', keyFile)
  const certificate = parsed('TLS_CERT', 'a PEM certificate', () => new X509Certificate(cert))
  const privateKey = parsed('TLS_KEY', 'an unencrypted PEM private key', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CertificateError('TLS_KEY: is not the private key of the first certificate in TLS_CERT')
  }
  parsed('TLS_CERT', 'a certificate that TLS can be served with', () => createSecureContext({ cert, key }))
  return { cert, key }
}

async function readPem(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    throw new CertificateError(`${variable}: the file cannot be read${code}`)
  }
}

/** What the library says of a key that it cannot read is not passed on. */
function parsed<Result>(variable: string, what: string, parse: () => Result): Result {
  try {
    return parse()
  } catch {
    throw new CertificateError(`${variable}: the file does not hold ${what}`)
  }
}
