import { afterEach, expect, it } from 'vitest'
import { verifyChain } from '../../../auth-server/audit/verify-chain.ts'
import { reencrypt } from '../../../auth-server/cli/offline/reencrypt.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import { type FleetNonce, type FleetUser, newFleetUser, pathOf } from '../../support/clients/fleet-clients.ts'
import { expectProblem, send } from '../../support/clients/http-client.ts'
import { askForNonce } from '../../support/clients/scheme-clients/digest.ts'
import {
  answerOf,
  codeOf,
  exchange,
  newVerifier,
  registerClient,
  requestOf,
  signedInBrowser,
} from '../../support/clients/sign-in/applications.ts'
import { Browser, hiddenFields } from '../../support/clients/sign-in/browser.ts'
import { answerOn, beginOn, poll, type TestDevice } from '../../support/clients/sign-in/devices.ts'
import { describePostgresAndRedis } from '../../support/stores/backends.ts'
import { type Fleet, type Member, openFleet } from '../../support/worlds/fleet.ts'
import { logIn, passwordOf, type TestServer } from '../../support/worlds/stack.ts'

const [oldSecret, newSecret] = ['the old service secret of 32 or more', 'the new service secret of 32 or more']
const [oldKey, newKey] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64url')) as [string, string]

/** The three rounds of `ops secrets --help`. */
const rounds = (before: string, after: string) => [`${before},${after}`, `${after},${before}`, after]

let fleet: Fleet

/** What was handed out so far, and by whom. */
let nonces: FleetNonce[]
let cursors: string[]

/** Expects that this user's credentials of every scheme are accepted by every server that runs. */
async function expectAccepted(user: FleetUser, members: readonly Member[]): Promise<void> {
  for (const member of members) {
    const target = member.server.url + pathOf(member)
    for (const [scheme, present] of Object.entries(user.schemes)) {
      const { url, headers } = present(target)
      expect({ scheme, at: member.kind, status: (await send(url, { headers })).status }).toMatchObject({ status: 200 })
    }
    for (const nonce of nonces) expect({ digest: await user.digest(target, nonce) }).toEqual({ digest: 200 })
  }
}

const listOf = { auth: '/users', deal: '/rest/v1/deals' }

/** A page of a server's list; of deals as their reader, of users as an administrator. */
const readPage = (member: Member, token: string, cursor?: string) =>
  member.server.send(`${listOf[member.kind]}?limit=1${cursor === undefined ? '' : `&cursor=${cursor}`}`, { token })

/** Expects that every cursor is good at each of these servers, and takes a new one of each. */
async function expectCursorsGood(members: readonly Member[], token: string): Promise<void> {
  for (const member of members) {
    for (const cursor of cursors) {
      expect({ cursor, status: (await readPage(member, token, cursor)).status }).toMatchObject({ status: 200 })
    }
    cursors.push(String((await readPage(member, token)).body.nextCursor))
  }
}

const adminToken = async ({ server }: Member) => (await logIn(server, 'admin', passwordOf('admin'))).access

