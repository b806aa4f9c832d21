/** The typed client against both servers: refresh, lost answers, pages, problems. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  accessToken,
  bearer,
  createKeyhold,
  isProblem,
  KeyholdProblem,
  KeyholdUnreachable,
} from '../../client/src/index.ts'
import { codeOf, exchange, registerClient, signedInBrowser } from '../support/clients/sign-in/applications.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, passwordOf, type Stack } from '../support/worlds/stack.ts'
import { type LossyProxy, startLossyProxy } from './lossy-proxy.ts'

describeEmbedded('the typed client', (openBackend) => {
  let stack: Stack
  let auth: LossyProxy
  let deal: LossyProxy
  const requests: string[] = []
  const fetch: typeof globalThis.fetch = (input, init) => {
    requests.push(`${init?.method} ${new URL(String(input)).pathname}`)
    return globalThis.fetch(input, init)
  }
  const sent = (request: string) => requests.filter((line) => line === request).length

  beforeAll(async () => {
    stack = await openStack(openBackend)
    ;[auth, deal] = await Promise.all([startLossyProxy(stack.auth.port), startLossyProxy(stack.deal.port)])
  })

  afterAll(async () => {
    await Promise.all([auth.close(), deal.close()])
    await stack.close()
  })

  const clientOf = (username: string) => {
    requests.length = 0
    const credential = bearer({ username, password: passwordOf(username) })
    return createKeyhold({ authUrl: auth.url, dealUrl: deal.url, credential, fetch })
  }
  const newDeal = async (keyhold = clientOf('alice')) =>
    (await keyhold.deals.POST('/rest/v1/deals', { body: { name: 'deal123', price: 1234 } })).data

  it('refreshes once for 20 parallel calls with an expired token, and repeats each of them', async () => {
    const keyhold = clientOf('alice')
    const { id } = await newDeal(keyhold)
    stack.clock.advanceSeconds(3600)
    const path = { id }
    const calls = Array.from({ length: 20 }, () => keyhold.deals.GET('/rest/v1/deals/{id}', { params: { path } }))
    const answers = await Promise.all(calls)
    expect(answers.map(({ data }) => data.id)).toEqual(Array(20).fill(id))
    expect(sent('POST /refresh')).toBe(1)
    expect(sent('POST /login')).toBe(1)
    expect(sent(`GET /rest/v1/deals/${id}`)).toBe(40)
  })

  it('repeats a refresh whose answer was lost, and stays logged in', async () => {
    const keyhold = clientOf('alice')
    await keyhold.auth.GET('/me')
    stack.clock.advanceSeconds(3600)
    auth.loseAnswerTo('POST /refresh')
    expect((await keyhold.auth.GET('/me')).data.username).toBe('alice')
    stack.clock.advanceSeconds(3600)
    expect((await keyhold.auth.GET('/me')).data.username).toBe('alice')
    expect(sent('POST /refresh')).toBe(3)
    expect(sent('POST /login')).toBe(1)
  })

  it('sends a command again after a lost answer, and it runs once', async () => {
    const keyhold = clientOf('alice')
    const { id } = await newDeal(keyhold)
    const params = { path: { id } }
    deal.loseAnswerTo('/tasks')
    const before = deal.lost()
    const added = await keyhold.deals.POST('/rest/v1/deals/{id}/tasks', { params, body: { title: 'Call' } })
    expect(deal.lost() - before).toBe(1)
    expect(added.response.headers.get('idempotent-replayed')).toBe('true')
    expect(added.data.tasks.map(({ title }) => title)).toEqual(['Call'])
    const { data } = await keyhold.deals.GET('/rest/v1/deals/{id}/history', { params })
    expect(data.items.map(({ type }) => type)).toEqual(['deal.created', 'deal.task-added'])
  })

  it('says how long it has waited for an answer', async () => {
    const silent: typeof globalThis.fetch = (_input, init) =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    const keyhold = createKeyhold({ authUrl: auth.url, dealUrl: deal.url, fetch: silent, retries: 0, timeoutMs: 20 })
    await expect(keyhold.auth.GET('/healthz')).rejects.toThrow(/ cannot be reached: no answer within 0.02 s$/)
  })

  it('does not repeat what has no id and may run twice', async () => {
    const keyhold = clientOf('alice')
    await keyhold.auth.GET('/me')
    auth.loseAnswerTo('POST /api-keys')
    await expect(keyhold.auth.POST('/api-keys', { body: { kind: 'hmac' } })).rejects.toThrow(KeyholdUnreachable)
    expect(sent('POST /api-keys')).toBe(1)
  })

  it('gives the items of all pages of a list, and of a query that is an array', async () => {
    const keyhold = clientOf('alice')
    const name = `paged ${randomUUID()}`
    for (let count = 0; count < 5; count += 1) {
      await keyhold.deals.POST('/rest/v1/deals', { body: { name: `${name} ${count}`, price: 1 } })
    }
    const names: string[] = []
    const query = { q: name, limit: 2, sort: 'name' } as const
    for await (const item of keyhold.deals.items('/rest/v1/deals', { params: { query } })) names.push(item.name)
    expect(names).toEqual([0, 1, 2, 3, 4].map((count) => `${name} ${count}`))
    const sizes: number[] = []
    const params = { query: { limit: 3 }, path: { selection: 'open' as const } }
    for await (const { items } of keyhold.deals.pages('/query/Deals/{selection}', { params })) sizes.push(items.length)
    expect(sizes.slice(0, -1).every((size) => size === 3)).toBe(true)
    expect(sizes.length).toBeGreaterThan(1)
    const numbers: number[] = []
    for await (const { seq } of clientOf('admin').auth.items('/audit', { params: { query: { limit: 2 } } })) {
      numbers.push(seq)
      if (numbers.length === 5) break
    }
    expect(numbers).toEqual([1, 2, 3, 4, 5])
  })

  it('throws refusals as typed errors', async () => {
    const keyhold = clientOf('alice')
    const { id } = await newDeal(keyhold)
    const params = { path: { id } }
    await keyhold.deals.PUT('/rest/v1/deals/{id}/cancel', { params, body: { reason: 'r', penaltyAmount: 0 } })
    const error = await keyhold.deals.PUT('/rest/v1/deals/{id}/hold', { params, body: { reason: 'r' } }).catch((e) => e)
    expect(error).toBeInstanceOf(KeyholdProblem)
    expect(isProblem(error, 'deal-closed') && error).toMatchObject({
      status: 409,
      code: 'deal-closed',
      document: { currentStatus: 'cancelled', final: true },
    })
    const faulty = await keyhold.deals.POST('/rest/v1/deals', { body: { name: '', price: 1 } }).catch((e) => e)
    expect(isProblem(faulty, 'invalid-value') && faulty.errors[0]).toMatchObject({
      pointer: '/name',
      code: 'too-short',
    })
  })

  it('gives 304 as it is, and says what cannot be reached', async () => {
    const keyhold = clientOf('alice')
    const { id } = await newDeal(keyhold)
    const { response } = await keyhold.deals.GET('/rest/v1/deals/{id}', { params: { path: { id } } })
    const header = { 'If-None-Match': response.headers.get('etag') ?? '' }
    const again = await keyhold.deals.GET('/rest/v1/deals/{id}', { params: { path: { id }, header } })
    expect([again.response.status, again.data]).toEqual([304, undefined])
    const away = createKeyhold({ authUrl: 'http://127.0.0.1:1', dealUrl: 'http://127.0.0.1:1', retries: 0 })
    await expect(away.auth.GET('/healthz')).rejects.toThrow('http://127.0.0.1:1 cannot be reached: ')
  })

  it('follows no redirect, so no credential goes elsewhere', async () => {
    const asked: string[] = []
    const server = createServer(({ url = '' }, response) => {
      asked.push(url)
      response.writeHead(302, { location: '/elsewhere' }).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const keyhold = createKeyhold({ authUrl: url, dealUrl: url, credential: accessToken(() => 'a.b.c') })
    const refusal = await keyhold.auth.GET('/me').catch((error: unknown) => error)
    server.close()
    expect(isProblem(refusal, 'no-problem-document') && refusal.status).toBe(302)
    expect(asked).toEqual(['/me'])
  })

  it('refreshes the tokens of a public client at /oauth/token, and logs them out', async () => {
    const client = await registerClient(stack)
    const { body } = await exchange(stack, client, await codeOf(await signedInBrowser(stack, 'alice'), client))
    const [accessToken, refreshToken] = [String(body.access_token), String(body.refresh_token)]
    const tokens = { accessToken, refreshToken, expiresAt: 0, refreshExpiresAt: 0 }
    requests.length = 0
    const credential = bearer({ tokens, clientId: client.id })
    const keyhold = createKeyhold({ authUrl: auth.url, dealUrl: deal.url, credential, fetch })
    stack.clock.advanceSeconds(3600)
    expect((await keyhold.auth.GET('/me')).data.username).toBe('alice')
    expect([sent('POST /oauth/token'), sent('POST /refresh')]).toEqual([1, 0])
    await keyhold.logOut()
    await expect(keyhold.auth.GET('/me')).rejects.toThrow('log in first')
  })

  it('logs out', async () => {
    const keyhold = clientOf('alice')
    await keyhold.auth.GET('/me')
    await keyhold.logOut()
    expect(sent('POST /logout')).toBe(1)
    await keyhold.auth.GET('/me')
    expect(sent('POST /login')).toBe(2)
  })
})
