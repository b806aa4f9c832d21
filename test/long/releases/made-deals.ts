/** Deals, events, commands and webhooks, made at servers of whatever release. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { openEvents, type SentEvent } from '../../support/clients/event-client.ts'
import { type Reply, rememberSecret, type Sent } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { type DealState, dealStates, waysInto } from '../../support/worlds/transition-table.ts'
import { startReceiver, type WebhookReceiver } from '../../support/worlds/webhook-receiver.ts'
import { call } from './made-credentials.ts'
import type { Servers } from './servers.ts'

/** A request with a command id, and how it was answered when it was sent again. */
export interface Replay {
  readonly path: string
  readonly sent: Sent
  readonly status: number
  readonly body: Reply['body']
}

/** A webhook, and who takes its events. */
export interface MadeWebhook {
  readonly id: string
  readonly receiver: WebhookReceiver
}

/** What was made. */
export interface MadeDeals {
  readonly ids: readonly string[]
  readonly byState: Readonly<Record<Exclude<DealState, 'ABSENT'>, string>>
  readonly replays: readonly Replay[]
  /** All events, in the order of the stream. */
  readonly events: readonly SentEvent[]
}

const deals = '/rest/v1/deals'

/** Makes deals of every state, and some more. */
export async function makeDeals({ deal }: Servers, token: string): Promise<MadeDeals> {
  const run = (name: string, json: object) => call(deal, 200, `/command/${name}`, { token, json })
  const made = dealStates.filter((state) => state !== 'ABSENT').map((state) => ({ state, id: randomUUID() }))
  for (const { state, id } of made) {
    for (const [name, params] of waysInto[state]) await run(name, { id, ...params })
  }
  const byState = Object.fromEntries(made.map(({ state, id }) => [state, id])) as MadeDeals['byState']
  const others = Array.from({ length: 40 }, () => randomUUID())
  await Promise.all(others.map((id, index) => run('CreateDeal', { id, name: `deal ${index}`, price: index })))
  await Promise.all(others.slice(0, 20).map((id) => run('HoldDeal', { id, reason: 'later' })))
  const replays = await sendCommands({ deal }, token, byState)
  const ids = [...made.map(({ id }) => id), ...others]
  return { ids, byState, replays, events: await allEvents({ deal }, token, ids.length) }
}

/** Commands with ids, accepted and refused, each sent twice. */
async function sendCommands(
  { deal }: Pick<Servers, 'deal'>,
  token: string,
  { OPEN, HELD }: MadeDeals['byState'],
): Promise<Replay[]> {
  const put = (json: object): Sent => ({ method: 'PUT', token, json })
  const keyed = (json: object): Sent => ({ method: 'POST', token, json, headers: { 'idempotency-key': randomUUID() } })
  const requests: [string, Sent][] = [
    [`${deals}/${OPEN}/commands/${randomUUID()}`, put({ action: 'RenameDeal', params: { newName: 'renamed' } })],
    [`/commands/${randomUUID()}`, put({ deal: OPEN, action: 'AddTask', params: { title: 'by a command' } })],
    [`${deals}/${OPEN}/change-price`, keyed({ newPrice: 17, reason: 'dearer' })],
    ['/command/AssignOwner', keyed({ id: OPEN, employeeId: 'carol' })],
    [`${deals}/${HELD}/complete`, keyed({ documentNumber: 'D-2', openTasks: 'drop' })],
    [`/commands/${randomUUID()}`, put({ deal: HELD, action: 'CreateDeal', params: { name: 'again', price: 1 } })],
    ['/command/ChangePrice', keyed({ id: HELD, newPrice: 9, reason: 'cheaper' })],
  ]
  const replays: Replay[] = []
  for (const [path, sent] of requests) {
    await deal.send(path, sent)
    const { status, body } = await deal.send(path, sent)
    replays.push({ path, sent, status, body })
  }
  expect(replays.map(({ status }) => status)).toEqual([201, 201, 200, 200, 409, 409, 409])
  return replays
}

/** All events from the beginning, when all of these deals are among them. */
export async function allEvents(
  { deal }: Pick<Servers, 'deal'>,
  token: string,
  dealCount: number,
): Promise<SentEvent[]> {
  const stream = await openEvents(deal, { token, query: '?after=0' })
  await stream.until(({ events }) => new Set(events.map(({ data }) => data.subject)).size >= dealCount)
  const count = await countOfEvents({ deal }, token, stream.events)
  await stream.until(({ events }) => events.length >= count)
  stream.close()
  return [...stream.events]
}

async function countOfEvents({ deal }: Pick<Servers, 'deal'>, token: string, events: readonly SentEvent[]) {
  let count = 0
  for (const id of new Set(events.map(({ data }) => String(data.subject)))) {
    count += ((await call(deal, 200, `${deals}/${id}/history?limit=200`, { token })).body.items as unknown[]).length
  }
  return count
}

/** Makes a webhook from the first event on. Its receiver answers by `answerOf` from the first message on. */
export async function makeWebhook(
  { deal }: Pick<Servers, 'deal'>,
  token: string,
  answerOf: (receiver: WebhookReceiver) => WebhookReceiver['answer'],
): Promise<MadeWebhook> {
  const receiver = await startReceiver()
  receiver.answer = answerOf(receiver)
  const { body } = await call(deal, 201, '/rest/v1/webhooks', { token, json: { url: receiver.url, after: '0' } })
  rememberSecret(String(body.secret))
  receiver.secrets.push(String(body.secret))
  return { id: String(body.id), receiver }
}

/** Resolves when the receiver has taken every event of these deals, each deal's in order and without a gap. */
export async function expectAllTaken({ receiver }: MadeWebhook, events: readonly SentEvent[]): Promise<void> {
  const ids = events.map(({ data }) => data.id).sort()
  const taken = () => receiver.taken().filter(({ data }) => ids.includes(data.id))
  await eventually(() => expect(taken().length).toBe(ids.length))
  expect(
    taken()
      .map(({ data }) => data.id)
      .sort(),
  ).toEqual(ids)
  expectOrder(taken())
  expect(receiver.faults).toEqual([])
}

/** Expects that the events of each deal come in order, without a gap. */
export function expectOrder(events: readonly { readonly data: Readonly<Record<string, unknown>> }[]): void {
  const last = new Map<unknown, number>()
  for (const { data } of events) {
    const before = last.get(data.subject)
    if (before !== undefined) expect(data.sequence).toBe(before + 1)
    last.set(data.subject, Number(data.sequence))
  }
}
