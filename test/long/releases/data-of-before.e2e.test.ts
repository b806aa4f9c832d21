import { afterAll, beforeAll, expect, it } from 'vitest'
import { openEvents } from '../../support/clients/event-client.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { startChild } from '../../support/processes/child-server.ts'
import { opsProcess } from '../../support/processes/operators/ops.ts'
import { releasedVersion, startReleased } from '../../support/processes/released.ts'
import { describeEmbedded, describePostgresAndRedis, type OpenBackend } from '../../support/stores/backends.ts'
import { logIn } from '../../support/worlds/stack.ts'
import type { WebhookReceiver } from '../../support/worlds/webhook-receiver.ts'
import { call, codeOf, type MadeCredentials, makeCredentials, password, refresh } from './made-credentials.ts'
import {
  allEvents,
  expectAllTaken,
  expectOrder,
  type MadeDeals,
  type MadeWebhook,
  makeDeals,
  makeWebhook,
} from './made-deals.ts'
import { type ReadPage, readAgain, readAll, readSecondPages } from './read-data.ts'
import { type Installation, openInstallation } from './servers.ts'

const name = `data of servers of ${releasedVersion} that all have stopped`
const webhooks = '/rest/v1/webhooks'

/** Rights of this release: the role `admin` has them, and a resource server lists them. */
const newRights = ['client.manage', 'proposal.decide']

/** Takes these out of all lists of rights and of names of rights. */
const withoutNewRights = (data: object): object =>
  JSON.parse(JSON.stringify(data), (_key, value: unknown) =>
    Array.isArray(value) ? value.filter((one) => !newRights.includes(one?.name ?? one)) : value,
  )

