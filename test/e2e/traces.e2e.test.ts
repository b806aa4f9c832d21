import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeBackends } from '../support/backends.ts'
import { schemeClients } from '../support/scheme-clients/index.ts'
import { openSender } from '../support/scheme-clients/send-with.ts'
import { openStack, passwordOf, type Stack } from '../support/stack.ts'

interface Line {
  readonly route?: string
  readonly traceId?: string
  readonly requestId?: string
}

describeBackends('the trace of a request', (openBackend) => {
  let stack: Stack

  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  const asked = '/internal/verify-password'
  const lines = () => stack.logLines.map((line) => JSON.parse(line) as Line)
  const withBasic = (username: string, headers: Record<string, string> = {}) => {
    const credential = Buffer.from(`${username}:${passwordOf(username)}`).toString('base64')
    return stack.deal.send('/rest/v1/deals', { headers: { authorization: `Basic ${credential}`, ...headers } })
  }

  it('goes on from the client through both servers', async () => {
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
})
