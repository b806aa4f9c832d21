import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { feedExchange } from '../../../shared/protocol/internal-api/feed.ts'
import { type FeedLine, feedLineSchema, openFeedLine } from '../../../shared/protocol/internal-api/feed-stream.ts'
import { signInternalRequest } from '../../../shared/protocol/internal-api/requests.ts'
import { expectProblem, rememberSecret } from '../../support/clients/http-client.ts'
import { basicOf, clientCredentials, postForm } from '../../support/clients/oauth-requests.ts'
import {
  addInvoices,
  askAs,
  askExchange,
  makeService,
  type Proof,
  type ServiceCredential,
  serviceBasic,
} from '../../support/clients/service-client.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack

/** An open stream. */
interface Follower {
  readonly status: number
  readonly lines: FeedLine[]
  /** When it was cut off or ended; undefined while it is open. */
  endedAt(): number | undefined
  close(): void
}

/** Follows the feed as a service does; each line of a signed stream has the right MAC. */
async function follow(service: ServiceCredential, proof: Proof, more = ''): Promise<Follower> {
  const asked = { exchange: feedExchange, path: {}, body: undefined }
  const { body } = await askExchange(stack, { service }, asked)
  const target = `/internal/feed/changes?instance=${body.instanceId}${more}`
  const nonce = randomBytes(18).toString('base64url')
  const signing = { ...service, clock: stack.clock, nonce }
  const authorization =
    proof === 'signature'
      ? signInternalRequest({ method: 'GET', target, body: '' }, signing)
      : proof === 'basic'
        ? serviceBasic(service)
        : `Bearer ${proof.token}`
  const ending = new AbortController()
  const response = await fetch(stack.auth.url + target, { headers: { authorization }, signal: ending.signal })
  const lines: FeedLine[] = []
  let endedAt: number | undefined
  const read = async () => {
    let rest = ''
    for await (const piece of response.body ?? []) {
      rest += Buffer.from(piece).toString('utf8')
      const texts = rest.split('\n')
      rest = texts.pop() ?? ''
      for (const text of texts) {
        const of = { secret: service.secret, nonce, index: lines.length }
        const line = proof === 'signature' ? openFeedLine(text, of) : feedLineSchema.parse(JSON.parse(text))
        if (!line) throw new Error('a line has no right MAC')
        lines.push(line)
      }
    }
  }
  read()
    .catch(() => undefined)
    .finally(() => {
      endedAt = performance.now()
    })
  return { status: response.status, lines, endedAt: () => endedAt, close: () => ending.abort() }
}