function describeUpgrade(openBackend: OpenBackend, alone: boolean): void {
  let servers: Installation
  let admin: string
  let adminPassword: string
  let credentials: MadeCredentials
  let deals: MadeDeals
  let before: Awaited<ReturnType<typeof readAll>>
  let pages: ReadPage[]
  /** The audit head that a server of the release before has logged at its end. */
  let head: string
  let going: MadeWebhook
  let blocked: MadeWebhook
  let paused: MadeWebhook

  /** Tokens of a login just now: recent proof. */
  const asAdmin = async () => (await logIn(servers.auth, 'admin', adminPassword)).access

  /** Webhooks that have taken some events: one is stopped in the middle, one lacks a deal, one is paused. */
  async function makeWebhooks(token: string): Promise<void> {
    const someAnswered = (receiver: WebhookReceiver) => () =>
      receiver.taken().length < 30 ? { status: 204 } : ('hang' as const)
    going = await makeWebhook(servers, token, someAnswered)
    blocked = await makeWebhook(servers, token, () => ({ data }) => ({
      status: data.subject === deals.byState.OPEN ? 503 : 204,
    }))
    paused = await makeWebhook(servers, token, someAnswered)
    await call(servers.deal, 200, `${webhooks}/${paused.id}`, { method: 'PATCH', token, json: { state: 'paused' } })
    await eventually(() => expect(blocked.receiver.taken().length).toBeGreaterThan(60))
    await eventually(() => expect(going.receiver.received.some(({ status }) => status === 0)).toBe(true))
  }

  /** Entries of the audit log, some hundred. */
  async function refreshOften(): Promise<void> {
    let { refresh: token } = await logIn(servers.auth, 'frank', password)
    for (let count = 0; count < 300; count += 1) token = (await refresh(servers.auth, token)).refresh
  }

  beforeAll(async () => {
    servers = await openInstallation(openBackend, alone)
    await servers.start(startReleased)
    adminPassword = /password, shown only now: (\S+)/.exec(servers.output())?.[1] ?? ''
    credentials = await makeCredentials(servers, await asAdmin())
    await refreshOften()
    admin = await asAdmin()
    deals = await makeDeals(servers, admin)
    await makeWebhooks(admin)
    pages = await readSecondPages(servers, admin, deals)
    before = await readAll(servers, admin, deals, credentials.usernames)
    await servers.stop()
    // As at the end of a month.
    await servers.write('select to_json(auth.cut_audit_entries())')
    head = [...servers.output().matchAll(/Current audit head ([\w:-]+)/g)].at(-1)?.[1] ?? ''
    await servers.start(startChild)
    for (const { receiver } of [going, blocked, paused]) receiver.answer = () => ({ status: 204 })
  })
  afterAll(async () => {
    await servers.close()
    for (const made of [going, blocked, paused]) await made?.receiver.close()
  })

  it('is what callers read at present servers', async () => {
    const after = await readAll(servers, admin, deals, credentials.usernames)
    expect(before.audit.length).toBeGreaterThan(300)
    const known = { ...after, audit: after.audit.slice(0, before.audit.length) }
    expect(withoutNewRights(known)).toMatchObject(before)
  })

  it('has every credential that was good, and none that was revoked', async () => {
    for (const [kind, send] of Object.entries(credentials.accepted)) {
      expect((await send(servers.deal, '/rest/v1/deals?limit=1')).status, kind).toBe(200)
      expect((await send(servers.auth, '/me')).status, kind).toBe(200)
    }
    for (const [kind, send] of Object.entries(credentials.refused)) {
      expect((await send(servers.deal, '/rest/v1/deals?limit=1')).status, kind).toBe(401)
      expect((await send(servers.auth, '/me')).status, kind).toBe(401)
    }
  })

  it('has the rights that users had, directly and by roles', async () => {
    const canDelete = await logIn(servers.auth, 'carol', password)
    const { body } = await call(servers.auth, 200, '/me', { token: canDelete.access })
    expect(body.rights).toEqual(expect.arrayContaining(['deal.delete', 'deal.restore', 'deal.hold']))
    const { access: token } = await logIn(servers.auth, 'grace', password)
    expectProblem(
      await servers.deal.send('/rest/v1/deals', { token, json: { name: 'a', price: 1 } }),
      403,
      'missing-right',
    )
  })

  it('has refresh tokens that go on, and ends the login of one that comes back', async () => {
    await refresh(servers.auth, credentials.refreshTokens.at(-1) ?? '')
    const [stolen = '', ...others] = credentials.stolenRefreshTokens
    for (const token of [stolen, others.at(-1)]) {
      const reply = await servers.auth.send('/refresh', { method: 'POST', token: String(token) })
      expectProblem(reply, 400, 'invalid_grant')
    }
  })

  it('has the second factor: codes, and recovery codes that were not used', async () => {
    const { totpSecret, recoveryCodes } = credentials
    const logInWith = (code?: string) => servers.auth.send('/login', { json: { username: 'erin', password, code } })
    expectProblem(await logInWith(), 401, 'second-factor-required')
    expectProblem(await logInWith(recoveryCodes[0]), 401, 'invalid-second-factor')
    expect((await logInWith(recoveryCodes[1])).status).toBe(200)
    expect((await logInWith(codeOf(totpSecret, 1))).status).toBe(200)
  })

  it('has the link for a new password', async () => {
    const json = { code: credentials.resetCode, newPassword: 'another good long password' }
    expect((await servers.auth.send('/password-resets', { json })).status).toBe(204)
    await logIn(servers.auth, 'frank', json.newPassword)
  })

  it('has outcomes of commands by their ids, accepted and refused', async () => {
    for (const { path, sent, status, body } of deals.replays) {
      const reply = await servers.deal.send(path, { ...sent, token: admin })
      expect(reply.status, path).toBe(status)
      const { requestId: _, instance: __, ...stored } = body
      expect(reply.body, path).toMatchObject(stored)
    }
    const [first] = deals.replays
    const other = { action: 'RenameDeal', params: { newName: 'something else' } }
    expectProblem(
      await servers.deal.send(first?.path ?? '', { method: 'PUT', token: admin, json: other }),
      422,
      'command-id-reused',
    )
  })

  it('has cursors that give the right page, or are refused as outdated', async () => {
    for (const page of pages) {
      const reply = await readAgain(servers, page, admin)
      if (reply.status === 200) expect(reply.body.items, page.path).toMatchObject(page.items)
      else expectProblem(reply, 400, 'outdated-cursor')
    }
  })

  it('has all events once, and ids of events that streams go on from', async () => {
    const all = await allEvents(servers, admin, deals.ids.length)
    expectOrder(all)
    const idsOf = (events: readonly { data: Readonly<Record<string, unknown>> }[]) => events.map(({ data }) => data.id)
    expect(idsOf(all).sort()).toEqual(idsOf(deals.events).sort())
    for (const index of [0, Math.floor(deals.events.length / 2), deals.events.length - 2]) {
      const stream = await openEvents(servers.deal, { token: admin, lastEventId: deals.events[index]?.id ?? '' })
      const rest = idsOf(deals.events.slice(index + 1))
      await stream.until(({ events }) => rest.every((id) => idsOf(events).includes(id)))
      const came = stream.events.filter(({ event }) => event !== 'reset')
      expect(new Set(idsOf(came)).size).toBe(came.length)
      expectOrder(came)
      stream.close()
    }
  })

  it('has webhooks that go on where they were, without a gap', async () => {
    await expectAllTaken(going, deals.events)
    await expectAllTaken(blocked, deals.events)
    const { body } = await call(servers.deal, 200, `${webhooks}/${paused.id}`, { token: admin })
    expect(body).toMatchObject({ state: 'paused', pausedReason: 'by-user' })
    const resumed = { method: 'PATCH', token: await asAdmin(), json: { state: 'active' } }
    await call(servers.deal, 200, `${webhooks}/${paused.id}`, resumed)
    await expectAllTaken(paused, deals.events)
  })

  it('takes new commands, whose events streams and webhooks get', async () => {
    const stream = await openEvents(servers.deal, { token: admin })
    const { OPEN: id, DELETED: deleted } = deals.byState
    await call(servers.deal, 200, `/rest/v1/deals/${id}/hold`, { method: 'PUT', token: admin, json: { reason: 'new' } })
    await call(servers.deal, 200, `/rest/v1/deals/${deleted}/deleted`, { method: 'DELETE', token: admin })
    await stream.until(({ events }) => events.length === 2)
    await expectAllTaken(going, [...deals.events, ...stream.events])
    stream.close()
  })

  it('has an audit log whose chain goes on from the last entry of before', async () => {
    await servers.stop()
    expect(servers.output()).not.toMatch(/"level":[56]0/)
    const verified = await opsProcess(servers.environment)(['audit', 'verify', '--head', head])
    expect(verified, head).toMatchObject({ code: 0, out: expect.stringContaining('In order') })
  })
}

describeEmbedded(name, (openBackend) => describeUpgrade(openBackend, false))
describePostgresAndRedis(name, (openBackend) => describeUpgrade(openBackend, true))
