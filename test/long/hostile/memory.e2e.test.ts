import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { eventually } from '../../support/eventually.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** As long as the largest body, and the largest header, leave room for. */
const [inBody, inHeader] = [250_000, 14_000]

/** What the heap may grow by: less than half of the names that were sent. */
const allowedBytes = 4_000_000

/** Of a user who is logged in. */
let token = ''

type Attack = (stack: Stack, name: (length: number) => string) => Promise<{ url: string; init: RequestInit }>

const form = (fields: Record<string, string>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})
const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
})
const authorization = (value: string): RequestInit => ({ headers: { authorization: value } })
const basic = (name: string) => authorization(`Basic ${Buffer.from(`${name}:no password`).toString('base64')}`)

const inBodies: readonly (readonly [what: string, attack: Attack])[] = [
  ...['/oauth/token', '/oauth/introspect', '/oauth/revoke'].map((path) => {
    const attack: Attack = async ({ auth }, name) => {
      const fields = { grant_type: 'client_credentials', token: 'x', client_id: name(inBody), client_secret: 'x' }
      return { url: auth.url + path, init: form(fields) }
    }
    return [`the client of ${path}`, attack] as const
  }),
  ...['/login', '/sessions', '/key-signed-tokens'].map((path) => {
    const attack: Attack = async ({ auth }, name) => ({
      url: auth.url + path,
      init: json({ username: name(inBody), password: 'no password' }),
    })
    return [`the user of ${path}`, attack] as const
  }),
  [
    'the owner of a deal',
    async ({ deal }, name) => ({
      url: `${deal.url}/rest/v1/deals/`,
      init: json({ name: name(inBody), price: 1, ownerId: name(10_000) }, { authorization: `Bearer ${token}` }),
    }),
  ],
]

const routes = (stack: Stack) => [`${stack.auth.url}/me`, `${stack.deal.url}/rest/v1/deals`]

/** To one of the two servers, in turn. */
const inHeaders: readonly Attack[] = [
  async (stack, name) => ({ url: next(routes(stack)), init: basic(name(10_000)) }),
  async ({ auth }, name) => {
    const { headers, ...rest } = form({ grant_type: 'client_credentials' })
    return {
      url: `${auth.url}/oauth/token`,
      init: { ...rest, headers: { ...headers, ...basic(name(10_000)).headers } },
    }
  },
  async (stack, name) => {
    const url = next(routes(stack))
    const request = { nonce: await askForNonce(url), count: 1, method: 'GET', uri: new URL(url).pathname }
    return { url, init: authorization(digestCredential({ ...request, username: name(7_000), secret: 'x' })) }
  },
  async (stack, name) => ({
    url: next(routes(stack)),
    init: { headers: { cookie: `keyhold_session=${name(inHeader)}` } },
  }),
  async (stack, name) => ({
    url: `${next(routes(stack))}?timestamp=1&signature=00&apiKey=${name(inHeader)}`,
    init: {},
  }),
  async (stack, name) => {
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid: name(9_000) })).toString('base64url')
    return { url: next(routes(stack)), init: authorization(`Bearer ${header}.e30.AA`) }
  },
]

let turn = 0
function next<Item>(items: readonly Item[]): Item {
  turn += 1
  return items[turn % items.length] as Item
}

describeOnce('what strangers can make servers remember', (openBackend) => {
  let stack: Stack
  beforeAll(async () => {
    // Nobody is hashed for: what is refused by the limits must not be remembered either.
    const environment = { LOGIN_FAILURES_PER_ADDRESS: '3/6000', LOGIN_FAILURES_PER_ACCOUNT: '3/6000' }
    stack = await openStack(openBackend, { environment, logLevel: 'silent' })
    token = (await stack.logIn('alice')).access
    for (const attack of [...inBodies.map(([, attack]) => attack), ...inHeaders]) await run(attack, 10)
  })
  afterAll(() => stack.close())

  let serial = 0
  const name = (length: number): string => {
    serial += 1
    return `${serial}-`.padEnd(length, 'x')
  }

  /** The statuses that are no refusal. */
  async function run(attack: Attack, times: number): Promise<number[]> {
    const statuses: number[] = []
    const send = async () => {
      const { url, init } = await attack(stack, name)
      const response = await fetch(url, init)
      await response.arrayBuffer()
      statuses.push(response.status)
    }
    for (let done = 0; done < times; done += 10) await Promise.all(Array.from({ length: 10 }, send))
    return statuses.filter((status) => status < 400 || status >= 500)
  }

  const usedBytes = (): number => {
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }

  /** What is let go of needs more than one collection where something else is told of it. */
  const expectNothingKept = (before: number): Promise<void> =>
    eventually(() => expect(usedBytes() - before).toBeLessThan(allowedBytes))

  it.each(inBodies)('is not %s', async (_what, attack) => {
    const before = usedBytes()
    expect(await run(attack, 40)).toEqual([])
    await expectNothingKept(before)
  })

  it('is no name in a header or in the target', async () => {
    const before = usedBytes()
    for (const attack of inHeaders) expect(await run(attack, 120)).toEqual([])
    await expectNothingKept(before)
  })
})
