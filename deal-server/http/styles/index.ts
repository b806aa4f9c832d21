/** All styles for all commands. Each style has every command exactly once, and no two commands share a path. */

import type { Command } from '../../use-cases/define-use-case.ts'
import { type ToolOptions, toolRoute } from '../mcp/route.ts'
import type { StyleRoute } from '../requests/invocation.ts'
import { actionSubResourceRoutes } from './action-sub-resource.ts'
import { dealUpdateRoutes } from './attribute-update.ts'
import { type BatchOptions, commandBatchRoutes } from './command-batches.ts'
import { commandCollectionRoutes } from './command-collections.ts'
import type { CommandReadOptions } from './command-reads.ts'
import { controllerRoutes } from './controllers.ts'
import { liveEventRoutes } from './live-events.ts'
import { type ProposalOptions, proposalRoutes } from './proposals.ts'
import { resourceRoutes } from './resource.ts'
import { stateNamedSubResourceRoutes } from './state-named-sub-resource.ts'

interface StyleOptions extends CommandReadOptions, BatchOptions, ToolOptions, ProposalOptions {
  /** The setting REQUIRE_PRECONDITION. */
  readonly requirePrecondition: boolean
}

/** Path segments below a deal that do not name a command. */
const reservedSegments = ['commands', 'tasks', 'events', 'history', 'allowed']

/** All routes of use cases. @throws TypeError when two commands share a name, a segment or a route */
export function styleRoutes(commands: readonly Command[], options: StyleOptions): readonly StyleRoute[] {
  requireDistinct(
    'name',
    commands.map(({ name }) => name),
  )
  requireDistinct('segment', [...reservedSegments, ...commands.flatMap(({ verb, stateName }) => [verb, stateName])])
  const plain = [
    ...resourceRoutes(options.lists),
    ...liveEventRoutes,
    ...actionSubResourceRoutes(commands),
    ...stateNamedSubResourceRoutes(commands),
    ...dealUpdateRoutes(options),
    ...commandCollectionRoutes(options),
    ...commandBatchRoutes(options),
    ...controllerRoutes(options.lists),
    ...proposalRoutes(options),
  ]
  const routes = [...plain, toolRoute(commands, plain, options)]
  requireDistinct(
    'route',
    routes.flatMap(({ methods, path }) => methods.map((method) => `${method} ${path}`)),
  )
  return routes
}

function requireDistinct(what: string, values: readonly string[]): void {
  const twice = values.find((value, index) => values.indexOf(value) !== index)
  if (twice !== undefined) throw new TypeError(`two use cases share the ${what} ${twice}`)
}