describeBackends('the change feed that services follow', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    await addInvoices(stack)
  })
  afterAll(() => stack.close())

  const admin = async () => (await stack.logIn('admin')).access
  const change = async (path: string, method: string, json?: object) => {
    const reply = await stack.auth.send(path, { token: await admin(), method, ...(json && { json }) })
    expect(reply.status, reply.text).toBeLessThan(300)
    if (typeof reply.body.secret === 'string') rememberSecret(reply.body.secret)
  }
  const tokenOf = async ({ id, secret }: ServiceCredential): Promise<Proof> => {
    const { body } = await postForm(stack, '/oauth/token', clientCredentials, basicOf(id, secret))
    return { token: String(body.access_token) }
  }
  const changesOf = ({ lines }: Follower) => lines.flatMap(({ changes }) => changes.map(({ username }) => username))

  it('tells of changes at once, with a MAC on each line where the request has one', async () => {
    const service = await makeService(stack, 'invoices')
    for (const proof of ['signature', 'basic', await tokenOf(service)] as const) {
      const follower = await follow(service, proof)
      await expect.poll(() => follower.lines.length).toBeGreaterThan(1)
      const upTo = follower.lines.at(-1)?.end?.upTo ?? 0
      await change('/users/dave/logout', 'POST')
      await expect.poll(() => changesOf(follower)).toContain('dave')
      expect(follower.lines.at(-1)?.end?.upTo).toBeGreaterThan(upTo)
      follower.close()
    }
  })

  const endings: readonly (readonly [string, (service: ServiceCredential, follower: Follower) => Promise<void>])[] = [
    ['it is deleted', ({ id }) => change(`/services/${id}`, 'DELETE')],
    [
      'its secret is replaced without an overlap',
      ({ id }) => change(`/services/${id}/rotate`, 'POST', { overlapSeconds: 0 }),
    ],
    [
      'its secret is replaced twice',
      async ({ id }) => {
        await change(`/services/${id}/rotate`, 'POST', {})
        await change(`/services/${id}/rotate`, 'POST', {})
      },
    ],
    [
      'the overlap of its secret ends',
      async ({ id }, follower) => {
        await change(`/services/${id}/rotate`, 'POST', { overlapSeconds: 30 })
        // The stream has noticed the rotation, and goes on with what is a former secret now.
        await expect.poll(() => changesOf(follower)).toContain(':catalogue')
        stack.clock.advanceSeconds(31)
      },
    ],
    [
      'its resource server is deleted',
      async () => {
        await change('/resource-servers/invoices', 'DELETE')
        await change('/resource-servers', 'POST', {
          id: 'invoices',
          audience: 'urn:example:invoices',
          name: 'Invoices',
          rights: [],
        })
      },
    ],
  ]

  it.each(endings)('is cut off within a second when %s, however the service proved itself', async (_, end) => {
    const service = await makeService(stack, 'invoices')
    const proofs: readonly Proof[] = ['signature', 'basic', await tokenOf(service)]
    const followers = await Promise.all(proofs.map((proof) => follow(service, proof)))
    // What claims to know the future hears nothing, and is cut off all the same.
    const liar = await follow(service, 'basic', '&after=1000000000')
    const other = await follow(await makeService(stack), 'basic')
    for (const follower of followers) await expect.poll(() => follower.lines.length).toBeGreaterThan(1)
    const [first] = followers
    if (!first) throw new Error('there are followers')
    const allowed = allowHoldUps()
    await end(service, first)
    const at = performance.now()
    for (const follower of [...followers, liar]) {
      await expect.poll(() => follower.endedAt()).toEqual(expect.any(Number))
      expect((follower.endedAt() ?? 0) - at).toBeLessThan(allowed(1_000))
    }
    expect(liar.lines).toEqual([])
    const length = other.lines.length
    await expect.poll(() => other.lines.length).toBeGreaterThan(length)
    expect(other.endedAt()).toBeUndefined()
    other.close()
    expect((await fetchStatus(service)).every((status) => status === 401)).toBe(true)
  })

  it('has as many streams of one service as may be, and others for other services and the pair', async () => {
    const [service, other] = [await makeService(stack), await makeService(stack, 'invoices')]
    const asked = { exchange: feedExchange, path: {}, body: undefined }
    const { body } = await askExchange(stack, { service }, asked)
    const target = `/feed/changes?instance=${body.instanceId}`
    // A stream that is asked for by HEAD has no body, and takes no place.
    for (let at = 0; at < 70; at += 1)
      await stack.auth.send(`/internal${target}`, {
        method: 'HEAD',
        headers: { authorization: serviceBasic(service) },
      })
    const followers = await Promise.all(Array.from({ length: 64 }, () => follow(service, 'basic')))
    expect(new Set(followers.map(({ status }) => status))).toEqual(new Set([200]))
    for (const proof of ['basic', 'signature', await tokenOf(service)] as const) {
      const refused = await askAs(stack, { service, proof }, { method: 'GET', target })
      expectProblem(refused, 429, 'too-many-streams')
      expect(refused.headers.get('retry-after')).toBe('10')
    }
    const others = [await follow(other, 'basic'), followers.pop()]
    for (const follower of others) follower?.close()
    await expect.poll(async () => followers.push(await follow(service, 'basic')) && followers.at(-1)?.status).toBe(200)
    for (const follower of followers) follower.close()
  })

  it('is cut off when the token ends', async () => {
    const service = await makeService(stack)
    const follower = await follow(service, await tokenOf(service))
    await expect.poll(() => follower.lines.length).toBeGreaterThan(0)
    stack.clock.advanceSeconds(1_801)
    await expect.poll(() => follower.endedAt()).toEqual(expect.any(Number))
  })

  const fetchStatus = (service: ServiceCredential) =>
    Promise.all(
      (['signature', 'basic'] as const).map(async (proof) => {
        const asked = { exchange: feedExchange, path: {}, body: undefined }
        return (await askExchange(stack, { service, proof }, asked)).status
      }),
    )
})
