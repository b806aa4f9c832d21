/**
 * The shape of a command. Each is defined once, in a file of its own; all styles, the documentation and every check
 * read that one definition. A use case knows the domain and nothing of HTTP, SQL or the cache.
 */
import type { z } from 'zod'
import { checkValue } from '../../shared/platform/http/content/check-value.ts'
import { type AccountUser, actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'
import { type DealRefusal, type DealRefusalCode, isRefusal } from '../domain/refusal.ts'

/** The right to read deals. Without it a caller learns of a deal only what its own commands tell. */
export const readingRight = 'deal.read'

/** An enabled user of the auth server. */
export interface Employee {
  /** As created. */
  readonly username: string
  /** Immutable: two users of one name one after the other are two ids. */
  readonly userId: string
}

/** What the decision may know besides deal and parameters: all of it handed in, so that the decision stays pure. */
export interface DecisionContext {
  /** RFC 3339. */
  readonly now: string
  /** The caller's user name. */
  readonly actor: string
  /** For ids that the client left to the server. */
  readonly newId: () => string
  readonly defaultCurrency: string
  /** Folded user name → the user, for every name the command mentions that is an enabled user's. */
  readonly assignableUsers: ReadonlyMap<string, Employee>
  /** The id of the deal that a creation makes. */
  readonly dealId: string
  /** True when that id is, or was, a deal's. */
  readonly isTaken?: boolean
}

/** The events of an accepted command (none: it is the state already), or why it is refused. */
export type Decision = readonly DealEvent[] | DealRefusal

/** The events of each use case that a command came to, in order; only those that change something. */
export type Steps = readonly { readonly useCase: string; readonly events: readonly DealEvent[] }[]

/** Who asks, as far as a right can hang on it. */
export interface Asking extends AccountUser, Employee {
  readonly rights: ReadonlySet<string>
}

interface CommandBase {
  /** The use-case name, which is also `action` and `{command_name}`: `HoldDeal`. */
  readonly name: string
  readonly summary: string
  readonly right: string
  /** Last path segment in the action style: `hold`. */
  readonly verb: string
  /** Last path segment in the state-named style: `holded`. */
  readonly stateName: string
  /**
   * The parameter that names what the command makes within the deal: a PUT needs it, or an id of its own, to be
   * repeatable.
   */
  readonly makes?: string
  /** Why the deal's state or the facts may refuse it, for the documentation; values out of bounds are understood. */
  readonly refusals: readonly DealRefusalCode[]
}

interface Definition<Schema extends z.ZodType> extends CommandBase {
  readonly params: Schema
  /** Rights needed besides `right`, because of the parameters. */
  additionalRights?(params: z.output<Schema>): readonly string[]
  /** User names in the parameters that must be those of enabled users. */
  assignableUsers?(params: z.output<Schema>): readonly string[]
}

interface DealCommandDefinition<Schema extends z.ZodType> extends Definition<Schema> {
  /**
   * Refuses by the deal's state alone, whatever the parameters. Asked before `decide`; what `allowed` lists is read
   * from it too.
   */
  guard?(deal: Deal): DealRefusal | undefined
  /** The same for want of room. Asked after `decide`: a repetition that changes nothing needs no room. */
  limit?(deal: Deal): DealRefusal | undefined
  /** True when the deal is as the command would make it: then nothing changes, and the guard is not asked. */
  isDone?(deal: Deal, params: z.output<Schema>): boolean
  /** The events, for a deal that the guard lets pass. */
  decide(deal: Deal, params: z.output<Schema>, context: DecisionContext): Decision
  /**
   * Set where a changed attribute of the deal can stand for the command: its parameter → the attribute that the
   * parameter is taken from.
   */
  readonly attributes?: { readonly [Parameter in keyof z.input<Schema>]?: string }
  /**
   * Who may do it even without the right, by a credential that acts for its user: with these parameters, or, without
   * any, with some.
   */
  allowedWithoutRight?(deal: Deal, user: Employee, params?: z.output<Schema>): boolean
  /** True for the one command on a deleted deal. */
  readonly onDeleted?: boolean
}

interface CreationDefinition<Schema extends z.ZodType> extends Definition<Schema> {
  /** The id that the client chose, if it did. */
  dealId(params: z.output<Schema>): string | undefined
  decide(existing: Deal | undefined, params: z.output<Schema>, context: DecisionContext): Decision
}

/** A command with its parameters: checked, and ready to be decided. */
export interface BoundCommand {
  readonly name: string
  /** `collection`: it makes a deal; `deal`: it needs one. */
  readonly target: 'collection' | 'deal'
  /** See `Command`. */
  readonly makes: string | undefined
  /** Where in the body the parameters stand, as a pointer. */
  readonly at: string
  /**
   * As sent, normalised, before defaults and generated ids: what the fingerprint covers and the command resource shows.
   */
  readonly params: Readonly<Record<string, unknown>>
  /** For a creation, the id that the client chose. */
  readonly chosenDealId: string | undefined
  readonly onDeleted: boolean
  /** Rights needed whatever the deal is. */
  readonly rights: readonly string[]
  /**
   * Rights that the caller lacks for this deal; where it is set, `rights` is empty. `ran`: what the command came to, if
   * it is known already.
   */
  readonly missingRights:
    | ((deal: Deal | undefined, asking: Asking, ran?: readonly string[]) => readonly string[])
    | undefined
  assignableUsers(deal: Deal | undefined): readonly string[]
  /** True when nothing would differ: then no precondition is looked at. */
  isFulfilledBy(deal: Deal): boolean
  decide(deal: Deal | undefined, context: DecisionContext): Steps | DealRefusal
}

/** A command as styles and documentation see it. */
export interface Command extends CommandBase {
  readonly target: 'collection' | 'deal'
  readonly params: z.ZodType
  readonly onDeleted: boolean
  /** Why the deal's state refuses the command, with any parameters that would change something. */
  guard(deal: Deal): DealRefusal | undefined
  /** Where attributes can stand for the command: parameter → attribute. */
  readonly attributes?: Readonly<Record<string, string | undefined>>
  /** Who may do it even without the right, with some parameters or other. */
  allowedWithoutRight?(deal: Deal, user: Employee): boolean
  /** Checks parameters that stand at `at` in the body. @throws ProblemError `invalid-body`, `invalid-value` */
  bind(params: unknown, at: string): BoundCommand
}

type Params = Record<string, unknown>

/** A command on an existing deal. */
export function defineDealCommand<Schema extends z.ZodType<Params>>(
  definition: DealCommandDefinition<Schema>,
): Command {
  const { name, right, onDeleted = false, allowedWithoutRight } = definition
  return {
    ...definition,
    target: 'deal',
    onDeleted,
    guard: (deal) => definition.guard?.(deal) ?? definition.limit?.(deal),
    bind: (value, at) => {
      const params = checkValue(definition.params, value, { at })
      return {
        ...boundParts(definition, params, at),
        target: 'deal',
        onDeleted,
        chosenDealId: undefined,
        ...(allowedWithoutRight && {
          rights: [],
          missingRights: (deal: Deal | undefined, asking: Asking) => {
            const { rights } = asking
            const mayOwn = deal !== undefined && actsForItsUser(asking) && allowedWithoutRight(deal, asking, params)
            const may = rights.has(right) || mayOwn
            return may || (deal === undefined && rights.has(readingRight)) ? [] : [right]
          },
        }),
        decide: (deal, context) => {
          if (!deal) throw new TypeError(`${name} needs a deal`)
          return asSteps(name, guarded(definition, deal, { params, context }))
        },
      }
    },
  }
}

/** The decision between its guards: no definition can forget to ask them, and none disagrees with `allowed`. */
function guarded<Schema extends z.ZodType>(
  { guard, limit, isDone, decide }: DealCommandDefinition<Schema>,
  deal: Deal,
  { params, context }: { readonly params: z.output<Schema>; readonly context: DecisionContext },
): Decision {
  if (isDone?.(deal, params)) return []
  const refusal = guard?.(deal)
  if (refusal) return refusal
  const decision = decide(deal, params, context)
  const changes = !isRefusal(decision) && decision.length > 0
  return (changes ? limit?.(deal) : undefined) ?? decision
}

/** The command that makes a deal. */
export function defineCreation<Schema extends z.ZodType<Params>>(definition: CreationDefinition<Schema>): Command {
  const { name, decide } = definition
  return {
    ...definition,
    target: 'collection',
    onDeleted: false,
    guard: () => undefined,
    bind: (value, at) => {
      const params = checkValue(definition.params, value, { at })
      return {
        ...boundParts(definition, params, at),
        target: 'collection',
        onDeleted: false,
        chosenDealId: definition.dealId(params),
        decide: (existing, context) => asSteps(name, decide(existing, params, context)),
      }
    },
  }
}

const boundParts = <Schema extends z.ZodType<Params>>(
  { name, makes, right, additionalRights, assignableUsers }: Definition<Schema>,
  params: z.output<Schema>,
  at: string,
) => ({
  name,
  makes,
  at,
  params,
  rights: [right, ...(additionalRights?.(params) ?? [])],
  missingRights: undefined,
  assignableUsers: () => assignableUsers?.(params) ?? [],
  isFulfilledBy: () => false,
})

const asSteps = (useCase: string, decision: Decision): Steps | DealRefusal => {
  if (isRefusal(decision)) return decision
  return decision.length === 0 ? [] : [{ useCase, events: decision }]
}
