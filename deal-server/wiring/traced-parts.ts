/** The steps of a request to the deal server that are spans of its trace, where traces are sent. */
import type { Step, Tracing } from '../../shared/platform/tracing/tracing.ts'
import type { ExecuteCommand } from '../commands/execute.ts'
import type { DealRepository } from '../commands/ports.ts'
import type { Invocation, StyleRoute } from '../http/requests/invocation.ts'

/** Loads and commits as spans. */
export const traceRepository = <Repository extends DealRepository>(step: Step, repository: Repository): Repository => ({
  ...repository,
  load: step('load', repository.load),
  commit: step('commit', repository.commit),
  keepCommand: step('commit', repository.keepCommand),
})

/** The execution of commands as spans, which name the use case. */
export const traceCommands = (step: Step, execute: ExecuteCommand): ExecuteCommand =>
  step('execute', execute, ({ bound, validateOnly }) => ({
    'command.use_case': bound.name,
    'command.validate_only': validateOnly,
  }))

/** Makes `decode` and `encode` of a route spans; undefined where no traces are sent. */
export const traceRoutes = (tracing: Pick<Tracing, 'step'> | undefined) =>
  tracing && ((route: StyleRoute): StyleRoute => tracedRoute(tracing.step, route))

function tracedRoute(step: Step, route: StyleRoute): StyleRoute {
  const decode = step('decode', async (request: Parameters<StyleRoute['decode']>[0]) => route.decode(request))
  return { ...route, decode: async (request) => withEncode(step, await decode(request)) }
}

const withEncode = (step: Step, invocation: Invocation): Invocation =>
  invocation.kind === 'command'
    ? { ...invocation, encode: step('encode', (shown) => invocation.encode(shown)) }
    : invocation