describePostgresAndRedis('secrets are rotated without a failed request', (openBackend) => {
  afterEach(() => fleet.close())

  const open = async (auths: number, deals: number, settings: Readonly<Record<string, string>>) => {
    const environment = { SERVICE_SECRET: oldSecret, SECRETS_KEY: oldKey }
    fleet = await openFleet(openBackend, { auths, deals, environment, settings })
    ;[nonces, cursors] = [[], []]
  }

  const makeDeals = async ({ server }: Member, token: string) => {
    for (const name of ['one', 'two', 'three']) {
      const { status } = await server.send('/rest/v1/deals', { token, json: { name, price: 1 } })
      expect(status).toBe(201)
    }
  }

  it('SERVICE_SECRET, of an auth server and two deal servers restarted one after the other', async () => {
    await open(1, 2, { SERVICE_SECRET: oldSecret })
    const [auth] = fleet.auths as [Member]
    const token = await adminToken(auth)
    await makeDeals(fleet.deals[0] as Member, token)
    let user = await newFleetUser(auth.server)
    const everything = async () => {
      await expectAccepted(user, fleet.members)
      // Nothing of this one is held anywhere: the auth server is asked.
      user = await newFleetUser(auth.server)
      nonces = []
      for (const { server } of fleet.members) nonces.push({ nonce: await askForNonce(server.url), count: 0 })
      await expectAccepted(user, fleet.members)
      await expectCursorsGood(fleet.deals, token)
    }
    await everything()
    for (const SERVICE_SECRET of rounds(oldSecret, newSecret)) {
      for (const member of fleet.members) {
        await member.restart({ SERVICE_SECRET }, () =>
          expectStillServed(
            user,
            fleet.deals.filter((deal) => deal !== member),
          ),
        )
        if (SERVICE_SECRET === newSecret) [nonces, cursors] = [[], []]
        await everything()
      }
    }
  }, 240_000)

  const expectStillServed = async (user: FleetUser, deals: readonly Member[]) => {
    for (const deal of deals) {
      expect((await deal.server.send(pathOf(deal), { token: user.token })).status).toBe(200)
    }
  }

  it('SERVICE_SECRET needs the first round: what is made under a secret that others do not accept yet is refused', async () => {
    await open(1, 2, { SERVICE_SECRET: oldSecret })
    const [auth, first, second] = fleet.members as [Member, Member, Member]
    const token = await adminToken(auth)
    await makeDeals(first, token)
    await auth.restart({ SERVICE_SECRET: `${newSecret},${oldSecret}` })
    await first.restart({ SERVICE_SECRET: `${newSecret},${oldSecret}` })
    const cursor = String((await readPage(first, token)).body.nextCursor)
    expectProblem(await readPage(second, token, cursor), 400, 'invalid-cursor')
  })

  it('SECRETS_KEY, of two auth servers restarted one after the other, with everything sealed again before the old one goes', async () => {
    await open(2, 0, { SECRETS_KEY: oldKey })
    const [one, two] = fleet.auths as [Member, Member]
    const database = fleet.backend.openDatabase()
    const token = await adminToken(one)
    const first = await newFleetUser(one.server)
    let waiting: string[] = []
    const { begin, finish } = await signInsOver([one, two])
    let signIns: SignIns | undefined
    const everything = async () => {
      for (const [here, there] of [[one, two] as const, [two, one] as const]) {
        await expectAccepted(await newFleetUser(here.server), [there])
        await expectRefreshed(here.server, there.server)
      }
      await expectAccepted(first, fleet.members)
      for (const refreshToken of waiting) await refreshed(one.server, refreshToken)
      for (const member of fleet.auths) {
        if (signIns) expect(await finish(signIns, member)).toEqual(allGood)
        signIns = await begin(member)
      }
      waiting = [await newRefreshToken(one.server), await newRefreshToken(two.server)]
      await expectCursorsGood(fleet.members, token)
    }
    nonces = [{ nonce: await askForNonce(one.server.url), count: 0 }]
    await everything()
    for (const SECRETS_KEY of rounds(oldKey, newKey)) {
      if (SECRETS_KEY === newKey) {
        cursors = []
        // Nobody waits here until the old refresh tokens have expired.
        waiting = [await newRefreshToken(one.server)]
        const secretsKeys = parseSecretsKeys(`${newKey},${oldKey}`)
        const done = await reencrypt({ database, secretsKeys })
        for (const { left } of Object.values(done)) expect(left).toBe(0)
        expect(done['Digest secrets']?.resealed).toBeGreaterThan(0)
      }
      for (const member of fleet.members) {
        await member.restart({ SECRETS_KEY })
        await everything()
      }
    }
    const verdict = async (...keys: string[]) =>
      (await verifyChain({ database, secretsKeys: parseSecretsKeys(keys.join(',')) })).fault
    expect(await verdict(newKey, oldKey)).toBeUndefined()
    expect(await verdict(newKey)).toEqual({ fault: 'unknown-key', seq: 1 })
    await database.close()
  }, 240_000)

  it('SECRETS_KEY needs the first round: under a key that others do not have yet a refresh token is refused, and a secret unavailable', async () => {
    await open(2, 0, { SECRETS_KEY: oldKey })
    const [one, two] = fleet.auths as [Member, Member]
    await one.restart({ SECRETS_KEY: `${newKey},${oldKey}` })
    const refreshToken = await newRefreshToken(one.server)
    expectProblem(await refresh(two.server, refreshToken), 400, 'invalid_grant')
    const { schemes } = await newFleetUser(one.server)
    const signed = schemes['signed-request']?.(`${two.server.url}/me`)
    expectProblem(await send(signed?.url ?? ''), 503, 'unavailable')
    await refreshed(one.server, await newRefreshToken(two.server))
  })

  it('SECRETS_KEY needs the first round: without it sign-ins that are under way are refused, in words', async () => {
    await open(2, 0, { SECRETS_KEY: oldKey })
    const [one, two] = fleet.auths as [Member, Member]
    const { begin, finish } = await signInsOver([one, two])
    await two.restart({ SECRETS_KEY: newKey })
    // The page is of the first server, and opens what it has sealed itself.
    const refused = { page: 503, pushed: 503, code: 503, device: 503, another: 400 }
    expect(await finish(await begin(one), two)).toEqual(refused)
    await two.restart({ SECRETS_KEY: `${newKey},${oldKey}` })
    expect(await finish(await begin(one), two)).toEqual(allGood)
  })
})

