import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { sendRaw } from '../support/clients/raw-http.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { fingerprintOfData } from '../support/stores/data-fingerprint.ts'
import { openStack, type Stack, type TestServer } from '../support/worlds/stack.ts'

let stack: Stack
let token: string

const create = '/rest/v1/deals'
const head = (first: string, ...lines: string[]): string => `${[first, ...lines].join('\r\n')}\r\n\r\n`
const host = 'host: localhost'
const close = 'connection: close'
const json = 'content-type: application/json'

describeEmbedded('requests that are not well-formed HTTP', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    token = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())

  const servers = (): TestServer[] => [stack.auth, stack.deal]
  const authorization = () => `authorization: Bearer ${token}`

  const answerOf = async (server: TestServer, bytes: string | Uint8Array, idleMs?: number): Promise<Reply> => {
    const reply = await sendRaw(server.port, bytes, idleMs)
    if (!reply) throw new Error('no answer')
    return reply
  }

  /** Either server answers these bytes with this problem, and closes. */
  const expectRefused = async (bytes: string | Uint8Array, status: number, code: string): Promise<void> => {
    const before = await fingerprintOfData(stack.database)
    for (const server of servers()) expectProblem(await answerOf(server, bytes, 100), status, code)
    expect(await fingerprintOfData(stack.database)).toBe(before)
  }

  it.each<[string, string | Uint8Array]>([
    ['nothing but zeros', new Uint8Array(100)],
    ['a TLS greeting', Buffer.from('16030100a5010000a10303', 'hex')],
    ['the greeting of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a word', 'hello\r\n\r\n'],
    ['a backslash in the target', head('GET /\\ HTTP/1.1', host, close)],
    ['an unknown version', head('GET /healthz HTTP/9.9', host, close)],
    ['an unknown method', head('BREW /healthz HTTP/1.1', host, close)],
    ['a method in lower case', head('get /healthz HTTP/1.1', host, close)],
    ['a target that is none', head('GET healthz HTTP/1.1', host, close)],
    ['a blank in the target', head('GET /health z HTTP/1.1', host, close)],
    ['no Host', head('GET /healthz HTTP/1.1', close)],
    ['two Hosts', head('GET /healthz HTTP/1.1', host, 'host: b', close)],
    ['an impossible Host', head('GET /healthz HTTP/1.1', 'host: a b/c', close)],
    ['a field without a colon', head('GET /healthz HTTP/1.1', host, close, 'x')],
    ['a blank before the colon', head('GET /healthz HTTP/1.1', host, close, 'x : 1')],
    ['a field name with a blank', head('GET /healthz HTTP/1.1', host, close, 'x y: 1')],
    ['NUL in a field', head('GET /healthz HTTP/1.1', host, close, 'x: a\u0000b')],
    ['a length that is no number', head(`POST ${create} HTTP/1.1`, host, close, json, 'content-length: x')],
    ['a negative length', head(`POST ${create} HTTP/1.1`, host, close, json, 'content-length: -1')],
    ['two lengths', `${head(`POST ${create} HTTP/1.1`, host, close, 'content-length: 2', 'content-length: 3')}{} `],
    [
      'a length beside chunks',
      `${head(`POST ${create} HTTP/1.1`, host, close, 'content-length: 2', 'transfer-encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
    ],
    ['an unknown transfer coding', `${head(`POST ${create} HTTP/1.1`, host, close, 'transfer-encoding: x')}{}`],
    ['a request line that does not end', 'GET /healthz'],
    ['fields that do not end', `GET /healthz HTTP/1.1\r\n${host}\r\n`],
  ])('refuses %s', (_what, bytes) => expectRefused(bytes, 400, 'malformed-request'))

  it.each([
    ['16 KiB of fields', head('GET /healthz HTTP/1.1', host, close, `x: ${'y'.repeat(17_000)}`)],
    ['a thousand fields of 20 bytes', head('GET /healthz HTTP/1.1', host, ...Array(1000).fill('x: 1234567890123456'))],
    ['a target of 17,000 bytes', head(`GET /${'y'.repeat(17_000)} HTTP/1.1`, host, close)],
  ])('refuses %s as too large', (_what, bytes) => expectRefused(bytes, 431, 'headers-too-large'))

  it('refuses CONNECT, and expectations it does not know', async () => {
    await expectRefused(head('CONNECT a:443 HTTP/1.1', host), 405, 'method-not-allowed')
    const lines = [host, close, json, 'content-length: 2', 'expect: a miracle']
    await expectRefused(`${head(`POST ${create} HTTP/1.1`, ...lines)}{}`, 417, 'expectation-failed')
  })

  it.each([
    '//',
    '/%',
    '/%zz',
    '/%00',
    '/%ff%fe',
    '/;jsessionid=1',
    '/rest',
    '/rest/v1',
    '/rest/v1/',
    '/users/%zz/x',
    '/constructor',
    '/__proto__',
    '/#',
  ])('knows no route %s', async (target) => {
    for (const server of servers()) {
      expectProblem(await answerOf(server, head(`GET ${target} HTTP/1.1`, host, close)), 404, 'not-found')
    }
  })

  it('refuses what steps out of a prefix that a proxy in front may have allowed', async () => {
    const targets = ['/../../etc/passwd', '/rest/%2e%2e/metrics', '/rest/.%2E/metrics', '/rest/v1/..%2f..%2fmetrics']
    for (const target of [...targets, '/users/..', '/rest/v1/deals/%2e', '/.well-known/keys/..%5cx.pem'])
      await expectRefused(head(`GET ${target} HTTP/1.1`, host, close), 400, 'dot-segment')
  })

  it('refuses a host that is not ours, as of a page whose name was made to lead here', async () => {
    await expectRefused(head('GET /healthz HTTP/1.1', 'host: evil.test', close), 421, 'misdirected-request')
    const login = head('POST /login HTTP/1.1', 'host: evil.test:4000', close, json, 'content-length: 2')
    await expectRefused(`${login}{}`, 421, 'misdirected-request')
    await expectRefused(head('GET http://evil.test/metrics HTTP/1.1', host, close), 421, 'misdirected-request')
  })

  it.each(['%zz', '%00', '%ff', '%E0%A4%A', '%2f', '%25'])('knows no deal, user or key of the id %s', async (id) => {
    const { access } = await stack.logIn('admin')
    const ask = async (server: TestServer, path: string) => {
      const lines = [host, close, `authorization: Bearer ${access}`]
      expectProblem(await answerOf(server, head(`GET ${path} HTTP/1.1`, ...lines)), 404, 'not-found')
    }
    await ask(stack.deal, `/rest/v1/deals/${id}`)
    await ask(stack.auth, `/users/${id}`)
    await ask(stack.auth, `/.well-known/keys/${id}.pem`)
  })

  it.each(['TRACE', 'PROPFIND', 'PATCH', 'DELETE'])('answers %s with 405 where it is not served', async (method) => {
    for (const server of servers()) {
      const reply = await answerOf(server, head(`${method} /healthz HTTP/1.1`, host, close))
      expectProblem(reply, 405, 'method-not-allowed')
      expect(reply.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    }
  })

  describe('what is unusual, and right', () => {
    it('a question for the methods of the server as a whole', async () => {
      for (const server of servers()) {
        const reply = await sendRaw(server.port, head('OPTIONS * HTTP/1.1', host, close))
        expect(reply?.status).toBe(204)
        expect(reply?.headers.get('allow')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
      }
    })

    it.each<[string, string]>([
      ['an absolute target', head('GET http://localhost:1/healthz HTTP/1.1', host, close)],
      ['an absolute target in capitals', head('GET HTTP://LOCALHOST:1/healthz HTTP/1.1', host, close)],
      ['the host of a public origin', head('GET /healthz HTTP/1.1', 'host: deals.test', close)],
      ['HTTP/1.0 without Host', head('GET /healthz HTTP/1.0')],
      ['a question mark alone', head('GET /healthz? HTTP/1.1', host, close)],
      ['blanks around a value', head('GET /healthz HTTP/1.1', 'host:   localhost  ', 'connection:close')],
      ['an offer to upgrade', head('GET /healthz HTTP/1.1', host, 'connection: close, upgrade', 'upgrade: websocket')],
      ['a body with GET', `${head('GET /healthz HTTP/1.1', host, close, 'content-length: 5')}hello`],
    ])('%s', async (_what, bytes) => {
      for (const server of servers()) expect((await sendRaw(server.port, bytes))?.status).toBe(200)
    })

    it('a body in chunks, and one that waits for 100 Continue', async () => {
      const body = '{"name":"deal123","price":1}'
      const lines = [host, close, json, authorization()]
      const chunked = head(`POST ${create} HTTP/1.1`, ...lines, 'transfer-encoding: chunked')
      const [first, second] = [body.slice(0, 9), body.slice(9)]
      const chunks = [first, second].map((part) => `${part.length.toString(16)};x=y\r\n${part}\r\n`).join('')
      expect((await sendRaw(stack.deal.port, `${chunked}${chunks}0\r\n\r\n`))?.status).toBe(201)
      const waiting = head(
        `POST ${create} HTTP/1.1`,
        ...lines,
        `content-length: ${body.length}`,
        'expect: 100-continue',
      )
      expect((await sendRaw(stack.deal.port, waiting + body))?.status).toBe(100)
    })
  })

  it.each([
    ['breaks off', 'content-length: 9', '{}'],
    ['has a chunk of no size', 'transfer-encoding: chunked', '2\r\n{}\r\nzz\r\n'],
    ['has a chunk of another size than it says', 'transfer-encoding: chunked', '2\r\n{}{}\r\n0\r\n\r\n'],
  ])('refuses a body that %s', async (_what, line, body) => {
    const bytes = `${head(`POST ${create} HTTP/1.1`, host, close, json, authorization(), line)}${body}`
    expectProblem(await answerOf(stack.deal, bytes, 1000), 400, 'malformed-request')
  })

  it('takes a client that goes away in the middle of a body for what it is: no fault of the server', async () => {
    const before = await fingerprintOfData(stack.database)
    const lines = [host, json, authorization()]
    const beginnings = [
      `${head(`POST ${create} HTTP/1.1`, ...lines, 'content-length: 100')}{"name":`,
      `${head(`POST ${create} HTTP/1.1`, ...lines, 'transfer-encoding: chunked')}5\r\n{"nam`,
      `${head(`POST ${create} HTTP/1.1`, ...lines, 'transfer-encoding: chunked')}5\r\n{"nam\r\nzz\r\n`,
      `${head('POST /login HTTP/1.1', ...lines, 'content-length: 100')}{"name":`,
    ]
    for (const [index, bytes] of beginnings.entries()) {
      const socket = connect(index === 3 ? stack.auth.port : stack.deal.port, '127.0.0.1')
      socket.on('error', () => undefined)
      await new Promise((resolve) => socket.write(bytes, resolve))
      await sleep(50)
      socket.destroy()
    }
    await sleep(100)
    expect(await fingerprintOfData(stack.database)).toBe(before)
    expect((await stack.deal.send('/healthz')).status).toBe(200)
  })

  it('has logged no fault of its own', () => {
    expect(stack.logLines.filter((line) => line.includes('"level":50') || line.includes('"status":500'))).toEqual([])
  })
})
