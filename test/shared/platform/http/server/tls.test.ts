import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type SecureContextOptions } from 'node:tls'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readAuthConfig } from '../../../../../auth-server/config.ts'
import { readDealConfig } from '../../../../../deal-server/config.ts'
import { systemClock } from '../../../../../shared/platform/clock.ts'
import { certificateProblems, openCertificate } from '../../../../../shared/platform/http/server/certificate.ts'
import { type Listening, listen } from '../../../../../shared/platform/http/server/listen.ts'
import { createApp } from '../../../../../shared/platform/http/server/routes.ts'
import { createIdSource } from '../../../../../shared/platform/ids.ts'
import { sharedProblems } from '../../../../../shared/protocol/problems/both-servers.ts'
import { selfSigned } from '../../../../support/processes/self-signed.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-tls-'))
const [one, other] = [selfSigned('one'), selfSigned('other')]
const files = { certificateFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
const ids = createIdSource(systemClock)
let logged: string[] = []
const log = { info: (line: string) => void logged.push(line), error: (line: string) => void logged.push(line) }
let listening: Listening | undefined

const write = (cert: string, key: string) => {
  writeFileSync(files.certificateFile, cert)
  writeFileSync(files.keyFile, key)
}

const app = createApp({
  routes: [
    {
      methods: ['GET'],
      path: '/peer',
      handle: ({ peer }) => ({ status: 200, headers: {}, body: String(peer.mayCarryCredentials) }),
    },
  ],
  problems: sharedProblems,
  schemes: [],
  transport: { trustProxy: { hops: 0 }, allowInsecureHttp: false },
  origin: 'https://auth.example',
  clock: systemClock,
  ids,
  log: { isLevelEnabled: () => false } as never,
})

async function serve(origin: string, tls = true, intervalMs = 20): Promise<number> {
  const certificate = tls ? await openCertificate(files, { log: log as never, intervalMs }) : undefined
  const place = {
    host: '127.0.0.1',
    port: 0,
    origin,
    publicOrigins: { origin },
    problems: sharedProblems,
    ids,
    log: log as never,
  }
  listening = await listen({ ...place, app, certificate })
  return listening.port
}

interface Got {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** Over TLS, believing this certificate alone. */
const get = (port: number, ca: string, headers: Record<string, string> = {}): Promise<Got> =>
  new Promise((resolve, reject) => {
    const call = request({ port, host: '127.0.0.1', path: '/peer', ca, headers, agent: false }, (answer) => {
      let text = ''
      answer.on('data', (data) => (text += data))
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text }))
    })
    call.on('error', reject).end()
  })

/** What comes back for these bytes over TLS. */
const sendOverTls = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', ca: one.certPem }, () => socket.write(bytes))
    socket.on('data', (data) => (received += data))
    socket.on('end', () => resolve(received)).on('error', reject)
  })

