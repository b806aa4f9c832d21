/**
 * The form of an event: a fact about a deal in the past tense. Each has just the data that folding the deal's state
 * needs (docs/deal-model.md#events). The use case that makes an event defines it, in its own file.
 */
import type { Deal } from './deal.ts'

/** An event of a deal. Amounts in `data` are minor units of the deal's currency. */
export interface DealEvent<Data extends object = object> {
  /** `deal.held` */
  readonly type: string
  readonly data: Data
}

/** The time and the actor of a command's events. */
export interface Occasion {
  readonly at: string
  readonly actor: string
}

/** The data of a stored event as texts for people. A missing member is empty: old and purged events have fewer. */
export interface EventFacts {
  text(name: string): string
  money(name: string): string
  /** A day. */
  date(name: string): string
  time(name: string): string
  /** A number of seconds in its largest unit: `3 days`. */
  duration(name: string): string
  /** True for a member that is true. */
  is(name: string): boolean
  /** A member that has members itself. */
  of(name: string): Pick<EventFacts, 'text'>
  /** The title of the task that `taskId` names. */
  task(): string
  /** The title of the use case that `useCase` names. */
  useCase(): string
}

/** The definition of an event, without the type of its data. */
export interface KnownEvent {
  readonly type: string
  /** What the actor did, after its name: `renamed the deal`. */
  readonly phrase: string
  /** The members of the data that are amounts. */
  readonly amounts?: readonly string[]
  /** Each is on a line of its own; empty ones are left out. Texts of users may be among them. */
  details?(facts: EventFacts): readonly string[]
  /** The state after the event. The first event of a deal finds no deal. */
  apply(deal: Deal, data: object, occasion: Occasion): Deal
}

interface EventParts<Data extends object> extends KnownEvent {
  readonly amounts?: readonly (keyof Data & string)[]
  apply(deal: Deal, data: Data, occasion: Occasion): Deal
}

interface DefinedEvent<Data extends object> extends EventParts<Data> {
  (data: Data): DealEvent<Data>
}

/** Defines an event. The type of its data is that of the second parameter of `apply`. */
export const defineEvent = <Data extends object>(parts: EventParts<Data>): DefinedEvent<Data> =>
  Object.assign((data: Data) => ({ type: parts.type, data }), parts)

/** A former and a new value in words. */
export const changed = (old: string, now: string): string => `${old || 'none'} → ${now || 'none'}`

/** A value with its label; nothing for an empty value. */
export const labelled = (label: string, value: string): string => (value === '' ? '' : `${label}: ${value}`)
