import { createServer, type IncomingHttpHeaders, type Server, request as sendTo } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { credentialOf, type OriginalRequest } from '../../support/clients/ask-verify.ts'
import { rememberSecret } from '../../support/clients/http-client.ts'
import { schemeClients } from '../../support/clients/scheme-clients/index.ts'
import { sessionClient } from '../../support/clients/scheme-clients/session.ts'
import { makeKey, signUrl } from '../../support/clients/signing.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/processes/free-port.ts'
import {
  forwardAuthProxies,
  type RunningProxy,
  startProxy,
} from '../../support/processes/proxies/forward-auth-proxies.ts'
import { openEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { hasProgram } from './tools.ts'

/** A request as the service has seen it. */
interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

let stack: Stack
let service: Server
let servicePort: number
let seen: Seen[] = []

const textOf = async (chunks: AsyncIterable<unknown>): Promise<string> => {
  let text = ''
  for await (const chunk of chunks) text += chunk
  return text
}

/** Sends a request of a client to a proxy. */
function call(port: number, { method = 'GET', target = '/things', headers = {}, body }: OriginalRequest) {
  return new Promise<Answer>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path: target, agent: false }
    const sent = sendTo({ ...options, headers: headers as IncomingHttpHeaders }, async (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: await textOf(response) })
    })
    sent.on('error', reject).end(body)
  })
}

/** Caddy cannot tell an absent body from one of unknown length. */
const saysThereIsNoBody = { 'content-length': '0' }

