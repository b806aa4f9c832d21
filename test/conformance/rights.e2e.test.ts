/** Rights that hang on the deal, on the parameters or on who asks; and what a caller is told they may do. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { styleClients } from '../support/clients/style-clients.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { freeTask, takenTask, transitionTable } from '../support/worlds/transition-table.ts'
import { makeTwin, type SendRequest, sendAs } from '../support/worlds/twins.ts'

let stack: Stack
let alice: SendRequest

const logins = new Map<string, Promise<SendRequest>>()
/** This user, who logs in once: what a user may do follows without another login. */
const as = (username: string): Promise<SendRequest> => {
  const known = logins.get(username) ?? stack.logIn(username).then(({ access }) => sendAs(stack.deal, access))
  logins.set(username, known)
  return known
}
/** Dave, who has no role, with just these rights. */
async function daveWith(...rights: string[]): Promise<SendRequest> {
  const { access: token } = await stack.logIn('admin')
  const reply = await stack.auth.send('/users/dave', { method: 'PATCH', token, json: { rights } })
  expect(reply.status).toBe(200)
  return as('dave')
}
const get = (send: SendRequest, path: string) => send({ path, sent: {} })
const put = (send: SendRequest, path: string, json: unknown, headers: Readonly<Record<string, string>> = {}) =>
  send({ path, sent: { method: 'PUT', json, headers } })

const expectMissing = (reply: Reply, ...rights: string[]) => {
  expectProblem(reply, 403, 'missing-right')
  expect(reply.body).toMatchObject({ missingRight: rights[0], missingRights: rights })
}

const twoChanges = { price: 5, priceReason: 'cheap', held: true, holdReason: 'test' }

