/** The sender of one webhook over a simulated log, a simulated receiver, and a clock that can be moved. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import type { LoggedEvent } from '../../../deal-server/events/event-log.ts'
import { beginning, type Place } from '../../../deal-server/events/position.ts'
import { standardRetriesMs } from '../../../deal-server/webhooks/back-off.ts'
import { webhookDefaults } from '../../../deal-server/webhooks/options.ts'
import type { BlockedDeal, Progress, WaitingEvents, Webhook } from '../../../deal-server/webhooks/ports.ts'
import { webhookRights } from '../../../deal-server/webhooks/responsible.ts'
import { WebhookSender } from '../../../deal-server/webhooks/sender.ts'
import type { WebhookSystems } from '../../../deal-server/webhooks/webhook-systems.ts'
import { Permits } from '../../../shared/platform/concurrency/permits.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { PrincipalRecord } from '../../../shared/protocol/principal/record.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { createMovableClock } from '../../support/worlds/movable-clock.ts'

type Answer = number | { readonly status: number; readonly retryAfterMs: number }

const webhook = (settings: Partial<Webhook> = {}): Webhook => ({
  id: 'webhook',
  url: 'https://receiver.test/',
  types: [],
  deals: [],
  description: null,
  state: 'active',
  pausedReason: null,
  pausedAt: null,
  createdBy: 'admin',
  createdAt: '',
  updatedAt: '',
  revision: 1,
  position: 0,
  secret: '',
  formerSecret: null,
  formerSecretUntil: null,
  responsible: { username: 'admin', userId: '1', seesDeleted: true, generation: 1 },
  health: {
    failures: 0,
    lastSuccessAt: null,
    lastFailureAt: null,
    lastFailureStatus: null,
    lastFailureReason: null,
    heldUntil: null,
  },
  ...settings,
})

/** The responsible user sees all deals. */
const recordWith = (rights: readonly string[]): PrincipalRecord => ({
  username: 'admin',
  userId: '1',
  enabled: true,
  roles: [],
  rights,
  generation: 1,
  keptLogin: null,
  revokedIds: [],
  version: 1,
})

/** Longer than all retries together: nothing here renews the lease while the clock is moved. */
const leaseMs = 1_000_000_000

class World {
  readonly clock = createMovableClock()
  readonly events: LoggedEvent[] = []
  /** Each attempt: deal, sequence, attempt, and when. */
  readonly attempts: { readonly event: string; readonly attempt: number; readonly at: number }[] = []
  readonly taken: string[] = []
  readonly saved: Progress[] = []
  answer: (event: string) => Answer = () => 200
  rights: () => readonly string[] = () => [...webhookRights, 'deal.restore']
  runId = 'run'
  reads = 0
  accepts = true
  sender: WebhookSender | undefined

  get pauses() {
    return this.saved.flatMap(({ pausedReason }) => pausedReason ?? [])
  }

  write(dealId: string): void {
    const sequence = this.events.filter((event) => event.dealId === dealId).length + 1
    const position = this.events.length + 1
    this.events.push({
      position,
      history: 'history',
      id: String(position),
      dealId,
      sequence,
      dealVersion: 1,
      type: 'deal.held',
      data: {},
      currency: 'EUR',
      occurredAt: '2026-01-01T00:00:00.000Z',
      actor: 'alice',
      actorUserId: null,
      useCase: 'HoldDeal',
      style: 'resource',
      commandId: null,
      correlationId: '',
      schemaVersion: 1,
    })
    this.sender?.wake()
  }

