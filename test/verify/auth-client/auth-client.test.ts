import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { internalMacHeader } from '../../../shared/protocol/internal-api/responses.ts'
import { createAuthClient } from '../../../verify/src/auth-client/auth-client.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { allowHoldUps } from '../../support/held-up.ts'
import { proved, provedFetch } from '../../support/worlds/internal-responses.ts'

const instanceId = randomUUID()
const secret = 'a service secret of 32 characters or more'
const record = {
  schema: 2,
  username: 'alice',
  userId: 'id',
  enabled: true,
  roles: [],
  directRights: [],
  generation: 1,
  keptLogin: null,
  revokedIds: [],
  version: 1,
}

/** A client of an auth server behind this function. */
const clientOver = (fetch: typeof globalThis.fetch) =>
  createAuthClient(fakeSystems({ serviceSecret: secret, fetch: provedFetch(fetch, secret) }), {
    authUrl: 'http://auth.test',
  })

/** No answer until the request is ended. */
const ended = (init: RequestInit | undefined) =>
  new Promise<Response>((_resolve, reject) =>
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
  )

/** A client of an auth server that gives this one answer. */
const clientOf = (status: number, body: unknown, instance?: string) => {
  const headers = instance === undefined ? undefined : { 'keyhold-installation': instance }
  const fetch = async () => new Response(JSON.stringify(body), { status, ...(headers && { headers }) })
  return createAuthClient(fakeSystems({ serviceSecret: secret, fetch: provedFetch(fetch, secret) }), {
    authUrl: 'http://auth.test',
  })
}

it('returns a record, or that there is none, together with the instance', async () => {
  expect(await clientOf(200, record, instanceId).principal('alice')).toEqual({ instanceId, record })
  expect(await clientOf(404, {}, instanceId).principal('alice')).toEqual({ instanceId, record: undefined })
})

it.each([
  ['a record without an instance', 200, record, undefined],
  ['an instance of another form', 200, record, 'mine'],
  ['that nobody is there, without an instance', 404, {}, undefined],
  ['an unknown record', 200, { ...record, schema: 3 }, instanceId],
  ['an error', 503, {}, instanceId],
])('does not take %s', async (_what, status, body, instance) => {
  await expect(clientOf(status, body, instance).principal('alice')).rejects.toThrow(Unavailable)
})

it.each([
  ['of every answer that names one', instanceId, [[instanceId, 'the one at the request']]],
  ['of no other answer', undefined, []],
  ['of no answer with another form', 'mine', []],
])('hands on the instance %s, with the one that was followed at the request', async (_which, instance, expected) => {
  const handedOn: unknown[] = []
  let followed = 'the one at the request'
  const headers = instance === undefined ? {} : { 'keyhold-installation': instance }
  const fetch = async () => {
    followed = 'another one'
    return new Response('{}', { headers })
  }
  const client = createAuthClient(fakeSystems({ serviceSecret: secret, fetch: provedFetch(fetch, secret) }), {
    authUrl: 'http://auth.test',
    followed: () => followed,
    onInstance: (...answer) => void handedOn.push(answer),
  })
  await client.ask({ method: 'POST', target: '/sessions', body: {} })
  expect(handedOn).toEqual(expected)
})

it('follows no redirect, with a question, for a document or for the feed', async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const authUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createAuthClient(fakeSystems({ serviceSecret: secret, fetch }), { authUrl })
  try {
    await expect(client.principal('alice')).rejects.toThrow(Unavailable)
    await expect(client.document('/.well-known/jwks.json')).rejects.toThrow(Unavailable)
    const lines = client.feedLines({ instance: instanceId, after: undefined }, new AbortController().signal)
    await expect(lines[Symbol.asyncIterator]().next()).rejects.toThrow()
    // A question that a busy machine answers late is asked twice.
    expect([...new Set(asked)]).toHaveLength(3)
    expect(asked).not.toContain('/elsewhere')
  } finally {
    client.stop()
    server.close()
  }
})

it('returns the instance whose feed to follow', async () => {
  expect(await clientOf(200, { instanceId, more: 1 }).instanceId()).toBe(instanceId)
})

it.each([
  [200, {}],
  [200, { instanceId: 'mine' }],
  [404, { instanceId }],
])('is told nothing by %s %o', async (status, body) => {
  await expect(clientOf(status, body).instanceId()).rejects.toThrow(Unavailable)
})