/** Sign-ins that are under way: a request on the page, a pushed one, a code, and devices that were allowed. */
interface SignIns {
  readonly page: string
  readonly pushed: string
  readonly code: Awaited<ReturnType<typeof codeOf>>
  readonly verifier: string
  readonly device: TestDevice
  /** Of a client without a secret. */
  readonly another: TestDevice
}

const allGood = { page: 200, pushed: 200, code: 200, device: 200, another: 200 }

/** Signs in by the pages of the first server, and asks for tokens at whichever. */
async function signInsOver([first]: readonly [Member, Member]) {
  const at = ({ server }: Member) => ({ auth: server, logIn: (name: string) => logIn(server, name, passwordOf(name)) })
  const client = await registerClient(at(first), { kind: 'confidential' })
  const browser = await signedInBrowser(at(first), 'alice')
  const begin = async (member: Member): Promise<SignIns> => {
    const { verifier, challenge } = newVerifier()
    const asked = requestOf(client, { code_challenge: challenge })
    const signedOut = await new Browser(first.server.url).go(`/oauth/authorize?${asked}`)
    const { body } = await member.server.send('/oauth/par', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${asked}&client_secret=${client.secret}`,
    })
    const pushed = new URLSearchParams({ client_id: client.id, request_uri: String(body.request_uri) })
    const [device, another] = [await beginOn(at(member), client), await beginOn(at(member))]
    for (const one of [device, another]) await answerOn(browser, one, 'allow')
    const page = hiddenFields(signedOut.reply.text).return_to ?? ''
    return {
      page,
      pushed: `/oauth/authorize?${pushed}`,
      code: await codeOf(browser, client),
      verifier,
      device,
      another,
    }
  }
  const finish = async ({ page, pushed, code, verifier, device, another }: SignIns, member: Member) => {
    const byBrowser = async (url: string) => {
      const { code: got = '' } = answerOf(await browser.go(url))
      return (await exchange(at(member), client, { code: got, verifier })).status
    }
    return {
      page: await byBrowser(page),
      pushed: await byBrowser(pushed),
      code: (await exchange(at(member), client, code)).status,
      device: (await poll(at(member), device)).status,
      another: (await poll(at(member), another)).status,
    }
  }
  return { begin, finish }
}

const newRefreshToken = async (auth: TestServer) => (await logIn(auth, 'alice', passwordOf('alice'))).refresh

const refresh = (auth: TestServer, token: string) => auth.send('/refresh', { method: 'POST', token })

async function refreshed(auth: TestServer, token: string): Promise<string> {
  const { status, body } = await refresh(auth, token)
  expect(status).toBe(200)
  return String(body.refresh_token)
}

/** A login of one server is refreshed at the other, and the answer, had it been lost, is given again by the first. */
async function expectRefreshed(here: TestServer, there: TestServer): Promise<void> {
  const refreshToken = await newRefreshToken(here)
  const successor = await refreshed(there, refreshToken)
  expect(await refreshed(here, refreshToken)).toBe(successor)
  await refreshed(here, successor)
}