  start(blocked: readonly BlockedDeal[] = [], retriesMs = standardRetriesMs): void {
    const loaded = { webhook: webhook(), place: { ...beginning, history: 'history' }, blocked }
    const leaseUntil = this.clock.monotonic() + leaseMs
    const sizes = { ...webhookDefaults, pollMs: 10, pageSize: 100, concurrency: 4, maxBlocked: 50, downAfter: 10 }
    const options = { ...sizes, owner: 'here', leaseMs, retriesMs }
    this.sender = new WebhookSender(this.#systems(), options, { loaded, leaseUntil })
    this.sender.start()
  }

  #systems(): WebhookSystems {
    return {
      ...fakeSystems({ clock: this.clock }),
      eventLog: { read: (after: Place) => this.#read(after.position) } as never,
      store: {} as never,
      secrets: {} as never,
      report: async () => true,
      work: {
        save: async (progress: Progress) => {
          await turn()
          this.saved.push(progress)
          return this.accepts
        },
        waiting: async ({ dealId, sequence, upTo }: WaitingEvents) => {
          const waits = (event: LoggedEvent) => event.dealId === dealId && event.sequence >= sequence
          return this.events.filter((event) => waits(event) && event.position <= upTo.position)
        },
        unreportedPauses: async () => [],
      } as never,
      represent: () => ({}),
      deliver: async (_, { delivery }) => {
        const event = `${delivery.dealId}${this.events.find(({ id }) => id === delivery.eventId)?.sequence}`
        this.attempts.push({ event, attempt: delivery.attempt, at: this.clock.now() })
        const answered = this.answer(event)
        await turn()
        const { status, retryAfterMs } =
          typeof answered === 'number' ? { status: answered, retryAfterMs: undefined } : answered
        const isTaken = status < 300
        if (isTaken) this.taken.push(event)
        const { eventId, type, dealId, attempt } = delivery
        const outcome = isTaken ? ('delivered' as const) : ('failed' as const)
        const noted = { eventId, type, dealId, attempt, at: new Date(this.clock.now()).toISOString(), durationMs: 1 }
        return {
          attempt: { ...noted, outcome, status, reason: isTaken ? null : 'refused' },
          retryAfterMs,
          isGone: status === 410,
          isAborted: false,
        }
      },
      principals: { get: async () => recordWith(this.rights()) },
      permits: new Permits(8),
      random: () => 0,
      onAttempt: () => undefined,
    }
  }

  async #read(position: number) {
    this.reads += 1
    const events = this.events.filter((event) => event.position > position).slice(0, 100)
    const last = events.at(-1)
    const end = { position: last?.position ?? position }
    return {
      events,
      end,
      isLast: events.length < 100,
      isIncomplete: false,
      lastPosition: 0,
      runId: this.runId,
    }
  }
}

let world = new World()
afterEach(async () => {
  await world.sender?.stop(0)
  world = new World()
})

/** The deal as it was stored last. */
const storedOf = (deal: string) =>
  world.saved
    .flatMap(({ blocked }) => blocked)
    .filter(({ dealId }) => dealId === deal)
    .at(-1)

const attemptsOf = (event: string) => world.attempts.filter((one) => one.event === event)

