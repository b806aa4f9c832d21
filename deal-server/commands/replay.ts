import { Refused } from '../../shared/platform/problems/errors.ts'
import { shortestDecimal } from '../domain/money.ts'
import type { AnsweredCommand, CommandInvocation } from '../http/requests/invocation.ts'
import { mapAmounts } from './amount-parameters.ts'
import type { Undertaking } from './command-steps.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { CommandRecord } from './ports.ts'

/** What the command id of this invocation stands for. The id of a new deal may stand in the path or among the parameters. */
export const contentOf = ({ bound, dealId }: CommandInvocation) => {
  const { id: _dealId, ...params } = bound.params
  return fingerprintOf({
    useCase: bound.name,
    dealId: dealId ?? null,
    params: mapAmounts(params, shortestDecimal),
  })
}

/**
 * The stored outcome of a command that was sent before, whatever has become of the deal since.
 * @throws Refused the stored refusal; `command-id-reused`; `command-expired`
 */
export function replay(command: CommandRecord, { invocation }: Undertaking): AnsweredCommand {
  const { outcome } = command
  if (command.fingerprint !== contentOf(invocation)) {
    throw new Refused('command-id-reused', 'This command id was used for another command. Choose a new one.', {
      members: { commandId: command.key.commandId, dealId: command.dealId, useCase: command.useCase },
    })
  }
  if (outcome === undefined) {
    throw new Refused('command-expired', 'This command was carried out; its answer is no longer kept.', {
      members: { commandId: command.key.commandId, dealId: command.dealId },
    })
  }
  if (outcome.state === 'refused') {
    throw new Refused(outcome.code, outcome.detail, { members: outcome.members, headers: replayedHeader })
  }
  return { outcome, replayed: true, record: command }
}

/** Says that the command has not run now (draft-ietf-httpapi-idempotency-key-header leaves the name open; Stripe's is used). */
export const replayedHeader = { 'idempotent-replayed': 'true' } as const
