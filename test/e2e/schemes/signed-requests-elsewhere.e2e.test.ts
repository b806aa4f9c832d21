/**
 * Signed requests of clients that others wrote: a library for RFC 9421, OpenSSL in a shell, and the programs in the
 * documentation.
 */
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createSigner, httpbis, type SigningKey } from 'http-message-signatures'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, send } from '../../support/clients/http-client.ts'
import { type ClientKey, makeKey } from '../../support/clients/signing.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const run = promisify(execFile)
const page = readFileSync(join(import.meta.dirname, '../../../docs/signed-requests.md'), 'utf8')
const programs = new Map([...page.matchAll(/^```(js|sh)\n(.*?)^```/gms)].map(([, language, text]) => [language, text]))
const isHere = (program: string, ...args: string[]) => spawnSync(program, args).status === 0

let stack: Stack
let hmac: ClientKey
let rsa: ClientKey

/** By which origin clients know the deal servers of the tests. */
const origin = 'http://deals.test'
const body = JSON.stringify({ name: 'by RFC 9421', price: 1 })

interface Request {
  readonly method: string
  readonly path: string
  readonly fields: string[]
  readonly body?: string
  readonly parameters?: Record<string, string | Date>
}

const signerOf = (key: ClientKey): SigningKey =>
  key.secret === undefined
    ? createSigner(String(key.privateKeyPem), 'rsa-v1_5-sha256', key.id)
    : createSigner(key.secret, 'hmac-sha256', key.id)

async function signed(key: ClientKey, request: Request): Promise<Record<string, string>> {
  const digest = request.body && `sha-512=:${createHash('sha512').update(request.body).digest('base64')}:`
  const message = {
    method: request.method,
    url: origin + request.path,
    headers: { 'content-type': 'application/json', ...(digest && { 'content-digest': digest }) },
  }
  const paramValues = { created: new Date(stack.clock.now()), ...request.parameters }
  const params = ['created', 'keyid', 'alg', ...Object.keys(request.parameters ?? {})]
  const { headers } = await httpbis.signMessage(
    { key: signerOf(key), fields: request.fields, params, paramValues },
    message,
  )
  return headers as Record<string, string>
}

const sendTo = (request: Request, headers: Record<string, string>): Promise<Reply> =>
  send(stack.deal.url + request.path, {
    method: request.method,
    headers,
    ...(request.body === undefined ? {} : { body: request.body }),
  })

const ask = async (key: ClientKey, request: Request): Promise<Reply> => sendTo(request, await signed(key, request))

const list = { method: 'GET', path: '/rest/v1/deals?limit=5&status=open' }
const creation = { method: 'POST', path: '/rest/v1/deals/', body, fields: ['@method', '@path', 'content-digest'] }

describeEmbedded('signed requests of other clients', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    hmac = await makeKey(stack, 'alice')
    rsa = await makeKey(stack, 'alice', { kind: 'rsa' })
  })
  afterAll(() => stack.close())

  describe('by a library for RFC 9421', () => {
    it.each([
      [['@method', '@path', '@query']],
      [['@method', '@target-uri']],
      [['@method', '@authority', '@scheme', '@request-target', '@path', '@query', 'content-type']],
      [['@query-param;name="limit"', '@method', '@path', '@query']],
    ])('are accepted when they cover %j', async (fields) => {
      for (const key of [hmac, rsa]) {
        const reply = await ask(key, { ...list, fields })
        expect(reply.status, reply.text).toBe(200)
      }
    })

    it('are accepted with a body, once', async () => {
      for (const key of [hmac, rsa]) {
        const headers = await signed(key, { ...creation, parameters: { nonce: key.id, tag: 'x' } })
        expect((await sendTo(creation, headers)).status).toBe(201)
        expectProblem(await sendTo(creation, headers), 401, 'signature-used')
      }
    })

    it('are refused at the other server, when they name it', async () => {
      const request = { method: 'GET', path: '/me', fields: ['@method', '@target-uri'] }
      const reply = await send(`${stack.auth.url}/me`, { headers: await signed(hmac, request) })
      expectProblem(reply, 401, 'invalid-signature')
      const own = await signed(hmac, { ...request, fields: ['@method', '@path'] })
      expect((await send(`${stack.auth.url}/me`, { headers: own })).body.scheme).toBe('signed-request')
    })
  })

  describe('by the documentation', () => {
    it('are accepted of its program for Node.js', async () => {
      const program = `${programs.get('js')}
        const [url, id, secret] = process.argv.slice(1)
        const body = JSON.stringify({ name: 'Ä & =', price: 1 })
        const ask = (request) => fetch(sign({ id, secret }, request), { ...request, headers: { 'content-type': 'application/json' } })
        const made = await ask({ method: 'POST', url: url + '/rest/v1/deals/', body })
        const found = await ask({ method: 'GET', url: url + '/rest/v1/deals?q=%C3%84' })
        console.log(made.status, found.status, (await found.json()).items[0].name)`
      const args = ['--input-type=module', '-e', program, stack.deal.url, hmac.id, String(hmac.secret)]
      expect((await run(process.execPath, args)).stdout).toBe('201 200 Ä & =\n')
    })

    it.skipIf(!isHere('openssl', 'version') || !isHere('curl', '--version'))('and in a shell', async () => {
      const env = { PATH: process.env.PATH, DEAL: stack.deal.url, API_KEY: hmac.id, API_SECRET: hmac.secret }
      const { stdout } = await run('sh', ['-ec', String(programs.get('sh'))], { env })
      expect(stdout).toMatch(/^\{"items":\[.*\}\{"id":"[^"]+","name":"deal123"/)
    })
  })
})
