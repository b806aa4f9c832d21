/** Applies events to a deal. The history of a deal, folded with these functions, gives the stored state. */
import type { Deal } from '../domain/deal.ts'
import type { DealEvent, KnownEvent, Occasion } from '../domain/events.ts'
import { proposalEvents } from '../domain/proposals.ts'
import { created } from './create-deal.ts'
import { commands } from './index.ts'

const definitions: ReadonlyMap<string, KnownEvent> = new Map(
  [...commands.flatMap(({ events }) => events), ...proposalEvents].map((event) => [event.type, event]),
)

/** The types of all events. */
export const dealEventTypes: readonly string[] = [...definitions.keys()]

/** The definition of the events of this type; undefined for a type that is not known. */
export const eventNamed = (type: string): KnownEvent | undefined => definitions.get(type)

/** The state after the events of one accepted command: version + 1, sequence + 1 for each event. */
export function applyEvents(deal: Deal | undefined, events: readonly DealEvent[], occasion: Occasion): Deal {
  const state = foldEvents(deal, events, occasion)
  return {
    ...state,
    version: (deal?.version ?? 0) + 1,
    sequence: (deal?.sequence ?? 0) + events.length,
    updatedAt: occasion.at,
    updatedBy: occasion.actor,
  }
}

/** The state after some events of a command. Version and sequence stay. */
export function foldEvents(deal: Deal | undefined, events: readonly DealEvent[], occasion: Occasion): Deal {
  const state = events.reduce<Deal | undefined>((before, { type, data }) => {
    if (!before && type !== created.type) throw new TypeError(`${type} before the creation of the deal`)
    const definition = definitions.get(type)
    if (!definition) throw new TypeError(`No use case has ${type} among its events`)
    return definition.apply(before as Deal, data, occasion)
  }, deal)
  if (!state) throw new TypeError('the first event of a deal is its creation')
  return state
}

/** An event of the past, with what was common to its command. */
export interface PastEvent extends DealEvent, Pick<Occasion, 'actor'> {
  readonly sequence: number
  readonly dealVersion: number
  readonly occurredAt: string
}

/** The deal of a whole history; undefined without events. */
export const foldHistory = (history: readonly PastEvent[]): Deal | undefined =>
  history.reduce<Deal | undefined>((deal, event) => {
    const { sequence, dealVersion: version, occurredAt: at, actor } = event
    const state = { ...foldEvents(deal, [event], { at, actor }), version, sequence }
    return version === deal?.version ? state : { ...state, updatedAt: at, updatedBy: actor }
  }, undefined)
