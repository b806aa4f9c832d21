/**
 * The form of a command. Each command has one definition, in its own file. All styles, the documentation and every
 * check read that definition. A use case knows the domain, but no HTTP, no SQL and no cache.
 */
import type { z } from 'zod'
import { checkValue } from '../../shared/platform/problems/check-value.ts'
import { type AccountUser, actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealEvent, KnownEvent } from '../domain/events.ts'
import { owns, reaches, type UserIdentity, widthOf } from '../domain/own-deals.ts'
import { type DealRefusal, type DealRefusalCode, isRefusal } from '../domain/refusal.ts'
import { readingRight } from '../domain/sight.ts'

/** The facts of a decision besides deal and parameters. They are passed in, so that the decision stays pure. */
export interface DecisionContext {
  /** RFC 3339. */
  readonly now: string
  readonly caller: UserIdentity
  /** Makes the ids that the client did not choose. */
  readonly newId: () => string
  readonly defaultCurrency: string
  /** Folded user name → the user, for each name in the command that belongs to an enabled user. */
  readonly assignableUsers: ReadonlyMap<string, UserIdentity>
  /** The id of the deal that a creation makes. */
  readonly dealId: string
  /** True when a deal with that id exists or existed. */
  readonly isTaken?: boolean
}

/** The events of an accepted command, none when the state is reached already; or the refusal. */
export type Decision = readonly DealEvent[] | DealRefusal

/** The events of each use case that a command runs, in order. Use cases that change nothing are left out. */
export type Steps = readonly { readonly useCase: string; readonly events: readonly DealEvent[] }[]

/** The facts of a caller on which rights can depend. */
export interface CommandCaller extends AccountUser, UserIdentity {
  readonly rights: ReadonlySet<string>
}

/** A right of deals, as the auth server shows it. The deal server adds it to the catalogue when it starts. */
export interface DealRight {
  /** `deal.hold` */
  readonly name: string
  /** `Hold deals` */
  readonly description: string
  /** The description of its narrower form, `deal.hold:own`. */
  readonly own: string
}

/** The words of a use case for people who work with deals. */
export interface UseCaseWords {
  /** On its button: `Hold`. */
  readonly title: string
  /** After it: `The deal is on hold.` */
  readonly done: string
  /** Says of what, for a page of its own, where `title` does not: `Hold the deal`. */
  readonly pageTitle?: string
  /** Instead of `title` for a deal that is on hold. */
  readonly titleOnHold?: string
  /** The effect, for people who are about to do it. Most need no such words. */
  readonly hint?: string
}

interface CommandBase<Verb extends string> {
  /** The use-case name, which is also `action` and `{command_name}`: `HoldDeal`. */
  readonly name: string
  readonly summary: string
  readonly words: UseCaseWords
  /** The events that it makes. */
  readonly events: readonly KnownEvent[]
  /** Last path segment in the action style: `hold`. */
  readonly verb: Verb
  /** Last path segment in the state-named style: `holded`. */
  readonly stateName: string
  /** The parameter with the id of a new task. A PUT needs this parameter or a command id, to be repeatable. */
  readonly makes?: string
  /** True when it ends or removes something, for programs that ask people before they do that. */
  readonly isDestructive?: boolean
  /** The refusals by the deal's state or the facts, for the documentation. Values out of bounds are not listed. */
  readonly refusals: readonly DealRefusalCode[]
}

interface Definition<Schema extends z.ZodType, Verb extends string = string> extends CommandBase<Verb> {
  readonly right: DealRight
  readonly params: Schema
  /** More rights than `right`, which these parameters need. */
  additionalRights?(params: z.output<Schema>): readonly string[]
  /** User names in the parameters that must belong to enabled users. */
  assignableUsers?(params: z.output<Schema>): readonly string[]
}

