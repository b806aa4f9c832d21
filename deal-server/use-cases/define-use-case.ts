/**
 * The shape of a use case. Each is defined once, in a file of its own; all styles, the documentation and every check read that one
 * definition. A use case knows the domain and nothing of HTTP, SQL or the cache.
 */
import type { z } from 'zod'
import { checkValue } from '../../shared/http/check-value.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'
import type { DealRefusal } from '../domain/refusal.ts'

/** What the decision may know besides deal and parameters: all of it handed in, so that the decision stays pure. */
export interface DecisionContext {
  /** RFC 3339. */
  readonly now: string
  /** The caller's user name. */
  readonly actor: string
  /** For ids that the client left to the server. */
  readonly newId: () => string
  readonly defaultCurrency: string
  /** Folded user name → the name as created, for every name the parameters mention that is an enabled user's. */
  readonly employees: ReadonlyMap<string, string>
}

/** The events of an accepted command (none: it is the state already), or why it is refused. */
export type Decision = readonly DealEvent[] | DealRefusal

interface CommandBase {
  /** The use-case name, which is also `action` and `{command_name}`: `HoldDeal`. */
  readonly name: string
  readonly summary: string
  readonly right: string
  /** Last path segment in the action style: `hold`. */
  readonly verb: string
  /** Last path segment in the state-named style: `holded`. */
  readonly stateName: string
}

interface DealCommandDefinition<Schema extends z.ZodType> extends CommandBase {
  readonly params: Schema
  /** Refuses by the deal's state alone, whatever the parameters: what `allowed` lists is read from it. */
  guard(deal: Deal): DealRefusal | undefined
  decide(deal: Deal, params: z.output<Schema>, context: DecisionContext): Decision
  /** User names in the parameters that must be those of enabled users. */
  employees?(params: z.output<Schema>): readonly string[]
}

interface CreationDefinition<Schema extends z.ZodType> extends CommandBase {
  readonly params: Schema
  /** The id that the client chose, if it did. */
  dealId(params: z.output<Schema>): string | undefined
  decide(existing: Deal | undefined, params: z.output<Schema>, context: DecisionContext & { dealId: string }): Decision
  employees?(params: z.output<Schema>): readonly string[]
}

/** A command with its parameters: checked, and ready to be decided. */
export interface BoundCommand {
  readonly command: Command
  /** Where in the body the parameters stand, as a pointer. */
  readonly at: string
  /** As sent, normalised, before defaults and generated ids: what the fingerprint covers and the command resource shows. */
  readonly params: Readonly<Record<string, unknown>>
  /** For a creation, the id that the client chose. */
  readonly chosenDealId: string | undefined
  readonly employees: readonly string[]
  decide(deal: Deal | undefined, context: DecisionContext & { dealId: string }): Decision
}

export interface Command extends CommandBase {
  readonly kind: 'command'
  /** `collection`: it makes a deal; `deal`: it needs one. */
  readonly target: 'collection' | 'deal'
  readonly params: z.ZodType
  readonly guard: ((deal: Deal) => DealRefusal | undefined) | undefined
  /** Checks parameters that stand at `at` in the body. @throws Refused `invalid-body`, `invalid-value` */
  bind(params: unknown, at: string): BoundCommand
}

/** A command on an existing deal. */
export function defineDealCommand<Schema extends z.ZodType<Record<string, unknown>>>(
  definition: DealCommandDefinition<Schema>,
): Command {
  const { params: schema, decide, employees, ...base } = definition
  const command: Command = {
    ...base,
    kind: 'command',
    target: 'deal',
    params: schema,
    bind: (value, at) => {
      const params = checkValue(schema, value, { at })
      return {
        command,
        at,
        params,
        chosenDealId: undefined,
        employees: employees?.(params) ?? [],
        decide: (deal, context) => {
          if (!deal) throw new TypeError(`${base.name} needs a deal`)
          return decide(deal, params, context)
        },
      }
    },
  }
  return command
}

/** The command that makes a deal. */
export function defineCreation<Schema extends z.ZodType<Record<string, unknown>>>(
  definition: CreationDefinition<Schema>,
): Command {
  const { params: schema, decide, dealId, employees, ...base } = definition
  const command: Command = {
    ...base,
    kind: 'command',
    target: 'collection',
    params: schema,
    guard: undefined,
    bind: (value, at) => {
      const params = checkValue(schema, value, { at })
      return {
        command,
        at,
        params,
        chosenDealId: dealId(params),
        employees: employees?.(params) ?? [],
        decide: (existing, context) => decide(existing, params, context),
      }
    },
  }
  return command
}
