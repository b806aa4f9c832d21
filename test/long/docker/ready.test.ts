import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { selfSigned } from '../../support/processes/self-signed.ts'

const script = join(import.meta.dirname, '../../../docker/ready.mjs')

let server: Server | undefined
afterEach(() => void server?.close())

const portOf = async (listening: Server, host = '127.0.0.1'): Promise<string> => {
  server = listening.listen(0, host)
  await once(listening, 'listening')
  return String((listening.address() as AddressInfo).port)
}

const exitCodeOf = (port: string, environment: Readonly<Record<string, string>> = {}): Promise<number> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, ...environment }
    execFile(process.execPath, [script, port], { env }, (error) => resolve(Number(error?.code ?? 0)))
  })

const answers =
  (status: number): RequestListener =>
  ({ url }, response) =>
    response.writeHead(url === '/readyz' ? status : 404).end()

it.each([
  [200, 0],
  [503, 1],
])('the health check of a container takes a server that answers %d with exit code %d', async (status, code) => {
  expect(await exitCodeOf(await portOf(createServer(answers(status))))).toBe(code)
})

it('asks by HTTPS where TLS_CERT is set, whoever signed the certificate', async () => {
  const { certPem: cert, keyPem: key } = selfSigned()
  const port = await portOf(createTlsServer({ cert, key }, answers(200)))
  expect(await exitCodeOf(port, { TLS_CERT: '/somewhere/tls.crt' })).toBe(0)
  expect(await exitCodeOf(port)).toBe(1)
})

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

it.skipIf(!hasIpv6)('asks where the server listens', async () => {
  const port = await portOf(createServer(answers(200)), '::1')
  expect(await exitCodeOf(port, { HOST: '::1' })).toBe(0)
  expect(await exitCodeOf(port, { HOST: '0.0.0.0' })).toBe(1)
})

it('fails where nobody listens', async () => {
  const port = await portOf(createServer())
  server?.close()
  expect(await exitCodeOf(port)).toBe(1)
})

it('does not wait for a server that does not answer', async () => {
  expect(await exitCodeOf(await portOf(createServer(() => undefined)))).toBe(1)
})
