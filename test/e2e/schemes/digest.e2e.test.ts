import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { digestHa1, digestResponse } from '../../../shared/protocol/authentication/digest/digest-response.ts'
import { curl } from '../../support/clients/curl.ts'
import { expectProblem, type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import {
  askForNonce,
  challengeIn,
  type DigestInput,
  digestClient,
  digestCredential,
} from '../../support/clients/scheme-clients/digest.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { digestSecretOf, openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

describeBackends('Digest authentication', (openBackend) => {
  let stack: Stack
  let admin: string
  beforeAll(async () => {
    const environment = { LOGIN_FAILURES_PER_ACCOUNT: '50/600', LOGIN_FAILURES_PER_ADDRESS: '10000/60' }
    stack = await openStack(openBackend, { dealServers: 2, environment })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const routes = (): (readonly [TestServer, string])[] => [
    [stack.auth, '/me'],
    ...stack.deals.map((deal) => [deal, '/rest/v1/deals?limit=1'] as const),
  ]

  /** Sends as a client that is no browser does. */
  const ask = async (server: TestServer, target: string, authorization: string, method = 'GET'): Promise<Reply> => {
    const head = `${method} ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n`
    const reply = await sendRaw(server.port, `${head}authorization: ${authorization}\r\n\r\n`)
    if (!reply) throw new Error('no answer')
    return reply
  }

  const inputFor = async (server: TestServer, uri: string, username = 'alice'): Promise<DigestInput> => {
    const nonce = await askForNonce(server.url)
    return { username, secret: digestSecretOf(username), nonce, method: 'GET', uri, count: 1 }
  }

  const password = 'a long enough password'
  const newUser = async () => {
    const username = `Digest-${randomUUID()}`
    const json = { username, password, roles: ['viewer'] }
    expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
    return username
  }
  const renew = async (username: string) => {
    const reply = await stack.auth.send(`/users/${username}/digest-secret`, { method: 'PUT', token: admin })
    expect(reply.status).toBe(200)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    rememberSecret(String(reply.body.secret))
    return reply.body as { username: string; realm: string; secret: string }
  }

  const expectWrong = (reply: Reply): void => {
    expectProblem(reply, 401, 'invalid-credentials')
    expect(challengeIn(reply.headers.get('www-authenticate'))).toMatchObject({ realm: 'keyhold', stale: false })
  }

  it('challenges with all that RFC 7616 asks for, before Basic', async () => {
    for (const [server, path] of routes()) {
      const reply = await sendRaw(server.port, `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
      const challenges = reply?.headers.get('www-authenticate') ?? ''
      expect(challenges).toMatch(
        /Bearer .*KeySigned.*Digest realm="keyhold", qop="auth", algorithm=SHA-256, nonce="[\w-]+", opaque="[\w-]+", charset=UTF-8, userhash=true, Basic/,
      )
    }
  })

  it('lets a user in, by name and by hash, and proves that the server knows the secret too', async () => {
    for (const [server, uri] of routes()) {
      const input = await inputFor(server, uri)
      const first = await ask(server, uri, digestCredential({ ...input, cnonce: 'my-cnonce' }))
      expect(first.status).toBe(200)
      const proof = { nonce: input.nonce, nc: '00000001', cnonce: 'my-cnonce', method: '', uri }
      const rspauth = digestResponse(digestHa1('alice', input.secret), proof)
      expect(first.headers.get('authentication-info')).toBe(
        `rspauth="${rspauth}", qop=auth, cnonce="my-cnonce", nc=00000001`,
      )
      expect((await ask(server, uri, digestCredential({ ...input, count: 2, userhash: true }))).status).toBe(200)
    }
    const me = await ask(stack.auth, '/me', digestCredential(await inputFor(stack.auth, '/me', 'bob')))
    expect(me.body).toMatchObject({ username: 'bob', scheme: 'digest', expiresAt: null })
  })

  it('takes a nonce of one deal server at the other, and each count at one of them', async () => {
    const [first, second] = stack.deals as [TestServer, TestServer]
    const uri = '/rest/v1/deals'
    const input = await inputFor(first, uri)
    const credentials = [1, 2, 3, 4].map((count) => digestCredential({ ...input, count }))
    for (const [at, credential] of credentials.entries()) {
      const server = at % 2 === 0 ? first : second
      expect((await ask(server, uri, credential)).status).toBe(200)
    }
    for (const credential of credentials) {
      for (const server of [first, second]) expectWrong(await ask(server, uri, credential))
    }
  })

  it('says stale, and only then, when a right response has an old nonce', async () => {
    for (const [server, uri] of routes()) {
      const input = await inputFor(server, uri)
      expect((await ask(server, uri, digestCredential(input))).status).toBe(200)
      stack.clock.advanceSeconds(280)
      const late = await ask(server, uri, digestCredential({ ...input, count: 2 }))
      expect(late.status).toBe(200)
      expect(late.headers.get('authentication-info')).toMatch(/, nextnonce="[\w-]{20,}"$/)
      stack.clock.advanceSeconds(30)
      const stale = await ask(server, uri, digestCredential({ ...input, count: 3 }))
      expectProblem(stale, 401, 'stale-nonce')
      const challenge = challengeIn(stale.headers.get('www-authenticate'))
      expect(challenge).toMatchObject({ stale: true })
      expectWrong(await ask(server, uri, digestCredential({ ...input, count: 4, secret: 'not the secret' })))
      const nonce = challenge?.nonce ?? ''
      expect((await ask(server, uri, digestCredential({ ...input, nonce }))).status).toBe(200)
    }
    admin = (await stack.logIn('admin')).access
  })

  it('answers alike whatever is wrong', async () => {
    const withoutSecret = await newUser()
    for (const [server, uri] of routes()) {
      const input = await inputFor(server, uri)
      const right = digestCredential(input)
      const wrongs = [
        digestCredential({ ...input, secret: 'not the secret' }),
        digestCredential({ ...input, username: 'ALICE' }),
        digestCredential({ ...input, username: 'nobody' }),
        digestCredential({ ...input, username: 'nobody', userhash: true }),
        digestCredential({ ...input, username: 'anonymous' }),
        digestCredential({ ...input, username: withoutSecret }),
        digestCredential({ ...input, username: 'x'.repeat(3000) }),
        digestCredential({ ...input, username: 'a/../b?c' }),
        digestCredential({ ...input, realm: 'Keyhold' }),
        digestCredential({ ...input, opaque: 'other' }),
        digestCredential({ ...input, uri: '/healthz' }),
        digestCredential({ ...input, uri: `${uri}${uri.includes('?') ? '&' : '?'}a=b` }),
        digestCredential({ ...input, method: 'POST' }),
        digestCredential({ ...input, nonce: 'AAAA' }),
        right.replace('algorithm=SHA-256', 'algorithm=MD5'),
        right.replace(/response="(.)/, (_all, digit) => `response="${digit === '0' ? '1' : '0'}`),
        right.slice(0, 40),
        'Digest',
      ]
      const seen = new Set<string>()
      for (const wrong of wrongs) {
        const reply = await ask(server, uri, wrong)
        expectWrong(reply)
        seen.add(JSON.stringify({ ...reply.body, requestId: '', instance: '' }))
      }
      expect(seen.size).toBe(1)
      expect(String([...seen])).toContain('algorithm=SHA-256 alone (RFC 7616), not by MD5')
      expect((await ask(server, uri, right)).status).toBe(200)
    }
  })

  it('limits guessing, the name and the address as with passwords', async () => {
    const { username } = await renew(await newUser())
    for (const [server, uri] of routes()) {
      const input = await inputFor(server, uri, username)
      for (let count = 1; count <= 17; count += 1) {
        const reply = await ask(server, uri, digestCredential({ ...input, count, secret: 'a guess' }))
        if (reply.status === 429) break
        expectWrong(reply)
      }
    }
    const refused = await ask(stack.auth, '/me', digestCredential(await inputFor(stack.auth, '/me', username)))
    expectProblem(refused, 429, 'too-many-attempts')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(400)
    // A client that takes the password for the Digest secret does not lock the account for the password.
    const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    for (const [server, uri] of routes())
      expect((await server.send(uri, { headers: { authorization: basic } })).status).toBe(200)
    await stack.logIn(username, password)
  })

  it('ends with a new secret at every server', async () => {
    const username = await newUser()
    const before = await renew(username)
    expect(before).toEqual({ username, realm: 'keyhold', secret: expect.stringMatching(/^[\w-]{32}$/) })
    const tryAll = async (secret: string): Promise<number[]> => {
      const statuses: number[] = []
      for (const [server, uri] of routes()) {
        statuses.push(
          (await ask(server, uri, digestCredential({ ...(await inputFor(server, uri)), username, secret }))).status,
        )
      }
      return statuses
    }
    expect(await tryAll(before.secret)).toEqual([200, 200, 200])
    const { secret } = await renew(username.toUpperCase())
    expect(await tryAll(before.secret)).toEqual([401, 401, 401])
    expect(await tryAll(secret)).toEqual([200, 200, 200])
  })

  it('makes one for oneself, for others with the right to, and for nobody else', async () => {
    const username = await newUser()
    const { access: own } = await stack.logIn(username, 'a long enough password')
    const put = (name: string, token: string, json?: unknown) =>
      stack.auth.send(`/users/${name}/digest-secret`, { method: 'PUT', token, ...(json === undefined ? {} : { json }) })
    const mine = await put(username.toLowerCase(), own, {})
    expect(mine.body).toMatchObject({ username, realm: 'keyhold' })
    rememberSecret(String(mine.body.secret))
    expectProblem(await put('alice', own), 403, 'missing-right')
    expectProblem(await put(username, own, { secret: 'mine' }), 400, 'invalid-body')
    expectProblem(await put('nobody-there', admin), 404, 'not-found')
    expectProblem(await put('anonymous', admin), 409, 'reserved-user')
    const stored = await stack.database.query<{ ha1: string }>('select ha1_sealed as ha1 from auth.digest_secrets')
    for (const { ha1 } of stored) expect(ha1).toMatch(/^1\./)
  })

  it('serves curl --digest, also for a PUT with a body and by absolute URL', async () => {
    const user = ['--digest', '-u', `carol:${digestSecretOf('carol')}`]
    const json = ['-H', 'content-type: application/json']
    const me = await curl([...user, `${stack.auth.url}/me`])
    expect({ status: me.status, scheme: JSON.parse(me.body).scheme }).toEqual({ status: 200, scheme: 'digest' })
    const change = ['-X', 'PUT', '-d', '{"oldPassword":"not mine at all","newPassword":"another password"}']
    const refused = await curl([...user, ...json, ...change, `${stack.auth.url}/users/carol/password`])
    expect(JSON.parse(refused.body).code).toBe('wrong-password')
    const created = await curl([
      ...user,
      ...json,
      '-d',
      '{"name":"by curl","price":1}',
      `${stack.deal.url}/rest/v1/deals/`,
    ])
    expect(created.status).toBe(201)
    const { id } = JSON.parse(created.body)
    const url = `${stack.deal.url}/rest/v1/deals/${id}/hold?validateOnly=true`
    const held = await curl([...user, ...json, '-X', 'PUT', '-d', '{"reason":"curl says so"}', url])
    expect(held.status).toBe(200)
    const several = await curl([...user, `${stack.auth.url}/me`, `${stack.auth.url}/me`])
    expect(several.status).toBe(200)
    expect((await curl(['--digest', '-u', 'carol:wrong-secret', `${stack.auth.url}/me`])).status).toBe(401)
    const target = `http://deals.test/rest/v1/deals`
    const input = { ...(await inputFor(stack.deal, target)), uri: target }
    expect((await ask(stack.deal, '/rest/v1/deals', digestCredential(input))).status).toBe(200)
  })

  it('takes a uri with a question mark and nothing behind it for one without', async () => {
    const input = await inputFor(stack.auth, '/me?')
    expect((await ask(stack.auth, '/me?', digestCredential(input))).status).toBe(200)
    expect((await ask(stack.auth, '/me', digestCredential({ ...input, uri: '/me', count: 2 }))).status).toBe(200)
    expectWrong(await ask(stack.auth, '/me?', digestCredential({ ...input, uri: '/me??', count: 3 })))
  })

  it('challenges scripts in browsers for what shows no dialog, and refuses what pages of other sites send', async () => {
    const add = await digestClient.open(stack, 'alice')
    const url = `${stack.deal.url}/rest/v1/deals/`
    const create = async (extra: Record<string, string>) => {
      const { headers } = await add({ method: 'POST', url })
      return stack.deal.send('/rest/v1/deals/', {
        json: { name: 'a deal', price: 1 },
        headers: { ...headers, ...extra },
      })
    }
    expect((await create({})).status).toBe(201)
    expectProblem(await create({ origin: 'https://evil.example' }), 403, 'cross-site')
    const wrong = await create({ authorization: 'Digest nonsense' })
    expectProblem(wrong, 401, 'invalid-credentials')
    expect(wrong.headers.get('www-authenticate')).toBe('Bearer realm="keyhold"')
  })
})
