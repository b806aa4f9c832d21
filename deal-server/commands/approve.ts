/** The approval of a proposal: its command runs in the name of the caller, with the caller's rights. */
import type { Proposal } from '../domain/proposals.ts'
import type { BoundCommand } from '../use-cases/define-use-case.ts'
import { commands } from '../use-cases/index.ts'
import { attributeUpdate, bindAttributeUpdate } from '../use-cases/update-deal/update-deal.ts'
import type { CommandRequest, ShownCommand } from './command-context.ts'
import type { ExecuteCommand } from './execute.ts'

/** An approval as its caller sent it. */
export type Approval = Omit<CommandRequest, 'bound' | 'dealId' | 'commandId' | 'style' | 'approves'>

/** The style of what decisions on proposals write. */
export const decisionStyle = 'proposal'

/**
 * Runs the command under its own key: so it runs once, whoever else approves or rejects it.
 * @throws ProblemError as every command: the proposal then stays open; `proposal-rejected`. Unavailable
 */
export async function approveProposal(
  executeCommand: ExecuteCommand,
  proposal: Proposal,
  approval: Approval,
): Promise<ShownCommand> {
  const command = await executeCommand({
    ...approval,
    bound: boundAgain(proposal),
    dealId: proposal.dealId ?? undefined,
    commandId: proposal.commandId,
    style: decisionStyle,
    approves: proposal,
  })
  if ('proposal' in command) throw new TypeError('what a person approves is not proposed again')
  return command
}

/** The command of a proposal. @throws ProblemError for parameters that this release refuses */
export function boundAgain({ useCase, params, dealId }: Proposal): BoundCommand {
  const command = commands.find(({ name }) => name === useCase)
  if (command) return command.bind(params, '')
  if (dealId === null || useCase !== attributeUpdate) throw new TypeError(`There is no use case ${useCase}.`)
  return bindAttributeUpdate(params, { dealId, whole: false }).bound
}
