import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openCertificate } from '../../../../shared/platform/http/server/certificate.ts'
import { observeCertificate } from '../../../../shared/platform/metrics/certificate-metrics.ts'
import { createMetrics } from '../../../../shared/platform/metrics/metrics.ts'
import { selfSigned } from '../../../support/processes/self-signed.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-certificate-'))
const files = { certificateFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const log = { info: () => undefined, error: () => undefined } as never
const expiryIn = (text: string) =>
  /^keyhold_certificate_expiry_timestamp_seconds\{server="auth"\} (\S+)$/m.exec(text)?.[1]
const expiryOf = (pem: string) => String(Date.parse(new X509Certificate(pem).validTo) / 1000)

it('tells when the served certificate expires, the first of its chain, also after a renewal', async () => {
  const [own, authority] = [selfSigned('own', 2040), selfSigned('authority', 2035)]
  writeFileSync(files.certificateFile, own.certPem + authority.certPem)
  writeFileSync(files.keyFile, own.keyPem)
  const certificate = await openCertificate(files, { log, intervalMs: 10 })
  const metrics = createMetrics()
  observeCertificate(metrics, 'auth', certificate)
  expect(expiryIn(await metrics.text())).toBe(expiryOf(authority.certPem))
  const stop = certificate?.watch(() => undefined)
  writeFileSync(files.certificateFile, own.certPem)
  await expect.poll(async () => expiryIn(await metrics.text())).toBe(expiryOf(own.certPem))
  stop?.()
})

it('says nothing where no certificate is served', async () => {
  const metrics = createMetrics()
  observeCertificate(metrics, 'auth', undefined)
  expect(expiryIn(await metrics.text())).toBeUndefined()
})
