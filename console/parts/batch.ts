/** Batches of commands, run in this process by the route of the API. */

import { type BatchOutcome, type RowOutcome, rowOutcome } from '../../deal-server/files/outcomes.ts'
import type { RowCommand } from '../../deal-server/files/rows.ts'
import { ndjson } from '../../shared/platform/http/content/json-items.ts'
import { collectStream } from '../../shared/platform/http/stream.ts'
import { RefusedCall } from '../frame/api.ts'
import type { DealApi } from '../frame/deal-api.ts'
import { fieldFaults, refusals } from '../texts/deal.ts'

/** Commands of one batch: the route takes no more. */
const maxCommands = 1000

/**
 * Runs commands by the route of batches; the outcomes are in their order. With `isDryRun`, nothing is stored.
 * @throws RefusedCall
 */
export async function runBatch(api: DealApi, commands: readonly RowCommand[], isDryRun = false): Promise<RowOutcome[]> {
  if (commands.length === 0) return []
  if (commands.length > maxCommands) throw new RangeError(`A batch has at most ${maxCommands} commands`)
  const reply = await api.call('POST /commands', {
    body: commands.map((command) => JSON.stringify(command)).join('\n'),
    query: { validateOnly: isDryRun || undefined },
    headers: { 'content-type': ndjson, accept: 'application/json', prefer: 'return=minimal' },
  })
  if (!reply.ok) throw new RefusedCall(reply)
  const outcomes: readonly BatchOutcome[] = reply.stream ? JSON.parse(await collectStream(reply.stream)) : []
  return outcomes.map((outcome) => rowOutcome(inWords(outcome)))
}

/** The outcome with the reasons of a refusal in words for people. */
function inWords(outcome: BatchOutcome): BatchOutcome {
  const { problem } = outcome
  if (problem === undefined) return outcome
  const { code, detail, errors = [] } = problem
  const members = errors.map((error) => ({ ...error, message: fieldFaults[error.code] ?? error.message }))
  return { ...outcome, problem: { code, detail: refusals[code] ?? detail, errors: members } }
}