describeOnce('rights of commands', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    alice = await as('alice')
  })
  afterAll(() => stack.close())

  it('a whole deal with a new price and a hold needs both rights, and names the missing ones', async () => {
    const { path, read } = await makeTwin(alice, 'OPEN')
    const both = (send: SendRequest) => put(send, path, { ...read, ...twoChanges })
    expectMissing(await both(await daveWith('deal.read')), 'deal.change-price', 'deal.hold')
    expectMissing(await both(await daveWith('deal.read', 'deal.hold')), 'deal.change-price')
    expectMissing(await both(await daveWith('deal.read', 'deal.change-price')), 'deal.hold')
    expect((await get(alice, path)).body).toEqual(read)
    expect((await both(await daveWith('deal.read', 'deal.change-price', 'deal.hold'))).status).toBe(200)
  })

  it('a replay needs the rights that the command would need', async () => {
    const { path, dealId } = await makeTwin(alice, 'OPEN')
    for (const client of styleClients.filter(({ style }) => !['resource', 'attribute-update'].includes(style))) {
      const commandId = `key-${randomUUID()}`
      const useCase = client.title === 'natural form' ? 'UnholdDeal' : 'HoldDeal'
      const params = useCase === 'HoldDeal' ? { reason: commandId } : {}
      const request = client.request({ useCase, params, dealId, commandId })
      if (!request) throw new TypeError('covered')
      const right = useCase === 'HoldDeal' ? 'deal.hold' : 'deal.unhold'
      const first = await (await daveWith(right))(request)
      expect({ title: client.title, ok: first.status < 300 }).toEqual({ title: client.title, ok: true })
      expectMissing(await (await daveWith('deal.read'))(request), right)
      expect((await (await daveWith(right))(request)).text).toBe(first.text)
    }
    expect((await get(alice, path)).status).toBe(200)
  })

  it('an attribute update that is refused still needs the rights of its use cases', async () => {
    const { path } = await makeTwin(alice, 'OPEN')
    const bob = await as('bob')
    const patch = (json: object) => bob({ path, sent: { method: 'PATCH', json } })
    expectMissing(await patch({ price: 5 }), 'deal.change-price')
    expectMissing(await patch({ completionDate: null }), 'deal.change-completion-date')
    expectMissing(await patch({ status: 'cancelled', name: 'x' }), 'deal.rename', 'deal.cancel')
    expectMissing(await patch({ held: true }), 'deal.hold')
    expectMissing(await patch({ name: 'x', tasks: [] }), 'deal.rename')
    expectProblem(await patch({ status: 'deleted' }), 422, 'use-case-required')
  })

  it('a replay of an attribute update needs the rights of the use cases that ran, and no others', async () => {
    const { path } = await makeTwin(alice, 'OPEN')
    const headers = { 'idempotency-key': `key-${randomUUID()}` }
    const json = { price: 5, priceReason: 'cheap', name: 'deal123' }
    const update = (send: SendRequest) => send({ path, sent: { method: 'PATCH', json, headers } })
    const first = await update(await daveWith('deal.read', 'deal.change-price'))
    expect(first.status).toBe(200)
    expectMissing(await update(await daveWith('deal.read')), 'deal.change-price')
    await put(alice, `${path}/rename`, { newName: 'other' })
    const replayed = await update(await daveWith('deal.read', 'deal.change-price'))
    expect([replayed.status, replayed.text]).toEqual([200, first.text])
    expectMissing(await update(await daveWith('deal.change-price')), 'deal.read')
  })

  it('who may not read a deal learns nothing of it by trying: neither by an attribute update nor by a dry run', async () => {
    const [{ path: open, read }, { path: held, dealId }] = [
      await makeTwin(alice, 'OPEN'),
      await makeTwin(alice, 'HELD'),
    ]
    const never = `/rest/v1/deals/${randomUUID()}`
    const may = ['deal.hold', 'deal.unhold', 'deal.change-price', 'deal.assign-owner', 'deal.reopen', 'deal.rename']
    const guesses = [{}, { price: read.price }, { price: 5 }, { ownerId: 'alice' }, { held: true }, { status: 'open' }]
    const dryRuns = [
      ['unhold', {}],
      ['assign-owner', { employeeId: 'alice' }],
      ['reopen', { reason: 'x' }],
      ['rename', { newName: read.name }],
    ] as const
    const changed = await get(alice, held)
    const learn = async (send: SendRequest, path: string) => [
      ...(await Promise.all(guesses.map((json) => send({ path, sent: { method: 'PATCH', json } })))),
      await put(send, path, read, { 'if-match': '"1"' }),
      await put(send, path, { ...read, price: 5, priceReason: 'x' }, { 'if-none-match': '*' }),
      await put(send, `${path}?validateOnly=true`, read),
      ...(await Promise.all(dryRuns.map(([verb, json]) => put(send, `${path}/${verb}?validateOnly=true`, json)))),
    ]
    const blind = await daveWith(...may)
    for (const path of [open, held, never])
      for (const reply of await learn(blind, path)) expectMissing(reply, 'deal.read')
    const lines = dryRuns.map(([, params], index) => ({
      id: `dry-${index}`,
      deal: dealId,
      action: ['UnholdDeal', 'AssignOwner', 'ReopenDeal', 'RenameDeal'][index],
      params,
    }))
    const batch = await blind({ path: '/commands?validateOnly=true', sent: { json: lines } })
    expect(batch.text.match(/"missingRights":\["deal.read"\]/g)).toHaveLength(lines.length)
    const ofOwn = await daveWith(...may, 'deal.read:own')
    for (const path of [open, held, never])
      for (const reply of await learn(ofOwn, path)) {
        expectProblem(reply, 404, 'not-found')
        expect(reply.headers.get('etag')).toBeNull()
      }
    expect((await get(alice, held)).body).toEqual(changed.body)
  })

  it('only the assignee completes a task without the right', async () => {
    const { path } = await makeTwin(alice, 'OPEN')
    const done = (send: SendRequest, taskId: string) => put(send, `${path}/complete-task`, { taskId })
    await put(alice, `${path}/assign-task`, { taskId: takenTask, employeeId: 'dave' })
    const dave = await daveWith()
    expectMissing(await done(dave, freeTask), 'deal.task.complete')
    expectMissing(await done(dave, randomUUID()), 'deal.task.complete')
    expectMissing(await done(await as('bob'), takenTask), 'deal.task.complete')
    expect((await done(dave, takenTask)).status).toBe(204)
  })

  it('a new task with an assignee needs the right to assign too', async () => {
    const { path } = await makeTwin(alice, 'OPEN')
    const dave = await daveWith('deal.task.add')
    const add = (json: object) => dave({ path: `${path}/add-task`, sent: { json } })
    expectMissing(await add({ title: 'call', assigneeId: 'dave' }), 'deal.task.assign')
    expect((await add({ title: 'call', assigneeId: null })).status).toBe(204)
  })

  it('a caller without the right to read sees no difference between existing and missing deals', async () => {
    const [{ path: there }, { path: deleted }] = await Promise.all([
      makeTwin(alice, 'OPEN'),
      makeTwin(alice, 'DELETED'),
    ])
    const nobody = await daveWith()
    const paths = [there, deleted, `/rest/v1/deals/${randomUUID()}`]
    for (const path of paths) {
      expectMissing(await get(nobody, path), 'deal.read')
      expectMissing(
        await put(nobody, path, { name: 'x' }).then((reply) => patchInstead(reply, nobody, path)),
        'deal.read',
      )
      expectMissing(await put(nobody, `${path}/hold`, { reason: 'x' }), 'deal.hold')
      expectMissing(await put(nobody, `${path}/complete-task`, { taskId: freeTask }), 'deal.task.complete')
    }
    const bob = await as('bob')
    expectProblem(await put(bob, `${paths[2]}/complete-task`, { taskId: freeTask }), 404, 'not-found')
    const seen = await get(bob, deleted)
    expectProblem(seen, 404, 'not-found')
    expect(seen.body).not.toHaveProperty('deletedAt')
    expectProblem(await get(bob, `/query/Deal/${deleted.slice(-36)}`), 404, 'not-found')
    const queried = await get(alice, `/query/Deal/${deleted.slice(-36)}`)
    expectProblem(queried, 404, 'not-found')
    expect(queried.body).toHaveProperty('purgeAt')
    expect((await get(alice, deleted)).body).toMatchObject({
      deletedAt: expect.any(String),
      purgeAt: expect.any(String),
    })
  })

  /** A PUT that is no whole deal is refused as such first; a PATCH gets as far as the right. */
  const patchInstead = (reply: Reply, send: SendRequest, path: string) => {
    expectProblem(reply, 422, 'incomplete-representation')
    return send({ path, sent: { method: 'PATCH', json: { name: 'x' } } })
  }

  describe('?expand=allowed', () => {
    const expanded = async (who: string, path: string) => {
      const { body, headers } = await get(await as(who), `${path}?expand=allowed`)
      expect(headers.get('etag')).toBeNull()
      return body as { allowed: string[]; blocked: { useCase: string; code: string; missingRight?: string }[] }
    }
    const blockedBy = (all: Awaited<ReturnType<typeof expanded>>, name: string) =>
      all.blocked.find(({ useCase }) => useCase === name)

    it.each(['OPEN', 'HELD', 'COMPLETED', 'CANCELLED'] as const)('of a deal that is %s', async (state) => {
      const { path, read } = await makeTwin(alice, state)
      for (const who of ['alice', 'carol', 'bob']) {
        const all = await expanded(who, path)
        expect(all).toMatchObject(read)
        const named = [...all.allowed, ...all.blocked.map(({ useCase }) => useCase)]
        expect(named.length).toBe(transitionTable.length - 1)
        expect(new Set(named).size).toBe(named.length)
        if (who === 'bob') expect(all.allowed).toEqual([])
        if (who === 'carol') {
          expect(blockedBy(all, 'CancelDeal')).toEqual({
            useCase: 'CancelDeal',
            code: 'missing-right',
            missingRight: 'deal.cancel',
          })
        }
      }
      const codes = { OPEN: undefined, HELD: 'deal-held', COMPLETED: 'deal-closed', CANCELLED: 'deal-closed' }
      expect(blockedBy(await expanded('alice', path), 'ChangePrice')?.code).toBe(codes[state])
    })
  })

  it('?expand=allowed lists CompleteTask for the assignee of an open task', async () => {
    const { path } = await makeTwin(alice, 'OPEN')
    const dave = await daveWith('deal.read')
    const allowed = async () => (await get(dave, `${path}?expand=allowed`)).body.allowed
    expect(await allowed()).toEqual([])
    await put(alice, `${path}/assign-task`, { taskId: takenTask, employeeId: 'dave' })
    expect(await allowed()).toEqual(['CompleteTask'])
    expect((await put(dave, `${path}/complete-task`, { taskId: takenTask })).status).toBe(200)
    expect(await allowed()).toEqual([])
  })

  describe('AssignedTask', () => {
    const tasksOf = (send: SendRequest, name: string) => get(send, `/query/AssignedTask/${name}`)

    it('a new user of a former name has no tasks of the former user, and completes none', async () => {
      const { path } = await makeTwin(alice, 'OPEN')
      const { access: token } = await stack.logIn('admin')
      const name = `user-${randomUUID().slice(0, 8)}`
      const password = `password of ${name}`
      const makeUser = async () => {
        const reply = await stack.auth.send('/users', { token, json: { username: name, password } })
        expect(reply.status).toBe(201)
        return sendAs(stack.deal, (await stack.logIn(name, password)).access)
      }
      const assign = (taskId: string) => put(alice, `${path}/assign-task`, { taskId, employeeId: name })
      const listed = async (send: SendRequest) => {
        const { status, text } = await tasksOf(send, name)
        return status === 404 ? [] : (JSON.parse(text) as { taskId: string }[]).map(({ taskId }) => taskId)
      }
      const former = await makeUser()
      await assign(freeTask)
      await assign(takenTask)
      // As a row of before the ids were kept.
      await stack.database.query(
        'update deals.tasks set assignee_user_id = null where id = $1::text::uuid and assignee_id = $2',
        [takenTask, name],
      )
      expect((await listed(former)).sort()).toEqual([freeTask, takenTask])
      const removed = await stack.auth.send(`/users/${name}`, { method: 'DELETE', token })
      expect(removed.status).toBe(204)
      stack.clock.advanceSeconds(1)
      const later = await makeUser()
      expect(await listed(later)).toEqual([])
      expect(await listed(alice)).toEqual([])
      for (const taskId of [freeTask, takenTask]) {
        expectMissing(await put(later, `${path}/complete-task`, { taskId }), 'deal.task.complete')
      }
      expect((await assign(freeTask)).headers.get('deal-changed')).toBe('true')
      expect(await listed(later)).toEqual([freeTask])
      expect((await put(later, `${path}/complete-task`, { taskId: freeTask })).status).toBe(204)
      const history = await get(alice, `${path}/history`)
      const items = history.body.items as { type: string; actorUserId: string; data: { newUserId?: string } }[]
      const givenTo = items.flatMap(({ data }) => data.newUserId ?? [])
      expect(new Set(givenTo).size).toBe(2)
      expect(items.at(-1)?.actorUserId).toBe(givenTo.at(-1))
    })

    it('own tasks need no right, tasks of others task.read-any; an empty list is 404', async () => {
      const { path, dealId } = await makeTwin(alice, 'OPEN')
      const dave = await daveWith()
      expectProblem(await tasksOf(dave, 'dave'), 404, 'not-found')
      expectMissing(await tasksOf(dave, 'alice'), 'task.read-any')
      await put(alice, `${path}/assign-task`, { taskId: freeTask, employeeId: 'dave' })
      const own = await tasksOf(dave, 'DAVE')
      expect(own.status).toBe(200)
      expect(JSON.parse(own.text)).toEqual([
        {
          taskId: freeTask,
          title: 'write',
          dueDate: null,
          dealId,
          dealName: 'deal123',
          dealHeld: false,
          assignedAt: expect.any(String),
        },
      ])
      expect((await tasksOf(alice, 'dave')).text).toBe(own.text)
      await put(dave, `${path}/complete-task`, { taskId: freeTask })
      expectProblem(await tasksOf(dave, 'dave'), 404, 'not-found')
    })
  })
})
