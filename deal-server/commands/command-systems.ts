import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import type { CommandRequest, ProposedCommand, ShownCommand } from './command-context.ts'
import type { DealRepository } from './ports.ts'

/** What commands are executed with. */
export interface CommandSystems extends Systems {
  readonly repository: DealRepository
  readonly principals: Principals
  readonly defaultCurrency: string
  /** Called with the outcome of each command, as its caller sees it. */
  readonly observeCommand: (
    request: CommandRequest,
    settled: { command: ShownCommand | ProposedCommand } | { error: unknown },
  ) => void
}
