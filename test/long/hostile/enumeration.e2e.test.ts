import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Reply, rememberSecret } from '../../support/clients/http-client.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

/** A way to try a secret of a user: the answer must not tell whether there is one. */
type Try = (username: string, address: string) => Promise<Reply>

const perAccount = 4

describeOnce('which users there are', (openBackend) => {
  let stack: Stack
  let admin: string
  beforeAll(async () => {
    const environment = {
      LOGIN_FAILURES_PER_ACCOUNT: `${perAccount}/6000`,
      LOGIN_FAILURES_PER_ADDRESS: '100000/60',
      TRUST_PROXY: '1',
      LOGIN_FAILURES_PER_ACCOUNT_EVERYWHERE: '100000/60',
    }
    stack = await openStack(openBackend, { inProcess: true, environment })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())

  /** One with a Digest secret that both servers know, one that is disabled, and one without a Digest secret. */
  const newUsers = async (): Promise<string[]> => {
    const names = Array.from({ length: 3 }, () => `User-${randomUUID()}`)
    const [known = '', disabled = ''] = names
    for (const username of names) {
      await stack.auth.send('/users', { token: admin, json: { username, password: 'a long enough password' } })
    }
    for (const username of [known, disabled]) {
      const renewed = await stack.auth.send(`/users/${username}/digest-secret`, { method: 'PUT', token: admin })
      const secret = String(renewed.body.secret)
      rememberSecret(secret)
      // Whatever a server holds of a user who exists, it holds from now on.
      for (const server of ['auth', 'deal'] as const) {
        for (const form of forms) await digest(server, form, secret)(username, '203.0.113.250')
      }
    }
    await stack.auth.send(`/users/${disabled}`, { method: 'PATCH', token: admin, json: { enabled: false } })
    return names
  }

  const routeOf = (server: 'auth' | 'deal'): [TestServer, string] => [
    stack[server],
    server === 'auth' ? '/me' : '/rest/v1/deals',
  ]
  const ask = async ([server, path]: [TestServer, string], authorization: string, address: string): Promise<Reply> => {
    const lines = [`host: localhost`, 'connection: close', `authorization: ${authorization}`]
    const forwarded = [`x-forwarded-for: ${address}`, 'x-forwarded-proto: https']
    const reply = await sendRaw(server.port, `GET ${path} HTTP/1.1\r\n${[...lines, ...forwarded].join('\r\n')}\r\n\r\n`)
    if (!reply) throw new Error('no answer')
    return reply
  }
  const forms = ['username', 'username*', 'userhash'] as const
  const nonces = new Map<string, { nonce: string; count: number }>()
  const digest =
    (server: 'auth' | 'deal', form: (typeof forms)[number], secret = 'a guess'): Try =>
    async (username, address) => {
      const [{ url }, uri] = routeOf(server)
      const used = nonces.get(server) ?? { nonce: await askForNonce(url), count: 0 }
      used.count += 1
      nonces.set(server, used)
      const input = { username, secret, uri, method: 'GET', ...used, userhash: form === 'userhash' }
      const credential = digestCredential(input)
      const extended = credential.replace(/username="([^"]*)"/, "username*=UTF-8''$1")
      return ask(routeOf(server), form === 'username*' ? extended : credential, address)
    }
  const basic =
    (server: 'auth' | 'deal'): Try =>
    (username, address) =>
      ask(routeOf(server), `Basic ${Buffer.from(`${username}:a wrong password`).toString('base64')}`, address)
  const post =
    (path: string): Try =>
    (username, address) =>
      stack.auth.send(path, {
        json: { username, password: 'a wrong password' },
        headers: { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' },
      })

  const tries: readonly (readonly [name: string, attempt: Try])[] = [
    ...forms.flatMap((form) => [
      [`Digest with ${form} at the auth server`, digest('auth', form)] as const,
      [`Digest with ${form} at the deal server`, digest('deal', form)] as const,
    ]),
    ['Basic at the auth server', basic('auth')],
    ['Basic at the deal server', basic('deal')],
    ['/login', post('/login')],
    ['/sessions', post('/sessions')],
    ['/key-signed-tokens', post('/key-signed-tokens')],
  ]

  let serial = 0
  const newAddress = () => {
    serial += 1
    return `198.18.${Math.floor(serial / 250)}.${serial % 250}`
  }

  /** All of an answer that tells something. */
  const tellingOf = ({ status, headers, body }: Reply) => ({
    status,
    body: { ...body, requestId: '', instance: '' },
    challenges: headers.get('www-authenticate')?.replace(/nonce="[^"]*"/g, 'nonce=""'),
    names: [...headers.keys()].sort(),
  })

  it.each(tries)('does not show by the answers to %s, nor by how many there are before 429', async (_name, attempt) => {
    const seen = new Set<string>()
    for (const username of [...(await newUsers()), `Nobody-${randomUUID()}`]) {
      const address = newAddress()
      const answers: unknown[] = []
      for (let at = 0; at < perAccount + 2; at += 1) answers.push(tellingOf(await attempt(username, address)))
      expect(answers.map((answer) => (answer as { status: number }).status)).toEqual([
        ...Array(perAccount).fill(401),
        429,
        429,
      ])
      seen.add(JSON.stringify(answers))
    }
    expect(seen.size).toBe(1)
  })

  it('does not show by tries in several ways', async () => {
    const seen = new Set<string>()
    for (const username of [...(await newUsers()), `Nobody-${randomUUID()}`]) {
      const address = newAddress()
      const statuses: number[] = []
      for (const [, attempt] of [...tries, ...tries]) statuses.push((await attempt(username, address)).status)
      seen.add(statuses.join())
    }
    expect([...seen]).toHaveLength(1)
  })

  it.each(forms)('costs as many questions of a deal server with Digest by %s', async (form) => {
    const questions = () => stack.logLines.filter((line) => line.includes('/internal/digest-secrets')).length
    const asked = new Set<number>()
    for (const username of [...(await newUsers()), `Nobody-${randomUUID()}`]) {
      const before = questions()
      for (let at = 0; at < perAccount + 2; at += 1) await digest('deal', form)(username, newAddress())
      asked.add(questions() - before)
    }
    expect([...asked]).toEqual([perAccount + 2])
  })

  /**
   * How many times as long the one takes as the other: of interleaved tries, what three quarters of each take longer
   * than.
   */
  async function ratioOfTimes(attempt: Try, known: string): Promise<number> {
    const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
    for (let at = 0; at < 40; at += 1) {
      for (const [whose, username] of [['known', known] as const, ['unknown', `Nobody-${randomUUID()}`] as const]) {
        const started = performance.now()
        await attempt(username, newAddress())
        times[whose].push(performance.now() - started)
      }
    }
    const [ofKnown = 0, ofUnknown = 1] = [times.known, times.unknown].map((of) => of.sort((a, b) => a - b)[10])
    return ofKnown / ofUnknown
  }

  it.each(tries.filter(([name]) => name.startsWith('Digest')))(
    'does not show by the time that %s takes',
    async (_name, attempt) => {
      const [known = ''] = await newUsers()
      const ratios: number[] = []
      // A busy machine delays now these, now those: what is slower by itself is slower each time.
      do ratios.push(await ratioOfTimes(attempt, known))
      while (ratios.length < 4 && !ratios.some(isClose))
      expect(ratios.filter(isClose)).toHaveLength(1)
    },
  )
})

const isClose = (ratio: number): boolean => ratio > 0.67 && ratio < 1.5
