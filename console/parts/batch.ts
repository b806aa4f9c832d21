/** Batches of commands, run in this process by the route of the API. */

import { type BatchOutcome, type RowOutcome, rowOutcome } from '../../deal-server/files/outcomes.ts'
import type { RowCommand } from '../../deal-server/files/rows.ts'
import { ndjson } from '../../shared/platform/http/content/json-items.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import { collectStream } from '../../shared/platform/http/stream.ts'
import { RefusedCall } from '../frame/api.ts'
import type { DealApi } from '../frame/deal-api.ts'

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
    body: linesOf(commands),
    query: { validateOnly: isDryRun || undefined },
    headers: { 'content-type': ndjson, accept: 'application/json', prefer: 'return=minimal' },
  })
  if (!reply.ok) throw new RefusedCall(reply)
  const outcomes: readonly BatchOutcome[] = reply.stream ? JSON.parse(await collectStream(reply.stream)) : []
  return outcomes.map(rowOutcome)
}

const linesOf = (commands: readonly RowCommand[]) => commands.map((command) => JSON.stringify(command)).join('\n')

/** The commands as lines, for the script that sends them to the route of batches by itself (`bulk.js`). */
export const commandsResponse = (commands: readonly RowCommand[]): HttpResponse => ({
  status: 200,
  headers: { 'content-type': ndjson, 'cache-control': 'no-store' },
  body: linesOf(commands),
})