it('lets no failure of one question make others fail', async () => {
  const fetch = async (input: string | URL | Request) => {
    if (String(input).endsWith('/internal/password')) throw new Error('timed out')
    return new Response(JSON.stringify(record), { headers: { 'keyhold-installation': instanceId } })
  }
  const client = clientOver(fetch)
  const failing = () => client.ask({ method: 'POST', target: '/password', body: {} })
  await expect(failing()).rejects.toThrow(Unavailable)
  const others = Promise.all(['alice', 'bob', 'carol'].map((name) => client.principal(name)))
  await expect(failing()).rejects.toThrow(Unavailable)
  expect((await others).map((answer) => answer.record)).toEqual([record, record, record])
})

it('asks again beside a read that gets no answer, as if a server behind a balancer were frozen, and ends the first', async () => {
  const sent: (RequestInit | undefined)[] = []
  const fetch = async (_input: string | URL | Request, init?: RequestInit) => {
    sent.push(init)
    if (sent.length === 1) return ended(init)
    return new Response(JSON.stringify(record), { headers: { 'keyhold-installation': instanceId } })
  }
  const client = clientOver(fetch)
  const allowed = allowHoldUps()
  const startedAt = performance.now()
  expect((await client.principal('alice')).record).toEqual(record)
  expect(performance.now() - startedAt).toBeLessThan(allowed(900))
  expect(sent.map((init) => init?.signal?.aborted)).toEqual([true, true])
  const [first, second] = sent.map((init) => new Headers(init?.headers).get('authorization'))
  expect(second).not.toBe(first)
  client.stop()
})

it('sends a question that changes something once', async () => {
  let sent = 0
  const fetch = async (_input: string | URL | Request, init?: RequestInit) => {
    if (init?.method === 'POST') {
      sent += 1
      await new Promise((resolve) => setTimeout(resolve, 700))
    }
    return new Response('{}')
  }
  await clientOver(fetch).ask({ method: 'POST', target: '/password', body: {} })
  expect(sent).toBe(1)
})

it('sends internal requests at once while a public document cannot be loaded', async () => {
  const headers = { 'keyhold-installation': instanceId }
  const fetch = async (input: string | URL | Request) => {
    if (String(input).includes('/.well-known/')) throw new Error('timed out')
    return new Response(JSON.stringify(record), { headers })
  }
  const client = createAuthClient(fakeSystems({ serviceSecret: secret, fetch: provedFetch(fetch, secret) }), {
    authUrl: 'http://auth.test',
  })
  await expect(client.document('/.well-known/jwks.json')).rejects.toThrow(Unavailable)
  const answers = await Promise.all([client.principal('alice'), client.principal('bob'), client.principal('carol')])
  expect(answers.map((answer) => answer.record)).toEqual([record, record, record])
})

it.each<[string, (answer: Response, authorization: string | null) => Promise<Response> | Response]>([
  ['no MAC', (answer) => answer],
  ['the MAC of another secret', (answer, of) => proved(answer, of, 'another service secret of 32 characters')],
  ['the MAC of another request', (answer) => proved(answer, 'nonce=another-nonce-of-24-chars', secret)],
  [
    'the MAC of another body',
    async (answer, of) => {
      const { headers } = await proved(new Response('{}', { headers: answer.headers }), of, secret)
      return new Response(await answer.text(), { headers })
    },
  ],
  [
    'half a MAC',
    async (answer, of) => {
      const whole = await proved(answer, of, secret)
      whole.headers.set(internalMacHeader, whole.headers.get(internalMacHeader)?.slice(0, 20) ?? '')
      return whole
    },
  ],
])('does not believe an answer with %s', async (_what, forged) => {
  const fetch = async (_input: unknown, init?: RequestInit) => {
    const answer = new Response(JSON.stringify(record), { headers: { 'keyhold-installation': instanceId } })
    return forged(answer, new Headers(init?.headers).get('authorization'))
  }
  let told = 0
  const onPublishedKeys = () => {
    told += 1
  }
  const client = createAuthClient(fakeSystems({ serviceSecret: secret, fetch }), {
    authUrl: 'http://auth.test',
    onPublishedKeys,
  })
  await expect(client.principal('alice')).rejects.toThrow(Unavailable)
  expect(told).toBe(0)
})