describe('a server with TLS_CERT and TLS_KEY', () => {
  beforeEach(() => {
    logged = []
    write(one.certPem, one.keyPem)
  })
  afterEach(async () => {
    await listening?.drain({ lastRequestMs: 0, graceMs: 100 })
    listening = undefined
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('serves HTTPS, where credentials may be taken even though a proxy is named', async () => {
    const port = await serve('https://auth.example')
    const { status, text } = await get(port, one.certPem, { 'x-forwarded-for': '203.0.113.7' })
    expect({ status, text }).toEqual({ status: 200, text: 'true' })
  })

  it.each([
    ['https://auth.example', true, 'max-age=31536000; includeSubDomains'],
    ['https://auth.example', false, 'max-age=31536000; includeSubDomains'],
    ['http://auth.example', true, 'max-age=31536000; includeSubDomains'],
    ['http://auth.example', false, undefined],
    ['https://localhost:4000', true, undefined],
    ['https://127.0.0.1:4000', true, undefined],
  ])('for clients of %s (TLS here: %s) has the Strict-Transport-Security %s', async (origin, tls, expected) => {
    const port = await serve(origin, tls)
    const answered = tls
      ? (await get(port, one.certPem)).headers['strict-transport-security']
      : (await fetch(`http://127.0.0.1:${port}/peer`)).headers.get('strict-transport-security')
    expect(answered ?? undefined).toBe(expected)
  })

  it.each([
    ['GARBAGE\r\n\r\n', 400, 'malformed-request'],
    [`GET /peer HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers-too-large'],
    ['GET /peer HTTP/1.1\r\nhost: localhost\r\nhost: b\r\n\r\n', 400, 'malformed-request'],
  ])('tells in a problem document also what fails below the framework (%#)', async (bytes, status, code) => {
    const answer = await sendOverTls(await serve('https://auth.example'), bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer.toLowerCase()).toContain('content-type: application/problem+json')
    expect(answer.toLowerCase()).toContain('strict-transport-security: max-age=31536000; includesubdomains')
    expect(answer).toContain(`"code":"${code}"`)
  })

  it('accepts TLS 1.3, TLS 1.2 only with ephemeral keys and authenticated encryption, and nothing older; also after a renewal', async () => {
    const port = await serve('https://auth.example')
    const version = (options: SecureContextOptions) =>
      new Promise<string>((resolve, reject) => {
        const ca = [one.certPem, other.certPem]
        const socket = connect({ port, host: '127.0.0.1', ca, ...options }, () => {
          resolve(String(socket.getProtocol()))
          socket.destroy()
        })
        socket.on('error', reject)
      })
    const ofTls12 = (ciphers: string) => version({ maxVersion: 'TLSv1.2', ciphers })
    const weak = [
      'AES128-GCM-SHA256',
      'AES256-SHA',
      'ECDHE-RSA-AES128-SHA256',
      'ECDHE-RSA-AES256-SHA',
      'DHE-RSA-AES128-GCM-SHA256',
    ]
    const expectRules = async () => {
      expect(await version({})).toBe('TLSv1.3')
      expect(await ofTls12('ECDHE-RSA-AES128-GCM-SHA256')).toBe('TLSv1.2')
      for (const suite of weak) await expect(ofTls12(suite), suite).rejects.toThrow(/handshake failure/)
      const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const
      await expect(version(old)).rejects.toThrow()
    }
    await expectRules()
    write(other.certPem, other.keyPem)
    await expect.poll(() => logged.join()).toContain('Serving with the renewed certificate')
    await expectRules()
  })

  it('closes connections without TLS, and continues', async () => {
    const port = await serve('https://auth.example')
    const received = await new Promise<string>((resolve) => {
      let text = ''
      const socket = connectPlain(port, '127.0.0.1', () =>
        socket.write('GET /peer HTTP/1.1\r\nhost: localhost\r\n\r\n'),
      )
      socket.on('data', (data) => (text += data.toString('latin1')))
      socket.on('error', () => undefined).on('close', () => resolve(text))
    })
    expect(received).not.toContain('HTTP/')
    expect((await get(port, one.certPem)).status).toBe(200)
  })

  it('uses a renewed certificate without a restart, and ignores an unusable one', async () => {
    const port = await serve('https://auth.example')
    await expect(get(port, other.certPem)).rejects.toThrow('self-signed')
    write(other.certPem, one.keyPem)
    await expect.poll(() => logged.join('\n')).toContain('is not the private key')
    expect((await get(port, one.certPem)).status).toBe(200)
    await sleep(60)
    expect(logged.filter((line) => line.includes('is not the private key'))).toHaveLength(1)
    write(other.certPem, other.keyPem)
    await expect.poll(() => logged.at(-1)).toContain('renewed certificate')
    expect((await get(port, other.certPem)).status).toBe(200)
    await expect(get(port, one.certPem)).rejects.toThrow('self-signed')
  })

  it('uses a renewed certificate at once on SIGHUP', async () => {
    const port = await serve('https://auth.example', true, 600_000)
    write(other.certPem, other.keyPem)
    process.emit('SIGHUP')
    await expect.poll(() => logged.at(-1)).toContain('renewed certificate')
    // The signal reaches the servers of other tests too, and any of them may log first.
    const status = () => get(port, other.certPem).then((reply) => reply.status)
    await expect.poll(() => status().catch(String)).toBe(200)
  })

  it.each([
    ['TLS_CERT: the file does not hold a PEM certificate', 'junk', one.keyPem],
    ['TLS_CERT: the file does not hold a PEM certificate', '', one.keyPem],
    ['TLS_KEY: the file does not hold an unencrypted PEM private key', one.certPem, 'junk'],
    ['TLS_KEY: the file does not hold an unencrypted PEM private key', one.certPem, one.certPem],
    ['TLS_KEY: is not the private key of the first certificate in TLS_CERT', one.certPem, other.keyPem],
  ])('is refused: %s', async (message, cert, key) => {
    write(cert, key)
    await expect(openCertificate(files, { log: log as never })).rejects.toThrow(message)
  })

  it('is refused when a file cannot be read', async () => {
    const missing = { ...files, keyFile: join(folder, 'missing.pem') }
    await expect(openCertificate(missing, { log: log as never })).rejects.toThrow(
      'TLS_KEY: the file cannot be read (ENOENT)',
    )
  })

  it('is refused with the problems of both files at once', async () => {
    write('junk', 'junk')
    expect((await certificateProblems(files)).map(({ variable }) => variable)).toEqual(['TLS_CERT', 'TLS_KEY'])
    write(one.certPem, one.keyPem)
    expect([await certificateProblems(files), await certificateProblems(undefined)]).toEqual([[], []])
  })

  it.each([
    ['TLS_KEY', { TLS_CERT: 'a' }],
    ['TLS_CERT', { TLS_KEY: 'a' }],
  ])('needs both of its settings, and names %s when it is missing', (variable, environment) => {
    for (const read of [readAuthConfig, readDealConfig])
      expect(read('together', environment).problems).toContainEqual({
        variable,
        expected: expect.stringMatching(/^must be set when/),
      })
    expect(readAuthConfig('together', { TLS_CERT: 'a', TLS_KEY: 'b' }).problems).toEqual([])
  })

  it('is found under https by default', () => {
    const { config } = readAuthConfig('together', { TLS_CERT: 'a', TLS_KEY: 'b', DEAL_PORT: '443' })
    expect(config.publicOrigins).toEqual({ auth: 'https://127.0.0.1:4000', deal: 'https://127.0.0.1' })
    expect(config.issuer).toBe('https://127.0.0.1:4000')
    expect(readDealConfig('together', { TLS_CERT: 'a', TLS_KEY: 'b' }).config.authUrl).toBe('https://127.0.0.1:4000')
    expect(
      readAuthConfig('together', { TLS_CERT: 'a', TLS_KEY: 'b', AUTH_PUBLIC_ORIGIN: 'http://a.example' }).config
        .publicOrigin,
    ).toBe('http://a.example')
  })
})
