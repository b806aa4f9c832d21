import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { selfSigned } from '../../support/processes/self-signed.ts'
import { passwordOf } from '../../support/worlds/stack.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'keyhold-tls-'))
const [certFile, keyFile, otherKeyFile] = ['cert.pem', 'key.pem', 'other.pem'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
]
let child: ChildServer | undefined

/** As a user of curl who knows the private authority. */
const curl = async (...parameters: string[]): Promise<string> =>
  (await run('curl', ['-sS', '--cacert', certFile, ...parameters])).stdout

const settings = async () => ({
  DATA_DIR: join(folder, 'data'),
  KEYS_DIR: await preparedKeysDir(),
  LOG_FORMAT: 'json',
  TLS_CERT: certFile,
  TLS_KEY: keyFile,
  NODE_EXTRA_CA_CERTS: certFile,
})

describe('both servers over TLS', () => {
  beforeAll(() => {
    const [one, other] = [selfSigned(), selfSigned()]
    writeFileSync(certFile, one.certPem)
    writeFileSync(keyFile, one.keyPem)
    writeFileSync(otherKeyFile, other.keyPem)
  })
  afterEach(async () => {
    await child?.end('SIGKILL')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('serve a login and a call with its token, the deal server asking the auth server over TLS', async () => {
    const [authPort, dealPort] = [String(await freePort()), String(await freePort())]
    child = startChild('start.ts', {
      environment: { ...(await settings()), AUTH_PORT: authPort, DEAL_PORT: dealPort },
    })
    await expect.poll(() => child?.output(), { timeout: 90_000 }).toContain('Keyhold is running.')
    const [authUrl, dealUrl] = [`https://127.0.0.1:${authPort}`, `https://127.0.0.1:${dealPort}`]
    expect(child.output()).toContain(`auth server  ${authUrl}`)
    const credentials = JSON.stringify({ username: 'alice', password: passwordOf('alice') })
    const login = await curl(`${authUrl}/login`, '-H', 'Content-Type: application/json', '-d', credentials)
    const bearer = `Authorization: Bearer ${JSON.parse(login).access_token}`
    const deal = await curl(
      `${dealUrl}/rest/v1/deals/`,
      '-H',
      bearer,
      '-H',
      'Content-Type: application/json',
      '-d',
      '{"name":"deal123","price":1234}',
    )
    expect(JSON.parse(deal)).toMatchObject({ name: 'deal123', createdBy: 'alice' })
    const named = JSON.parse(await curl(`${dealUrl}/rest/v1/deals?q=deal123`, '-H', bearer))
    expect(named.items).toHaveLength(1)
    await expect(run('curl', ['-sS', `${authUrl}/healthz`])).rejects.toThrow(/certificate/i)
    expect(await child.end('SIGTERM')).toBe(0)
  })

  it('do not start with a key of another certificate, and say so', async () => {
    child = startChild('start.ts', { environment: { ...(await settings()), TLS_KEY: otherKeyFile } })
    expect(await child.ended()).toBe(2)
    expect(child.output()).toContain('TLS_KEY: is not the private key of the first certificate in TLS_CERT')
  })
})
