import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectProblem, rememberSecret, type Sent } from '../../support/clients/http-client.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'

const challenge = 'Basic realm="keyhold", charset="UTF-8"'
const basic = (username: string, password: string): Sent => {
  const credential = Buffer.from(`${username}:${password}`).toString('base64')
  rememberSecret(credential)
  return { headers: { authorization: `Basic ${credential}` } }
}

describeBackends('Basic authentication', (openBackend) => {
  let stack: Stack
  let admin: string
  beforeAll(async () => {
    stack = await openStack(openBackend, {
      dealServers: 2,
      hashing: 'costly',
      environment: { LOGIN_FAILURES_PER_ACCOUNT: '5/600', LOGIN_FAILURES_PER_ADDRESS: '10000/60' },
    })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  const routes = (): (readonly [TestServer, string])[] => [
    [stack.auth, '/me'],
    ...stack.deals.map((deal) => [deal, '/rest/v1/deals'] as const),
  ]
  const newUser = async (password = 'a long enough password') => {
    const username = `basic-${randomUUID()}`
    const created = await stack.auth.send('/users', { token: admin, json: { username, password, roles: ['manager'] } })
    expect(created.status).toBe(201)
    return { username, password }
  }

  it('lets a user in at every server, whatever the case of the name', async () => {
    for (const [server, path] of routes()) {
      for (const username of ['alice', 'ALICE']) {
        expect((await server.send(path, basic(username, passwordOf('alice')))).status).toBe(200)
      }
    }
    const { body } = await stack.auth.send('/me', basic('alice', passwordOf('alice')))
    expect(body).toMatchObject({ username: 'alice', scheme: 'basic', expiresAt: null })
  })

  it('takes passwords in any composition', async () => {
    const { username } = await newUser('gro\u00dfer pa\u00e9sswort:mit')
    for (const [server, path] of routes()) {
      expect((await server.send(path, basic(username, 'gro\u00dfer pae\u0301sswort:mit'))).status).toBe(200)
    }
  })

  it('answers whatever is wrong alike', async () => {
    for (const [at, [server, path]] of routes().entries()) {
      const { username } = await newUser()
      const credentials = [
        basic(username, 'not the password'),
        basic(`nobody-${at}`, 'not the password'),
        basic('anonymous', 'x'),
        basic('', ''),
        basic('no user name', 'x'),
        basic(username, 'x'.repeat(2000)),
        { headers: { authorization: 'Basic' } },
        { headers: { authorization: 'Basic !' } },
      ]
      const seen = new Set<string>()
      for (const sent of credentials) {
        const reply = await server.send(path, sent)
        expectProblem(reply, 401, 'invalid-credentials')
        seen.add(JSON.stringify({ ...reply.body, requestId: '', instance: '' }))
      }
      expect(seen.size).toBe(1)
    }
  })

  it('challenges those who have no credential or a wrong one, a script in a browser for what shows no dialog', async () => {
    for (const [server, path] of routes()) {
      for (const hasCredential of [false, true]) {
        const ask = async (extra: string) => {
          const { authorization } = basic(randomUUID(), 'not a password').headers ?? {}
          const wrong = hasCredential ? `authorization: ${authorization}\r\n` : ''
          const head = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${wrong}${extra}\r\n`
          const reply = await sendRaw(server.port, head)
          expect(reply?.status).toBe(401)
          return reply?.headers.get('www-authenticate') ?? ''
        }
        expect(await ask('')).toContain(challenge)
        expect(await ask('sec-fetch-mode: navigate\r\n')).toContain(challenge)
        const ofScript = await ask('sec-fetch-mode: cors\r\n')
        expect(ofScript).not.toMatch(/Basic|Digest/)
        expect(ofScript).toMatch(/^Bearer realm="keyhold"/)
      }
    }
  })

  it('ends with a new password at every server within a second, and starts with it', async () => {
    const { username, password } = await newUser()
    for (const [server, path] of routes()) expect((await server.send(path, basic(username, password))).status).toBe(200)
    const newPassword = 'quite another password'
    const change = { method: 'PUT', token: admin, json: { newPassword } }
    expect((await stack.auth.send(`/users/${username}/password`, change)).status).toBe(204)
    for (const [server, path] of routes()) {
      expectProblem(await server.send(path, basic(username, password)), 401, 'invalid-credentials')
      expect((await server.send(path, basic(username, newPassword))).status).toBe(200)
    }
  })

  it('verifies equal credentials that come at once only once', async () => {
    const { username, password } = await newUser()
    const { authorization = '' } = basic(username, password).headers ?? {}
    const asked = () => stack.logLines.filter((line) => line.includes('/internal/verify-password')).length
    const before = asked()
    const replies = await Promise.all(
      Array.from({ length: 60 }, () => stack.deal.send('/rest/v1/deals', { headers: { authorization } })),
    )
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect(asked() - before).toBe(1)
  })

  it('refuses unsafe requests that pages of other sites make', async () => {
    const { headers = {} } = basic('alice', passwordOf('alice'))
    const create = (extra: Record<string, string>) =>
      stack.deal.send('/rest/v1/deals/', { json: { name: 'a deal', price: 1 }, headers: { ...headers, ...extra } })
    expectProblem(await create({ origin: 'https://evil.example' }), 403, 'cross-site')
    expectProblem(await create({ 'sec-fetch-site': 'cross-site' }), 403, 'cross-site')
    expect((await create({ origin: 'http://deals.test' })).status).toBe(201)
    expect((await create({})).status).toBe(201)
  })

  it('costs a hash as OWASP wants it at least', async () => {
    await newUser()
    const costs = await stack.database.query<{ cost: string }>(`
      select distinct split_part(password_hash, '$', 4) as cost from auth.users where password_hash is not null`)
    expect(costs).toEqual([{ cost: 'm=19456,t=2,p=1' }])
  })

  it('keeps bearer calls quick while wrong passwords keep the hashing busy', async () => {
    const { access: token } = await stack.logIn('bob')
    await stack.deal.send('/rest/v1/deals', { token })
    let unanswered = 40
    const loginThrottle = Array.from({ length: unanswered }, async (_, at) => {
      const { status } = await stack.deal.send('/rest/v1/deals', basic(`guess-${at}`, `wrong password ${at}`))
      unanswered -= 1
      return status
    })
    for (let time = 0; time < 5; time += 1) {
      expect((await stack.deal.send('/rest/v1/deals', { token })).status).toBe(200)
    }
    expect(unanswered).toBeGreaterThan(0)
    const statuses = await Promise.all(loginThrottle)
    expect(statuses.filter((status) => ![401, 503].includes(status))).toEqual([])
  })
})
