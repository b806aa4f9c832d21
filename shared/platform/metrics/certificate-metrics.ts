import type { Certificate } from '../http/server/certificate.ts'
import type { Metrics, ServerName } from './metrics.ts'

/** Says when the certificate that a server serves with expires; nothing for a server without one. */
export function observeCertificate(metrics: Metrics, server: ServerName, certificate: Certificate | undefined): void {
  metrics.gauge(
    {
      name: 'certificate_expiry_timestamp_seconds',
      help: 'When the first certificate of the chain in TLS_CERT expires, in seconds since 1970.',
    },
    server,
    () => (certificate ? [{ value: certificate.expiresAt() / 1000 }] : []),
  )
}