interface DealCommandDefinition<Schema extends z.ZodType, Verb extends string = string>
  extends Definition<Schema, Verb> {
  /** Refuses by the deal's state alone. Runs before `decide`; the list `allowed` uses it too. */
  guard?(deal: Deal): DealRefusal | undefined
  /** Refuses when the deal is full. Runs after `decide`: a repetition that changes nothing needs no room. */
  limit?(deal: Deal): DealRefusal | undefined
  /** True when the command changes nothing now, with any parameters. The list `withoutEffect` uses it. */
  isWithoutEffect?(deal: Deal): boolean
  /** True when the deal is already in the target state: then nothing changes, and the guard does not run. */
  isDone?(deal: Deal, params: z.output<Schema>): boolean
  /** The events, for a deal that the guard accepts. */
  decide(deal: Deal, params: z.output<Schema>, context: DecisionContext): Decision
  /** Set when the attribute update can run the command: parameter → the attribute that gives its value. */
  readonly attributes?: { readonly [Parameter in keyof z.input<Schema>]?: string }
  /**
   * True when the deal counts as the user's own for this command; when left out, for the owner of the deal. Without
   * `params`: with any parameters.
   */
  isOwn?(deal: Deal, user: UserIdentity, params?: z.output<Schema>): boolean
  /** True for a command that needs no right for what is the user's own, with a credential that acts for its user. */
  readonly ownNeedsNoRight?: boolean
  /** True for the only command that accepts a deleted deal. */
  readonly onDeleted?: boolean
}

interface CreationDefinition<Schema extends z.ZodType, Verb extends string> extends Definition<Schema, Verb> {
  /** The id that the client chose; undefined when the server chooses it. */
  dealId(params: z.output<Schema>): string | undefined
  /** True when the new deal is the user's own. */
  isOwn(params: z.output<Schema>, user: UserIdentity): boolean
  decide(existing: Deal | undefined, params: z.output<Schema>, context: DecisionContext): Decision
}

/** A command with checked parameters, ready for the decision. */
export interface BoundCommand {
  readonly name: string
  /** `collection`: the command makes a deal; `deal`: it needs a deal. */
  readonly target: 'collection' | 'deal'
  /** See `Command`. */
  readonly makes: string | undefined
  /** The place of the parameters in the body, as a JSON pointer. */
  readonly at: string
  /**
   * The parameters as sent, normalised, before defaults and generated ids. The fingerprint covers them, and the command
   * resource shows them.
   */
  readonly params: Readonly<Record<string, unknown>>
  /** The id that the client chose for a new deal. */
  readonly chosenDealId: string | undefined
  readonly onDeleted: boolean
  /** The rights that the command needs in some width, whatever the deal is. */
  readonly rights: readonly string[]
  /**
   * The rights that the caller lacks for this deal, deleted or not; undefined: there is no such deal. `ran`: the use
   * cases of a stored outcome.
   */
  missingRights(deal: Deal | undefined, caller: CommandCaller, ran?: readonly string[]): readonly string[]
  assignableUsers(deal: Deal | undefined): readonly string[]
  /** True when the command would change nothing: then preconditions are not checked. */
  isFulfilledBy(deal: Deal): boolean
  decide(deal: Deal | undefined, context: DecisionContext): Steps | DealRefusal
}

/** A command as styles and documentation use it. */
export interface Command<Verb extends string = string, Schema extends z.ZodType = z.ZodType> extends CommandBase<Verb> {
  readonly target: 'collection' | 'deal'
  /** The name of the right that it needs. */
  readonly right: string
  readonly declaredRight: DealRight
  readonly params: Schema
  readonly onDeleted: boolean
  /** The refusal by the deal's state, for all parameters that would change something. */
  guard(deal: Deal): DealRefusal | undefined
  /** Set when the attribute update can run the command: parameter → attribute. */
  readonly attributes?: Readonly<Record<string, string | undefined>>
  /** True when the caller has the right for this deal, with any parameters. */
  mayRun(deal: Deal, caller: CommandCaller): boolean
  readonly ownNeedsNoRight?: boolean
  /** True when the command would change nothing, with any parameters. */
  isWithoutEffect?(deal: Deal): boolean
  /** Checks the parameters, which are at `at` in the body. @throws ProblemError `invalid-body`, `invalid-value` */
  bind(params: unknown, at: string): BoundCommand
}

