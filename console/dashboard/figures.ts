/** What the dashboard asks the API for: a few sums and short lists. */

import { decimalText } from '../../deal-server/domain/money.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { DealApi, DealReply } from '../frame/deal-api.ts'
import { may } from '../frame/may.ts'
import { shareReading } from './share-reading.ts'
import { createReadSums, type Group, type Period, type Sums } from './sums.ts'

const members = ['name', 'status', 'held', 'heldAt', 'holdReason', 'updatedAt', 'updatedBy'] as const

/** A deal of the short lists. */
export type ShortDeal = Pick<DealReply<'GET /rest/v1/deals'>['items'][number], 'id' | (typeof members)[number]>

/** An open task of the reader. */
export type ShortTask = DealReply<'GET /query/:dtoName/:parameter'>[number]

interface DealLists {
  /** Those that wait longest come first. */
  readonly held: readonly ShortDeal[]
  readonly latest: readonly ShortDeal[]
}

/** All figures of the dashboard. Undefined: they take too long now. */
export interface Figures {
  readonly sums: Sums | undefined
  readonly lists: DealLists | undefined
  readonly tasks: readonly ShortTask[]
  /** How many proposals wait for a decision, such as `3` or `100+`; undefined where the reader decides on none. */
  readonly proposals: string | undefined
}

type ReadFigures = (asked: {
  readonly api: DealApi
  readonly caller: Caller
  readonly period: Period
}) => Promise<Figures>

/** Makes the reader of the figures, one for each server. Its callers may read deals. */
export function createReadFigures(clock: Clock): ReadFigures {
  const sumsOf = createReadSums(clock)
  const listsOf = shareReading(clock, readLists)
  return async function readFigures({ api, caller, period }) {
    const [sums, lists, tasks, proposals] = await Promise.all([
      sumsOf({ api, caller }, period),
      listsOf(api, caller),
      readTasks(api, caller.username),
      may(caller, 'proposal.decide') ? countProposals(api) : undefined,
    ])
    return { sums, lists, tasks, proposals }
  }
}

async function readLists(api: DealApi): Promise<DealLists> {
  const deals = (query: Readonly<Record<string, string>>) =>
    api.get('GET /rest/v1/deals', { query: { ...query, fields: members.join() } })
  // The time of the hold is no key of the list. A held deal seldom changes: those that rest longest wait longest.
  const held = await deals({ held: 'true', sort: 'updatedAt', limit: '100' })
  const latest = await deals({ sort: '-updatedAt', limit: shortList })
  const byHold = [...held.items].sort((a, b) => ((a.heldAt ?? '') < (b.heldAt ?? '') ? -1 : 1))
  return { held: byHold.slice(0, Number(shortList)), latest: latest.items }
}

const shortList = '6'

async function readTasks(api: DealApi, username: string): Promise<readonly ShortTask[]> {
  const path = { dtoName: 'AssignedTask', parameter: username }
  const reply = await api.call('GET /query/:dtoName/:parameter', { path, query: { limit: shortList } })
  // The route answers 404 for an empty list.
  return reply.ok ? reply.body : []
}

async function countProposals(api: DealApi): Promise<string | undefined> {
  const { items, nextCursor } = await api.get('GET /proposals', { query: { limit: '100' } })
  return items.length === 0 ? undefined : `${items.length}${nextCursor === null ? '' : '+'}`
}

/** Of each state the number of deals and the value by currency. Those on hold are among the open ones. */
export interface StateCount {
  readonly state: 'open' | 'held' | 'completed' | 'cancelled'
  readonly count: number
  readonly values: readonly Pick<Group, 'currency' | 'valueText'>[]
  /** The query of the list that shows these deals. */
  readonly query: string
}

/** The states in order. */
export function countByState(groups: readonly Group[]): readonly StateCount[] {
  const of = (state: StateCount['state'], query: string, isOf: (group: Group) => boolean): StateCount => {
    const own = groups.filter(isOf)
    return { state, query, count: own.reduce((sum, { count }) => sum + count, 0), values: byCurrency(own) }
  }
  return [
    of('open', 'status=open', ({ status }) => status === 'open'),
    of('held', 'held=true', ({ held }) => held === true),
    of('completed', 'status=completed', ({ status }) => status === 'completed'),
    of('cancelled', 'status=cancelled', ({ status }) => status === 'cancelled'),
  ]
}

function byCurrency(groups: readonly Group[]): StateCount['values'] {
  const sums = new Map<string, bigint>()
  for (const { currency, valueText } of groups)
    sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(valueText.replace('.', '')))
  return [...sums].map(([currency, sum]) => ({ currency, valueText: decimalText(sum, currency) }))
}
