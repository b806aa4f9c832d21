/** Proposals: commands of applications that wait, and who decides on them. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outcomesOf, sendLines } from '../../support/clients/batch-client.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { registerClient, type TestClient } from '../../support/clients/sign-in/applications.ts'
import { styleClients } from '../../support/clients/style-clients.ts'
import { asApplication, asReply, sendMessage } from '../../support/clients/tool-calls.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { dealStates, isProblemCode, stateOf, transitionTable } from '../../support/worlds/transition-table.ts'
import { makeTwin, sendAs, type Twin } from '../../support/worlds/twins.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

type Members = Readonly<Record<string, unknown>>

describeBackends('proposals', (openBackend) => {
  let stack: Stack
  let client: TestClient
  /** Tokens: alice's application, alice herself, and who decides. */
  let proposer: string
  let alice: string
  let admin: string

  beforeAll(async () => {
    stack = await openStack(openBackend)
    client = await registerClient(stack, { name: 'Clerk', mode: 'propose', rights: ['deal.read'] })
    alice = (await stack.logIn('alice')).access
    admin = (await stack.logIn('admin')).access
    proposer = await asApplication(alice, { client_id: client.id })
    await withinASecond(() => stack.deal.send('/command/CreateDeal', { token: proposer, json: deal() }), {
      from: 200,
      to: 202,
    })
  })
  afterAll(() => stack.close())

  const deal = () => ({ id: randomUUID(), name: 'deal', price: 1 })
  const send = (token: string, path: string, sent: object = {}) => stack.deal.send(path, { token, ...sent })
  const run = (token: string, useCase: string, json: Members, headers: Record<string, string> = {}) =>
    send(token, `/command/${useCase}`, { json, headers })
  const newDeal = async () => (await makeTwin(sendAs(stack.deal, alice), 'OPEN')).dealId
  const read = async (id: string) => (await send(alice, `/rest/v1/deals/${id}`)).body
  const propose = async (useCase: string, json: Members, headers = {}) => {
    const reply = await run(proposer, useCase, json, headers)
    expect([reply.status, reply.text]).toEqual([202, expect.stringContaining('"state":"open"')])
    const { id } = reply.body.proposal as { id: string }
    expect(reply.headers.get('location')).toBe(`/proposals/${id}`)
    return `/proposals/${id}`
  }
  const decide = (path: string, json?: object, { token = admin, ifMatch = '' } = {}) =>
    send(token, `${path}/${json ? 'reject' : 'approve'}`, {
      method: 'POST',
      ...(json && { json }),
      ...(ifMatch && { headers: { 'if-match': ifMatch } }),
    })

  it('run nothing until somebody approves them, and then once, whoever asks again', async () => {
    const id = await newDeal()
    const before = await read(id)
    const key = { 'idempotency-key': randomUUID() }
    const path = await propose('HoldDeal', { id, reason: 'proposed' }, key)
    expect(await read(id)).toEqual(before)
    expect(await propose('HoldDeal', { id, reason: 'proposed' }, key)).toBe(path)
    expectProblem(await run(proposer, 'HoldDeal', { id, reason: 'other' }, key), 422, 'command-id-reused')
    const tried = await send(admin, `${path}/approve?validateOnly=true`, { method: 'POST' })
    expect(tried.body).toMatchObject({ state: 'open', result: { held: true } })
    expect([tried.status, tried.headers.get('deal-validated-only')]).toEqual([200, 'true'])
    expect(await read(id)).toEqual(before)
    const approved = await decide(path)
    expect(approved.status, approved.text).toBe(200)
    expect(approved.body).toMatchObject({
      state: 'approved',
      useCase: 'HoldDeal',
      deal: id,
      params: { reason: 'proposed' },
      commandId: key['idempotency-key'],
      proposedBy: 'alice',
      client: { id: client.id },
      decision: { by: 'admin', reason: null },
      result: { id, held: true, heldBy: 'admin' },
    })
    expect((await decide(path)).body).toMatchObject({ state: 'approved', result: { version: 4 } })
    expectProblem(await decide(path, { reason: 'too late' }), 409, 'proposal-closed')
    const again = await run(proposer, 'HoldDeal', { id, reason: 'proposed' }, key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    const { items } = (await send(alice, `/rest/v1/deals/${id}/history`)).body as { items: Members[] }
    expect(
      items.slice(3).map(({ type, actor, sequence, dealVersion }) => [type, actor, sequence, dealVersion]),
    ).toEqual([
      ['proposal.made', 'alice', 4, 3],
      ['deal.held', 'admin', 5, 4],
      ['proposal.approved', 'admin', 6, 4],
    ])
    expect(items[3]).toMatchObject({ client: { id: client.id }, data: { useCase: 'HoldDeal' } })
    expect(items[5]).toMatchObject({ data: { proposedBy: 'alice' }, style: 'proposal' })
  })

  // Tools are a test of their own, below.
  const styles = styleClients.filter(({ style }) => style !== 'mcp')
  const requests = styles.flatMap(({ title, request }) => {
    const holding = (twin: Twin) => request({ useCase: 'HoldDeal', params: { reason: 'asked' }, ...twin })
    return holding({ dealId: '', path: '', read: {} }) ? [[title, holding] as const] : []
  })
  it.each(requests)('wait in the style %s', async (_, holding) => {
    const twin = await makeTwin(sendAs(stack.deal, alice), 'OPEN')
    const reply = await sendAs(stack.deal, proposer)(holding(twin) ?? { path: '', sent: {} })
    const { id } = reply.body.proposal as { id: string }
    expect(await read(twin.dealId)).toMatchObject({ held: false })
    expect((await decide(`/proposals/${id}`)).body).toMatchObject({ state: 'approved', result: { held: true } })
  })

  const cases = transitionTable.flatMap(({ useCase, params, cells }) => {
    const state = dealStates.find((one) => !isProblemCode(cells[one]) && cells[one] !== 'unchanged')
    return state ? [[useCase, { params, state, becomes: cells[state] }] as const] : []
  })
  it.each(cases)('of %s do what the command would have done', async (useCase, { params, state, becomes }) => {
    const { dealId } = await makeTwin(sendAs(stack.deal, alice), state)
    const path = await propose(useCase, { id: dealId, ...params })
    const { body, status, text } = await decide(path)
    expect(status, text).toBe(200)
    expect(body.state).toBe('approved')
    if (becomes === 'DELETED') expect(body.result).toBeNull()
    else expect(stateOf(body.result as never)).toBe(becomes)
  })

  it('of a new deal without an id get one when they are approved', async () => {
    const path = await propose('CreateDeal', { name: 'from nowhere', price: 5 })
    expect((await send(admin, path)).body).toMatchObject({ deal: null, currentVersion: null, hasChanged: false })
    const { body } = await decide(path)
    expect(body).toMatchObject({ state: 'approved', result: { name: 'from nowhere', ownerId: 'admin', version: 1 } })
    expect((await decide(path)).body.result).toEqual(body.result)
    const { id } = body.result as { id: string }
    expect((await send(proposer, path)).body).toMatchObject({ deal: id, links: { deal: `/rest/v1/deals/${id}` } })
  })

  it('of a batch and of tools wait one by one', async () => {
    const id = await newDeal()
    const lines = [
      { id: 'one', action: 'HoldDeal', deal: id, params: { reason: 'r' } },
      { id: 'two', action: 'CompleteTask', deal: id, params: { taskId: randomUUID() } },
    ]
    const outcomes = outcomesOf(await sendLines(stack.deal, lines, { token: proposer }))
    expect(outcomes).toMatchObject([
      { line: 1, id: 'one', status: 202, proposal: { state: 'open' } },
      { line: 2, id: 'two', status: 404, problem: { code: 'task-not-found' } },
    ])
    const values = { id, reason: 'by a tool' }
    const called = asReply(
      await sendMessage(stack.deal, proposer, 'tools/call', { name: 'hold_deal', arguments: values }),
    )
    const { proposal } = called.body as { proposal: { id: string } }
    const tool = { name: 'get_proposal', arguments: { id: proposal.id } }
    const shown = asReply(await sendMessage(stack.deal, proposer, 'tools/call', tool))
    expect(shown.body).toMatchObject({ id: proposal.id, state: 'open', params: { reason: 'by a tool' } })
  })

  it('are answered like any command when they are refused or change nothing', async () => {
    const id = await newDeal()
    const unchanged = await run(proposer, 'UnholdDeal', { id })
    expect([unchanged.status, unchanged.headers.get('deal-changed')]).toEqual([200, 'false'])
    expectProblem(await run(proposer, 'HoldDeal', { id: randomUUID(), reason: 'x' }), 404, 'not-found')
    const dry = await send(proposer, '/command/HoldDeal?validateOnly=true', { json: { id, reason: 'x' } })
    expect([dry.status, dry.headers.get('deal-validated-only')]).toEqual([200, 'true'])
    const narrowed = await asApplication(alice, { client_id: client.id, scope: 'deal.read' })
    expectProblem(await run(narrowed, 'HoldDeal', { id, reason: 'x' }), 403, 'missing-right')
  })

  it('are asked about again when the deal has changed, and stay open when they are refused', async () => {
    const id = await newDeal()
    const path = await propose('ChangePrice', { id, newPrice: 7, reason: 'r' })
    expect((await run(alice, 'RenameDeal', { id, newName: 'renamed' })).status).toBe(200)
    const shown = await send(admin, path)
    expect(shown.body).toMatchObject({ hasChanged: true, dealVersion: 3, currentVersion: 4 })
    const stale = await decide(path)
    expectProblem(stale, 412, 'precondition-failed')
    expect(stale.headers.get('etag')).toBe(shown.headers.get('etag'))
    expectProblem(await decide(path, undefined, { ifMatch: '"open-3"' }), 412, 'precondition-failed')
    expect((await run(alice, 'HoldDeal', { id, reason: 'r' })).status).toBe(200)
    const tag = (await send(admin, path)).headers.get('etag') ?? ''
    expectProblem(await decide(path, undefined, { ifMatch: tag }), 409, 'deal-held')
    expect((await send(admin, path)).body).toMatchObject({ state: 'open', decision: null })
    expect((await run(alice, 'UnholdDeal', { id })).status).toBe(200)
    const last = (await send(admin, path)).headers.get('etag') ?? ''
    const approved = await decide(path, undefined, { ifMatch: last })
    expect(approved.body).toMatchObject({ state: 'approved', result: { price: 7 } })
  })

  it('that are rejected never run, and say why to their application', async () => {
    const id = await newDeal()
    const key = { 'idempotency-key': randomUUID() }
    const path = await propose('DeleteDeal', { id }, key)
    const rejected = await decide(path, { reason: 'We still need it.' })
    expect(rejected.body).toMatchObject({ state: 'rejected', decision: { by: 'admin', reason: 'We still need it.' } })
    expect((await decide(path, { reason: 'again' })).body).toEqual(rejected.body)
    expectProblem(await decide(path), 409, 'proposal-closed')
    const repeated = await run(proposer, 'DeleteDeal', { id }, key)
    expectProblem(repeated, 409, 'proposal-rejected')
    expect(repeated.body).toMatchObject({ reason: 'We still need it.', proposalId: rejected.body.id })
    const { items } = (await send(alice, `/rest/v1/deals/${id}/history`)).body as { items: Members[] }
    expect(items.at(-1)).toMatchObject({ type: 'proposal.rejected', actor: 'admin', dealVersion: 3 })
    expect((await run(alice, 'RenameDeal', { id, newName: 'goes on' })).status).toBe(200)
  })

  it('about a deleted deal leave its deletion the last event, and so does the approval of that', async () => {
    const id = await newDeal()
    expect((await decide(await propose('DeleteDeal', { id }))).status).toBe(200)
    const path = await propose('RestoreDeal', { id })
    expect((await decide(path, { reason: 'no' })).body).toMatchObject({ state: 'rejected' })
    const { items } = (await send(alice, `/rest/v1/deals/${id}/history`)).body as { items: Members[] }
    expect(items.slice(-2)).toMatchObject([{ type: 'proposal.approved' }, { type: 'deal.deleted' }])
  })

  it('of a new deal can be rejected too', async () => {
    const path = await propose('CreateDeal', deal())
    expect((await decide(path, { reason: 'no' })).body).toMatchObject({ state: 'rejected' })
  })

  describe('are decided by', () => {
    it('others than their user, who can take them back', async () => {
      const id = await newDeal()
      const path = await propose('HoldDeal', { id, reason: 'r' })
      expectProblem(await decide(path, undefined, { token: alice }), 403, 'proposer-cannot-decide')
      expectProblem(await decide(path, undefined, { token: proposer }), 403, 'proposer-cannot-decide')
      const foreign = await asApplication(admin, { client_id: client.id })
      expectProblem(await decide(path, undefined, { token: foreign }), 403, 'proposer-cannot-decide')
      expectProblem(await decide(path, { reason: 'r' }, { token: foreign }), 403, 'proposer-cannot-decide')
      expect((await decide(path, { reason: 'a mistake' }, { token: proposer })).body).toMatchObject({
        state: 'rejected',
        decision: { by: 'alice' },
      })
    })

    const user = async (rights: string[]) => {
      const username = `user-${randomUUID().slice(0, 8)}`
      const json = { username, password: 'a long enough secret', roles: [], rights }
      expect((await stack.auth.send('/users', { token: admin, json })).status).toBe(201)
      return (await stack.logIn(username, 'a long enough secret')).access
    }

    it('who has the right to decide, to read, and that of the command', async () => {
      const id = await newDeal()
      const path = await propose('HoldDeal', { id, reason: 'r' })
      for (const rights of [
        ['deal.read', 'deal.hold'],
        ['proposal.decide', 'deal.hold'],
        ['proposal.decide', 'deal.read', 'deal.hold:own', 'deal.cancel'],
      ]) {
        const token = await user(rights)
        const isBlind = !rights.includes('deal.read') || !rights.includes('proposal.decide')
        const refused = await decide(path, undefined, { token })
        expect([rights, refused.status, refused.body.code]).toEqual([rights, 403, 'missing-right'])
        expect((await decide(path, { reason: 'r' }, { token })).status).toBe(isBlind ? 404 : 403)
        expect((await send(token, path)).status).toBe(isBlind ? 404 : 200)
      }
      const able = await user(['proposal.decide', 'deal.read', 'deal.hold'])
      expect((await decide(path, undefined, { token: able })).status).toBe(200)
    })

    it('who sees no deleted deals, of those that they delete', async () => {
      const token = await user(['proposal.decide', 'deal.read', 'deal.delete'])
      const path = await propose('DeleteDeal', { id: await newDeal() })
      const { status, text, body } = await decide(path, undefined, { token })
      expect([status, text]).toEqual([200, expect.stringContaining('"approved"')])
      expect(body.result).toBeNull()
    })

    it('who sees own deals alone, of own deals', async () => {
      const token = await user(['proposal.decide', 'deal.read:own', 'deal.hold:own', 'deal.assign-owner:own'])
      const { username } = (await stack.auth.send('/me', { token })).body as { username: string }
      const [foreign, own] = [await newDeal(), await newDeal()]
      expect((await run(alice, 'AssignOwner', { id: own, employeeId: username })).status).toBe(200)
      const paths = [
        await propose('HoldDeal', { id: foreign, reason: 'r' }),
        await propose('HoldDeal', { id: own, reason: 'r' }),
      ]
      const [unseen = '', seen = ''] = paths
      expect((await send(token, unseen)).status).toBe(404)
      expect((await decide(unseen, undefined, { token })).status).toBe(404)
      const { items } = (await send(token, '/proposals')).body as { items: { deal: string }[] }
      expect(items.filter(({ deal: id }) => [foreign, own].includes(id)).map(({ deal: id }) => id)).toEqual([own])
      expect((await decide(seen, undefined, { token })).status).toBe(200)
      const away = await propose('AssignOwner', { id: own, employeeId: 'carol' })
      expect((await decide(away, undefined, { token })).body).toMatchObject({ state: 'approved' })
      expect((await send(token, away)).status).toBe(404)
    })
  })

  it('have one decision, however many come at once', async () => {
    const id = await newDeal()
    const path = await propose('AddTask', { id, title: 'once' })
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? decide(path) : decide(path, { reason: 'no' }))),
    )
    const { state } = (await send(admin, path)).body
    for (const { status, body } of replies)
      expect([200, 409]).toContain(status === 200 && body.state !== state ? 0 : status)
    expect(replies.filter(({ status }) => status === 200).length).toBe(10)
    const { tasks } = (await read(id)) as { tasks: { title: string }[] }
    expect(tasks.filter(({ title }) => title === 'once').length).toBe(state === 'approved' ? 1 : 0)
  })

  it('come from applications that make no credential whose commands would not wait', async () => {
    const foreign = await asApplication(admin, { client_id: client.id })
    const requests = [
      ['POST', '/api-keys', { kind: 'hmac' }],
      ['PUT', '/users/admin/digest-secret', {}],
      ['POST', '/users', { username: 'helper', password: 'a long enough secret', rights: ['proposal.decide'] }],
      ['POST', '/users/alice/password-reset', {}],
      ['PATCH', `/clients/${client.id}`, { mode: 'run' }],
      ['PATCH', '/resource-servers/deals', { name: 'Deals' }],
    ] as const
    for (const [method, path, json] of requests) {
      const reply = await stack.auth.send(path, { method, token: foreign, json })
      expect([path, reply.status, reply.body.code]).toEqual([path, 403, 'missing-right'])
    }
  })

  it('are listed by state, the newest first, to their user too', async () => {
    const id = await newDeal()
    const paths = []
    for (const reason of ['a', 'b', 'c']) paths.push(await propose('HoldDeal', { id, reason }))
    await decide(paths[0] ?? '', { reason: 'no' })
    const listed = async (token: string, state: string) => {
      const { items } = (await send(token, `/proposals?state=${state}&limit=2`)).body as { items: { id: string }[] }
      return items.map((one) => `/proposals/${one.id}`)
    }
    for (const token of [alice, admin, proposer]) {
      expect(await listed(token, 'open')).toEqual([paths[2], paths[1]])
      expect((await listed(token, 'rejected'))[0]).toBe(paths[0])
    }
    const another = await asApplication(alice, { scope: 'deal.hold' })
    expect(await listed(another, 'open')).toEqual([])
    expectProblem(await send(another, paths[1] ?? ''), 404, 'not-found')
    expectProblem(await decide(paths[1] ?? '', { reason: 'not mine' }, { token: another }), 404, 'not-found')
    const bob = (await stack.logIn('bob')).access
    expect((await send(bob, '/proposals')).body).toEqual({ items: [], nextCursor: null })
    const first = (await send(admin, '/proposals?limit=1')).body as { nextCursor: string }
    const second = (await send(admin, `/proposals?limit=1&cursor=${first.nextCursor}`)).body as { items: object[] }
    expect(second.items).toMatchObject([{ links: { self: paths[1] } }])
    expectProblem(await send(admin, '/proposals?state=lost'), 400, 'invalid-parameter')
    for (const path of ['/proposals/1', `/proposals/${randomUUID()}`])
      expectProblem(await send(admin, path), 404, 'not-found')
  })

  it('stop and begin within a second after the mode of the client was changed', async () => {
    const other = await registerClient(stack, { rights: ['deal.create'] })
    const token = await asApplication(alice, { client_id: other.id })
    const mode = async (to: string) => {
      const sent = { method: 'PATCH', token: admin, json: { mode: to } }
      expect((await stack.auth.send(`/clients/${other.id}`, sent)).status).toBe(200)
    }
    const make = () => run(token, 'CreateDeal', deal())
    expect((await make()).status).toBe(200)
    await mode('propose')
    await withinASecond(make, { from: 200, to: 202 })
    await mode('run')
    await withinASecond(make, { from: 202, to: 200 })
  })
})