it('tries by the schedule of Standard Webhooks, then pauses, while other deals go on', async () => {
  world.answer = (event) => (event.startsWith('a') ? 500 : 200)
  world.start()
  for (const deal of ['a', 'a', 'b']) world.write(deal)
  await eventually(() => expect(world.taken).toEqual(['b1']))
  for (const [index, ms] of standardRetriesMs.entries()) {
    // The next attempt has its time when this one is stored.
    await eventually(() => expect(storedOf('a')?.attempts).toBe(index + 1))
    expect(attemptsOf('a1')).toHaveLength(index + 1)
    // The success of another deal keeps the receiver from seeming to be down.
    world.write('b')
    world.clock.advanceSeconds(ms / 1000 - 1)
    await eventually(() => expect(world.taken).toHaveLength(index + 2))
    expect(attemptsOf('a1')).toHaveLength(index + 1)
    world.clock.advanceSeconds(1)
  }
  await eventually(() => expect(world.pauses).toEqual(['failing']))
  expect(attemptsOf('a1').map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(attemptsOf('a2')).toEqual([])
  await world.sender?.stop(0)
  expect(world.saved.at(-1)?.pausedReason).toBe('failing')
  expect(storedOf('a')).toMatchObject({ sequence: 1, attempts: 0 })
})

it('asks a receiver that seems to be down no more than it must, and lets the process go on', async () => {
  world.answer = () => 500
  world.start([], [20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240])
  for (let count = 0; count < 40; count += 1) world.write(`d${count}-`)
  await eventually(() => expect(world.attempts.length).toBeGreaterThan(20))
  const tried = new Set(world.attempts.map(({ event }) => event))
  expect(tried.size).toBeLessThan(20)
  const { reads } = world
  world.write('late')
  await eventually(() => expect(world.attempts.length).toBeGreaterThan(24))
  expect(world.reads).toBe(reads)
  world.answer = () => 200
  await eventually(() => expect(world.taken).toHaveLength(41))
  expect(new Set(world.taken).size).toBe(41)
})

it('waits for all deals as long as an overloaded receiver asks', async () => {
  world.answer = () => ({ status: 503, retryAfterMs: 600_000 })
  world.start()
  world.write('a')
  await eventually(() => expect(world.attempts).toHaveLength(1))
  world.answer = () => 200
  world.write('b')
  world.clock.advanceSeconds(590)
  await eventually(() => expect(world.saved.at(-1)?.health.heldUntil).not.toBeNull())
  for (let count = 0; count < 20; count += 1) await turn()
  expect(world.taken).toEqual([])
  world.clock.advanceSeconds(11)
  await eventually(() => expect(world.taken.sort()).toEqual(['a1', 'b1']))
})

it('sends nothing while rights cannot be known, and pauses when they are gone', async () => {
  world.rights = () => {
    throw new Unavailable('auth-server')
  }
  world.start()
  world.write('a')
  for (let count = 0; count < 20; count += 1) await turn()
  expect(world.attempts).toEqual([])
  world.rights = () => webhookRights
  await eventually(() => expect(world.taken).toEqual(['a1']))
  world.rights = () => []
  world.write('a')
  await eventually(() => expect(world.pauses).toEqual(['responsible-lacks-right']))
  expect(world.taken).toEqual(['a1'])
})

it('goes on with a deal that waits where it was, before later events of that deal', async () => {
  for (const deal of ['a', 'a', 'a', 'b']) world.write(deal)
  const since = '2026-01-01T00:00:00.000Z'
  world.answer = (event) => (event === 'a3' && attemptsOf('a3').length < 3 ? 500 : 200)
  world.start([{ dealId: 'a', sequence: 2, attempts: 0, nextAttemptAt: 0, since }], [10, 20, 30])
  await eventually(() => expect(world.taken).toContain('a2'))
  world.write('a')
  await eventually(() => expect(world.taken).toHaveLength(4))
  expect(world.taken.filter((event) => event.startsWith('a'))).toEqual(['a2', 'a3', 'a4'])
})

it('has stored everything when it has ended', async () => {
  world.start()
  world.write('a')
  await eventually(() => expect(world.taken).toEqual(['a1']))
  await world.sender?.stop(0)
  const count = world.saved.length
  expect(world.saved.at(-1)?.place.position).toBe(1)
  for (let turns = 0; turns < 20; turns += 1) await turn()
  expect(world.saved).toHaveLength(count)
})

it('stores nothing after another database took over, and ends when it has lost the webhook', async () => {
  world.start()
  world.write('a')
  await eventually(() => expect(world.saved.at(-1)?.place.position).toBe(1))
  const count = world.saved.length
  world.runId = 'another'
  world.write('a')
  await eventually(() => expect(world.sender?.hasEnded).toBe(true))
  await world.sender?.stop(0)
  expect(world.saved).toHaveLength(count)
  world = new World()
  world.accepts = false
  world.start()
  world.write('a')
  await eventually(() => expect(world.sender?.hasEnded).toBe(true))
})
