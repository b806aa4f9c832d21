/** What holds for every scheme alike, on both servers: one suite over all of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { expectProblem, expectProblemForm, type Reply } from '../support/clients/http-client.ts'
import { sendRaw } from '../support/clients/raw-http.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import type { SchemeClient } from '../support/clients/scheme-clients/scheme-client.ts'
import { openSender, type SendWith } from '../support/clients/scheme-clients/send-with.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../support/worlds/stack.ts'
import { withinASecond } from '../support/worlds/within-a-second.ts'

let stack: Stack
let admin: string

/** Schemes whose credentials carry the credential generation of their making. */
const generational: readonly SchemeName[] = ['bearer', 'key-signed', 'session']

const asAdmin = async (method: string, path: string, json?: unknown): Promise<void> => {
  const { status, text } = await stack.auth.send(path, {
    method,
    token: admin,
    ...(json === undefined ? {} : { json }),
  })
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`)
}

const statusesOf = (sendWith: SendWith) =>
  Promise.all(stack.deals.map(async (deal) => (await sendWith(deal, { path: '/rest/v1/deals', sent: {} })).status))

/** Every path without parameters that is read with a credential of any scheme and answered at once. */
async function readablePaths(server: TestServer): Promise<string[]> {
  const { paths } = (await server.send('/openapi.json')).body as { paths: Paths }
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const isOfCallers = get !== undefined && get.security === undefined
    const goesOn = get?.responses['200']?.content?.['text/event-stream'] !== undefined
    return isOfCallers && !goesOn && !path.includes('{') ? [path] : []
  })
}

type Paths = Record<
  string,
  { get?: { security?: unknown[]; responses: Record<string, { content?: Record<string, unknown> }> } }
>

/** Every deal server refuses within a second of now. */
const refusedEverywhere = (sendWith: SendWith) =>
  Promise.all(
    stack.deals.map((deal) =>
      withinASecond(() => sendWith(deal, { path: '/rest/v1/deals', sent: {} }), { from: 200, to: 401 }),
    ),
  )

/** Changes one character of whatever carries the credential. */
function tampered(client: SchemeClient): SchemeClient {
  const change = (text: string) => {
    // Digest says more than is secret: what proves the secret is in its middle.
    const response = text.indexOf('response="')
    const at = response < 0 ? text.length - 12 : response + 20
    return text.slice(0, at) + (text[at] === '7' ? '8' : '7') + text.slice(at + 1)
  }
  return {
    ...client,
    open: async (...opened) => {
      const credential = await client.open(...opened)
      return async (request) => {
        const { url, headers } = await credential(request)
        const [name] = ['authorization', 'cookie'].filter((one) => headers[one] !== undefined)
        if (name === undefined) return { url: change(url), headers }
        return { url, headers: { ...headers, [name]: change(headers[name] ?? '') } }
      }
    },
  }
}

describeOnce('every scheme', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  describe.each(schemeClients.map((client) => [client.name, client] as const))('%s', (name, client) => {
    let carol: SendWith

    beforeEach(async () => {
      carol = await openSender(client, stack, 'carol')
    })

    it('is accepted by both servers, and named correctly', async () => {
      const me = await carol(stack.auth, { path: '/me', sent: {} })
      expect(me.status, me.text).toBe(200)
      expect(me.body).toMatchObject({ username: 'carol', roles: ['agent'], scheme: name })
      expect(me.headers.get('cache-control')).toBe('no-store')
      expect(await statusesOf(carol)).toEqual([200, 200])
    })

    it('is accepted by every route that reads', async () => {
      const sendAsAdmin = await openSender(client, stack, 'admin')
      for (const server of [stack.auth, stack.deal]) {
        const paths = await readablePaths(server)
        expect(paths.length).toBeGreaterThan(0)
        for (const path of paths) {
          const { status, text } = await sendAsAdmin(server, { path, sent: {} })
          expect({ path, status, text }).toMatchObject({ path, status: 200 })
        }
      }
    })

    it('can be used again and again', async () => {
      for (let time = 0; time < 3; time += 1) expect(await statusesOf(carol)).toEqual([200, 200])
    })

    it('is refused with one changed character', async () => {
      const sendTampered = await openSender(tampered(client), stack, 'carol')
      for (const [server, path] of [
        [stack.auth, '/me'],
        [stack.deal, '/rest/v1/deals'],
      ] as const) {
        const reply: Reply = await sendTampered(server, { path, sent: {} })
        expect([400, 401], reply.text).toContain(reply.status)
        expectProblemForm(reply)
        // The client of these tests is a script in a browser to the servers: it is challenged, too, but not for a
        // dialog.
        if (reply.status === 401) expect(reply.headers.get('www-authenticate')).toMatch(/^(Bearer|KeySigned) realm=/)
      }
    })

    it('has exactly the rights of its user', async () => {
      const bob = await openSender(client, stack, 'bob')
      const creation = { path: '/rest/v1/deals', sent: { json: { name: 'deal', price: 1 } } }
      const refused = await bob(stack.deal, creation)
      expectProblem(refused, 403, 'missing-right')
      expect(refused.body.missingRight).toBe('deal.create')
      expect((await carol(stack.deal, creation)).status).toBe(201)
      expect((await carol(stack.auth, { path: '/users', sent: {} })).status).toBe(403)
    })

    it('follows a change of rights within a second', async () => {
      const creation = { path: '/rest/v1/deals', sent: { json: { name: 'deal', price: 1 } } }
      await asAdmin('PATCH', '/users/carol', { roles: ['viewer'] })
      await withinASecond(() => carol(stack.deal, creation), { from: 201, to: 403 })
      await asAdmin('PATCH', '/users/carol', { roles: ['agent'] })
    })

    it('is refused within a second after its user was disabled', async () => {
      expect(await statusesOf(carol)).toEqual([200, 200])
      await asAdmin('PATCH', '/users/carol', { enabled: false })
      await refusedEverywhere(carol)
      expect((await carol(stack.auth, { path: '/me', sent: {} })).status).toBe(401)
      await asAdmin('PATCH', '/users/carol', { enabled: true })
      const isAlive = (await carol(stack.auth, { path: '/me', sent: {} })).status === 200
      expect(isAlive).toBe(!generational.includes(name))
    })

    it('is revoked with all logins of its user, if it is a login', async () => {
      expect(await statusesOf(carol)).toEqual([200, 200])
      await asAdmin('POST', '/users/carol/logout')
      if (generational.includes(name)) await refusedEverywhere(carol)
      else expect(await statusesOf(carol)).toEqual([200, 200])
    })

    it('is revoked by a new password, if it was made with the password', async () => {
      expect(await statusesOf(carol)).toEqual([200, 200])
      await asAdmin('PUT', '/users/carol/password', { newPassword: 'quite another long secret' })
      if (name === 'digest' || name === 'signed-request') expect(await statusesOf(carol)).toEqual([200, 200])
      else await refusedEverywhere(carol)
      await asAdmin('PUT', '/users/carol/password', { newPassword: passwordOf('carol') })
    })

    it('is refused beside another credential', async () => {
      const bearer = (await stack.logIn('carol')).access
      const credential = await client.open(stack, 'carol')
      const { url, headers } = await credential({ method: 'GET', url: `${stack.deal.url}/rest/v1/deals` })
      const other =
        headers.authorization === undefined ? { authorization: `Bearer ${bearer}` } : { cookie: 'keyhold_session=x' }
      const path = url.slice(stack.deal.url.length)
      expectProblem(await stack.deal.send(path, { headers: { ...headers, ...other } }), 400, 'several-credentials')
    })
  })

  it('is named by a 401, with its challenge if it has one', async () => {
    for (const [{ port, send }, path] of [
      [stack.auth, '/me'],
      [stack.deal, '/rest/v1/deals'],
    ] as const) {
      const plain = await sendRaw(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
      const challenges = plain?.headers.get('www-authenticate') ?? ''
      expect(challenges.match(/\w+(?= realm=)/g)).toEqual(['Bearer', 'KeySigned', 'Digest', 'Basic'])
      // The client of these tests says, as a script in a browser does, that it is no navigation.
      const reply = await send(path)
      expectProblem(reply, 401, 'unauthenticated')
      expect(reply.body.schemes).toEqual(schemeClients.map(({ name }) => name))
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer .*KeySigned /)
      expect(reply.headers.get('www-authenticate')).not.toMatch(/Digest|Basic/)
    }
  })

  it('is not accepted when it is not enabled', async () => {
    const only = await openStack(openBackend, { environment: { AUTH_SCHEMES: 'bearer,basic' } })
    const { body, headers } = await only.deal.send('/rest/v1/deals')
    expect(body.schemes).toEqual(['bearer', 'basic'])
    expect(headers.get('www-authenticate')).not.toMatch(/Digest|KeySigned/)
    const digest = { headers: { authorization: 'Digest username="carol"' } }
    expectProblem(await only.deal.send('/rest/v1/deals', digest), 401, 'unknown-scheme')
    await only.close()
  })

  it('is not advertised by any refusal when it is not enabled', async () => {
    const environment = { AUTH_SCHEMES: 'key-signed,signed-request,session,basic,digest' }
    const only = await openStack(openBackend, { environment })
    for (const [server, path] of [
      [only.auth, '/me'],
      [only.deal, '/rest/v1/deals'],
    ] as const) {
      for (const reply of [
        await server.send(`${path}?apiKey=x&timestamp=1&signature=ab`),
        await server.send(path, { headers: { cookie: 'keyhold_session=x' } }),
        await server.send(path, { headers: { authorization: 'Basic YTpi' } }),
        await server.send(path, { headers: { authorization: 'Digest x' } }),
      ]) {
        expectProblemForm(reply)
        expect(reply).toMatchObject({ status: 401, body: { schemes: environment.AUTH_SCHEMES.split(',') } })
        expect(reply.headers.get('www-authenticate')).toBe('KeySigned realm="keyhold"')
      }
    }
    await only.close()
  })

  it('expires in time, if it has an expiry', async () => {
    const senders = new Map<SchemeName, SendWith>()
    for (const client of schemeClients) senders.set(client.name, await openSender(client, stack, 'carol'))
    for (const sendWith of senders.values()) expect(await statusesOf(sendWith)).toEqual([200, 200])
    stack.clock.advanceSeconds(1_801)
    const replyOf = async (name: SchemeName) => {
      const sendWith = senders.get(name)
      if (!sendWith) throw new TypeError(`no client for ${name}`)
      return sendWith(stack.deal, { path: '/rest/v1/deals', sent: {} })
    }
    for (const name of ['bearer', 'key-signed'] as const) expectProblem(await replyOf(name), 400, 'token-expired')
    const session = await replyOf('session')
    expectProblem(session, 401, 'invalid-session')
    expect(session.headers.get('set-cookie')).toMatch(/^keyhold_session=;.*Max-Age=0/i)
    for (const name of ['basic', 'signed-request'] as const) expect((await replyOf(name)).status).toBe(200)
    // Its nonce has; the client is asked to go on with another one, and not for its secret again.
    expect([200, 401]).toContain((await replyOf('digest')).status)
  })
})