describe('a service behind a proxy of deploy/forward-auth', () => {
  beforeAll(async () => {
    service = createServer(async (request, response) => {
      const { method, url, headers } = request
      seen.push({ method, url, headers, body: await textOf(request) })
      if (headers['keyhold-token']) rememberSecret(String(headers['keyhold-token']))
      response.setHeader('content-type', 'text/plain').end('of the service')
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    servicePort = (service.address() as AddressInfo).port
    const environment = { TRUST_PROXY: '127.0.0.1/32', ALLOW_INSECURE_HTTP: 'true' }
    stack = await openStack(openEmbedded, { environment })
  })
  afterAll(async () => {
    service.close()
    await stack.close()
  })

  describe.each(forwardAuthProxies.map((proxy) => [proxy.name, proxy] as const))('%s', (name, proxy) => {
    // The configuration of Caddy is tested where Caddy is installed, and not under CI.
    const isHere = hasProgram(name, name !== 'caddy')
    let running: RunningProxy
    let token: string

    /** Sends a request that must not reach the service. */
    async function refused(original: OriginalRequest): Promise<Answer> {
      seen = []
      const answer = await call(running.port, original)
      expect(seen, JSON.stringify(original)).toEqual([])
      return answer
    }

    /** Sends a request that must reach the service. Answers what the service has seen. */
    async function passed(original: OriginalRequest): Promise<Seen> {
      seen = []
      const { status, text } = await call(running.port, original)
      expect([status, text], running.output()).toEqual([200, 'of the service'])
      return seen[0] as Seen
    }

    const bearer = () => ({ authorization: `Bearer ${token}` })

    beforeAll(async () => {
      if (!isHere) return
      const between = { authPort: stack.auth.port, servicePort, question: 'right=deal.read&token=1' }
      running = await startProxy(proxy, between)
      await eventually(async () => expect((await call(running.port, {})).status, running.output()).toBe(401))
      token = (await stack.logIn('carol')).access
    })
    afterAll(() => running?.close())

    describe.skipIf(!isHere)('where it is installed', () => {
      it.each(schemeClients.map((client) => [client.name, client] as const))('lets %s pass', async (scheme, client) => {
        const carol = await credentialOf(client, stack, 'carol')
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const original = await carol({ method, target: '/things/1?a=b', headers: saysThereIsNoBody })
          const { headers, ...request } = await passed(original)
          expect(request).toEqual({ method, url: original.target, body: '' })
          expect(headers).toMatchObject({ 'keyhold-user': 'carol', 'keyhold-scheme': scheme })
          expect(headers['keyhold-rights']).toContain('deal.read')
          expect([headers.authorization, headers['x-key-signed-password']]).toEqual([undefined, undefined])
          const used = await stack.deal.send('/rest/v1/deals', { token: String(headers['keyhold-token']) })
          expect(used.status, used.text).toBe(200)
        }
      })

      it('passes a body on to the service', async () => {
        const posted = await passed({ method: 'POST', headers: bearer(), body: '{"a":1}' })
        expect(posted).toMatchObject({ method: 'POST', body: '{"a":1}' })
      })

      it('refuses without a credential and with a wrong one, and challenges', async () => {
        for (const headers of [{}, { authorization: 'Bearer none' }, { cookie: 'keyhold_session=none' }]) {
          const { status, headers: fields } = await refused({ headers })
          expect([status, fields['www-authenticate']]).toEqual([401, expect.stringMatching(/^(Bearer|Basic)/)])
        }
      })

      it('refuses a caller without the right', async () => {
        const dave = (await stack.logIn('dave')).access
        expect((await refused({ headers: { authorization: `Bearer ${dave}` } })).status).toBe(403)
      })

      it('refuses a signature whose body is not seen, or that is used', async () => {
        const key = await makeKey(stack, 'carol')
        const signed = (method: string, body?: string) => {
          const timestamp = Math.floor(stack.clock.now() / 1000)
          const url = signUrl(
            key,
            { method, url: 'http://service.test/things', body },
            { timestamp, nonce: name + method },
          )
          const target = url.slice('http://service.test'.length)
          return { method, target, headers: saysThereIsNoBody }
        }
        expect((await refused({ ...signed('POST', 'text'), headers: {}, body: 'text' })).status).toBe(401)
        // A body that was added to a request signed without one.
        expect((await refused({ ...signed('PUT'), headers: {}, body: 'text' })).status).toBe(401)
        const original = signed('DELETE')
        await passed(original)
        expect((await refused(original)).status).toBe(401)
      })

      it('believes nothing that a client writes about its request', async () => {
        const key = await makeKey(stack, 'carol')
        const timestamp = Math.floor(stack.clock.now() / 1000)
        const url = signUrl(key, { method: 'GET', url: 'http://service.test/signed' }, { timestamp })
        const target = url.slice('http://service.test'.length)
        const lies = {
          'x-forwarded-method': 'GET',
          'x-forwarded-uri': target,
          'x-forwarded-for': '192.0.2.1',
          'x-forwarded-proto': 'https',
          'x-real-ip': '192.0.2.1',
          forwarded: 'for=192.0.2.1;proto=https',
        }
        await passed({ target, headers: lies })
        // Some proxies remove the fields that `Connection` names, also those that they have written.
        const dropping = { ...lies, connection: 'close, x-forwarded-method, x-forwarded-uri, x-forwarded-for' }
        expect([401, 403]).toContain((await refused({ headers: dropping })).status)
        expect((await refused({ headers: lies })).status).toBe(401)
        expect((await refused({ method: 'PUT', target, headers: { ...lies, ...saysThereIsNoBody } })).status).toBe(401)
        const line = stack.logLines.findLast((one) => one.includes('"route":"/verify"')) ?? '{}'
        expect(JSON.parse(line)).toMatchObject({ address: '127.0.0.1', asksAbout: 'PUT /signed' })
      })

      it('lets no field through by which a client names itself', async () => {
        const names = ['keyhold-user', 'keyhold_user', 'KEYHOLD-RIGHTS', 'keyhold_rights', 'keyhold-rights-omitted']
        const lies = Object.fromEntries(names.map((field) => [field, 'admin']))
        const { headers } = await passed({ headers: { ...bearer(), ...lies } })
        expect(headers['keyhold-user']).toBe('carol')
        expect(Object.values(headers)).not.toContain('admin')
        // The next hop would remove the fields that this one names.
        const dropping = { ...bearer(), connection: 'close, keyhold-user, keyhold-rights' }
        expect(String((await passed({ headers: dropping })).headers.connection)).not.toContain('keyhold')
      })

      it('tells the service who the client is and how it came, whatever the client says of that', async () => {
        const ends = ['For', 'Proto', 'Host', 'Port', 'Method', 'Uri', 'Path', 'Prefix', 'Server', 'Scheme', 'Protocol']
        const more = ['Ssl', 'By', 'User', 'Email', 'Groups', 'Preferred-Username', 'Access-Token', 'Client-Cert']
        const names = [
          'Forwarded',
          'X-Real-IP',
          'X_Real_IP',
          'X_Forwarded_For',
          'X_Forwarded_Proto',
          'X_Forwarded_Host',
        ]
        for (const end of [...ends, ...more]) names.push(`X-Forwarded-${end}`)
        const lies = Object.fromEntries(names.map((field) => [field, 'a.lie']))
        const { headers } = await passed({ headers: { ...bearer(), ...lies } })
        expect(Object.entries(headers).filter(([, value]) => String(value).includes('lie'))).toEqual([])
        expect(headers).toMatchObject({
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-proto': 'http',
          'x-forwarded-host': `127.0.0.1:${running.port}`,
        })
      })

      it.runIf(name === 'haproxy')('hands on a change of the protocol, such as WebSocket', async () => {
        const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' }
        const headers = { ...bearer(), ...key, connection: 'keep-alive, Upgrade', upgrade: 'websocket' }
        expect((await passed({ headers })).headers).toMatchObject({ upgrade: 'websocket' })
      })

      it('refuses unsafe requests by cookie that pages of other sites make', async () => {
        const carol = await credentialOf(sessionClient, stack, 'carol')
        const by = (headers: Record<string, string>) => carol({ method: 'POST', headers })
        expect((await refused(await by({ origin: 'https://evil.test' }))).status).toBe(403)
        expect((await refused(await by({ 'sec-fetch-site': 'cross-site' }))).status).toBe(403)
        await passed(await by({ origin: `http://127.0.0.1:${running.port}` }))
      })

      it('refuses a handshake of WebSocket by cookie that a page of another site begins', async () => {
        const carol = await credentialOf(sessionClient, stack, 'carol')
        const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' }
        for (const handshake of [{ ...key, upgrade: 'websocket' }, { upgrade: 'other' }]) {
          const of = (origin: string) => carol({ headers: { ...handshake, connection: 'Upgrade', origin } })
          expect((await refused(await of('https://evil.test'))).status).toBe(403)
          await passed(await of(`http://127.0.0.1:${running.port}`))
        }
      })

      it.each(['/a/../b', '/a/%2e%2e/b', '/%61', '/a/%2E/b', '/a/..;/b/..', '//a/../../b'])(
        'lets no target pass that has another spelling: %s',
        async (target) => {
          expect([400, 403]).toContain((await refused({ target, headers: bearer() })).status)
        },
      )

      it('has no way to the auth server for clients', async () => {
        for (const target of ['/keyhold-verify', '/verify']) {
          const { status, text } = await call(running.port, { target, headers: bearer() })
          expect([target, status === 404 || text === 'of the service']).toEqual([target, true])
        }
      })

      it('lets nothing pass while the auth server is away', async () => {
        const away = { authPort: await freePort(), servicePort, question: '' }
        const alone = await startProxy(proxy, away)
        await eventually(async () => {
          seen = []
          const { status } = await call(alone.port, { headers: bearer() })
          expect([[502, 503].includes(status), seen]).toEqual([true, []])
        }).finally(() => alone.close())
      })
    })
  })
})