type Params = Record<string, unknown>

const isOwner = (deal: Deal, user: UserIdentity): boolean => owns(user, deal)

/** Defines a command on an existing deal. */
export function defineDealCommand<Schema extends z.ZodType<Params>, const Verb extends string>(
  definition: DealCommandDefinition<Schema, Verb>,
): Command<Verb, Schema> {
  const { name, makes, assignableUsers, onDeleted = false, ownNeedsNoRight = false, isOwn = isOwner } = definition
  const right = definition.right.name
  const mayRun = (deal: Deal, caller: CommandCaller, params?: z.output<Schema>): boolean => {
    const width = widthOf(caller.rights, right)
    const mayOwn = width === 'own' || (ownNeedsNoRight && actsForItsUser(caller))
    return width === 'all' || (mayOwn && isOwn(deal, caller, params))
  }
  return {
    ...definition,
    right,
    declaredRight: definition.right,
    target: 'deal',
    onDeleted,
    mayRun,
    guard: (deal) => definition.guard?.(deal) ?? definition.limit?.(deal),
    bind: (value, at) => {
      const params = checkValue(definition.params, value, { at })
      const others = definition.additionalRights?.(params) ?? []
      return {
        name,
        makes,
        at,
        params,
        target: 'deal',
        onDeleted,
        chosenDealId: undefined,
        rights: ownNeedsNoRight ? [] : [right, ...others],
        assignableUsers: () => assignableUsers?.(params) ?? [],
        isFulfilledBy: () => false,
        missingRights: (deal, caller) => {
          if (deal)
            return [
              ...(mayRun(deal, caller, params) ? [] : [right]),
              ...others.filter((other) => !reaches(caller, other, deal)),
            ]
          const mayAsk = !ownNeedsNoRight || [right, readingRight].some((one) => widthOf(caller.rights, one))
          return mayAsk ? [] : [right]
        },
        decide: (deal, context) => {
          if (!deal) throw new TypeError(`${name} needs a deal`)
          return asSteps(name, guarded(definition, deal, { params, context }))
        },
      }
    },
  }
}

/** The decision with its guards. They run here, so that no definition forgets them or disagrees with `allowed`. */
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

/** Defines a command that makes a deal. */
export function defineCreation<Schema extends z.ZodType<Params>, const Verb extends string>(
  definition: CreationDefinition<Schema, Verb>,
): Command<Verb, Schema> {
  const { name, makes, assignableUsers, decide } = definition
  const right = definition.right.name
  return {
    ...definition,
    right,
    declaredRight: definition.right,
    target: 'collection',
    onDeleted: false,
    mayRun: () => false,
    guard: () => undefined,
    bind: (value, at) => {
      const params = checkValue(definition.params, value, { at })
      return {
        name,
        makes,
        at,
        params,
        target: 'collection',
        onDeleted: false,
        chosenDealId: definition.dealId(params),
        rights: [right, ...(definition.additionalRights?.(params) ?? [])],
        assignableUsers: () => assignableUsers?.(params) ?? [],
        isFulfilledBy: () => false,
        missingRights: (_, caller) =>
          definition.isOwn(params, caller) || widthOf(caller.rights, right) === 'all' ? [] : [right],
        decide: (existing, context) => asSteps(name, decide(existing, params, context)),
      }
    },
  }
}

function asSteps(useCase: string, decision: Decision): Steps | DealRefusal {
  if (isRefusal(decision)) return decision
  return decision.length === 0 ? [] : [{ useCase, events: decision }]
}
