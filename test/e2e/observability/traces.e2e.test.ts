import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Reply } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { schemeClients } from '../../support/clients/scheme-clients/index.ts'
import { openSender } from '../../support/clients/scheme-clients/send-with.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../../support/worlds/stack.ts'

interface Line {
  readonly route?: string
  readonly traceId?: string
  readonly requestId?: string
  readonly status?: number
  readonly userId?: string
  readonly scheme?: string
  readonly code?: string
}

describeEmbedded('the log line of a request', (openBackend) => {
  let stack: Stack

  beforeAll(async () => {
    stack = await openStack(openBackend, { environment: { LOGIN_FAILURES_PER_ACCOUNT: '2/600' } })
  })
  afterAll(() => stack.close())

  const asked = '/internal/verify-password'
  const lines = () => stack.logLines.map((line) => JSON.parse(line) as Line)
  const withBasic = (username: string, headers: Record<string, string> = {}) => {
    const credential = Buffer.from(`${username}:${passwordOf(username)}`).toString('base64')
    return stack.deal.send('/rest/v1/deals', { headers: { authorization: `Basic ${credential}`, ...headers } })
  }

  it('has the trace of the client, through both servers', async () => {
    const traceId = randomBytes(16).toString('hex')
    await withBasic('alice', { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` })
    const routes = lines().flatMap((line) => (line.traceId === traceId ? [line.route] : []))
    expect(routes).toContain(asked)
    expect(routes).toContain('/rest/v1/deals')
  })

  it.each([
    ['signed-request', /^\/internal\/api-keys\//],
    ['digest', /^\/internal\/digest-secrets$/],
  ])('goes on where %s makes the deal server ask for a secret', async (scheme, route) => {
    const client = schemeClients.find(({ name }) => name === scheme)
    if (!client) throw new Error(scheme)
    const traceId = randomBytes(16).toString('hex')
    const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-01`
    const sendWith = await openSender(client, stack, 'alice')
    const { status } = await sendWith(stack.deal, { path: '/rest/v1/deals', sent: { headers: { traceparent } } })
    expect(status).toBe(200)
    const questions = lines().filter((line) => line.traceId === traceId && route.test(line.route ?? ''))
    expect(questions).toHaveLength(1)
  })

  it('begins with the id of the request where the client has none', async () => {
    const { headers } = await withBasic('carol')
    const traceId = headers.get('x-request-id')?.replaceAll('-', '')
    expect(
      lines()
        .filter((line) => line.traceId === traceId)
        .map(({ route }) => route),
    ).toContain(asked)
  })

  it.each(['', 'x', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`, `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`])(
    'is not taken from %j',
    async (traceparent) => {
      const { status, headers } = await withBasic('bob', { traceparent })
      expect(status).toBe(200)
      const [line] = lines().filter(({ requestId }) => requestId === headers.get('x-request-id'))
      expect(line?.route).toBe('/rest/v1/deals')
      expect(line?.traceId).toBeUndefined()
    },
  )

  /** What the line about this answer says of its caller and its problem. */
  const saidOf = ({ headers }: Pick<Reply, 'headers'>) => {
    const id = headers.get('x-request-id')
    const found = lines().filter((line) => line.requestId === id && line.status !== undefined)
    expect(found).toHaveLength(1)
    const [{ userId, scheme, code } = {}] = found
    return { userId, scheme, code }
  }
  const userIdOf = async (username: string): Promise<string> => {
    const rows = await stack.database.query<{ id: string }>('select id::text from auth.users where username = $1', [
      username,
    ])
    return rows[0]?.id ?? ''
  }

  it('names the caller by user id and scheme, whatever the scheme, on both servers', async () => {
    const userId = await userIdOf('alice')
    expect(userId).not.toBe('')
    for (const client of schemeClients) {
      const sendWith = await openSender(client, stack, 'alice')
      for (const [server, path] of [[stack.auth, '/me'] as const, [stack.deal, '/rest/v1/deals'] as const]) {
        const reply = await sendWith(server, { path, sent: {} })
        expect(reply.status).toBe(200)
        expect(saidOf(reply)).toEqual({ userId, scheme: client.name, code: undefined })
      }
    }
  })

  it('names whoever has logged in, and the deal server as a service', async () => {
    const [username, password] = ['bob', passwordOf('bob')]
    const said = { userId: await userIdOf('bob'), scheme: 'password', code: undefined }
    expect(saidOf(await stack.auth.send('/login', { json: { username, password } }))).toEqual(said)
    expect(saidOf(await stack.auth.send('/key-signed-tokens', { json: { username, password } }))).toEqual(said)
    expect(saidOf((await signIn(stack, 'bob')).reply)).toEqual(said)
    const internal = lines().filter(({ route, status }) => route?.startsWith('/internal/') && status === 200)
    expect(new Set(internal.map(({ scheme, userId }) => `${scheme} ${userId}`))).toEqual(new Set(['service undefined']))
  })

  it('names nobody where nobody is known, and a refused credential by the code of the refusal alone', async () => {
    const { auth, deal } = stack
    const nobody = { userId: undefined, scheme: undefined }
    const wrong = { json: { username: 'carol', password: 'a wrong password' } }
    expect(saidOf(await auth.send('/healthz'))).toEqual({ ...nobody, code: undefined })
    expect(saidOf(await deal.send('/nowhere'))).toEqual({ ...nobody, code: 'not-found' })
    expect(saidOf(await deal.send('/rest/v1/deals'))).toEqual({ ...nobody, code: 'unauthenticated' })
    expect(saidOf(await deal.send('/rest/v1/deals', { token: 'x.y.z' }))).toEqual({ ...nobody, code: 'invalid-token' })
    expect(saidOf(await auth.send('/login', wrong))).toEqual({ ...nobody, code: 'invalid-credentials' })
    await auth.send('/login', wrong)
    expect(saidOf(await auth.send('/login', wrong))).toEqual({ ...nobody, code: 'too-many-attempts' })
    const form = { body: 'grant_type=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    expect(saidOf(await auth.send('/oauth/token', form))).toEqual({ ...nobody, code: 'unsupported_grant_type' })
  })

  it('names both the caller and the code where the caller is known and is refused', async () => {
    const { access: token } = await stack.logIn('dave')
    const dave = { userId: await userIdOf('dave'), scheme: 'bearer' }
    expect(saidOf(await stack.deal.send('/rest/v1/deals', { token }))).toEqual({ ...dave, code: 'missing-right' })
    expect(saidOf(await stack.auth.send('/users', { token }))).toEqual({ ...dave, code: 'missing-right' })
  })
})
