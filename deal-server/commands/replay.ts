import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Proposal } from '../domain/proposals.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { CommandRecord, RefusedCommand } from './ports.ts'

/** A stored refusal: the command did not run now. */
export class ReplayedRefusal extends ProblemError {
  constructor({ code, detail, members }: Pick<RefusedCommand, 'code' | 'detail' | 'members'>) {
    super(code, detail, { members })
  }
}

/**
 * The stored outcome of a command that was sent before. Later changes of the deal do not matter.
 * @throws ReplayedRefusal when it was refused; ProblemError `command-id-reused`, `command-expired`
 */
export function replay(command: CommandRecord, { request }: CommandContext): CommandResult {
  const { outcome } = command
  if (command.fingerprint !== fingerprintOf(request)) throw commandIdReused({ ...command, ...command.key })
  if (outcome === undefined) {
    throw new ProblemError('command-expired', 'This command was carried out; its answer is no longer kept.', {
      members: { commandId: command.key.commandId, dealId: command.dealId },
    })
  }
  if (outcome.state === 'refused') throw new ReplayedRefusal(outcome)
  return { outcome, replayed: true, record: command }
}

/** The refusal of a command id that stands for another command. */
export const commandIdReused = ({ commandId, dealId, useCase }: Pick<Proposal, 'commandId' | 'dealId' | 'useCase'>) =>
  new ProblemError('command-id-reused', 'This command id was used for another command. Choose a new one.', {
    members: { commandId, dealId, useCase },
  })
