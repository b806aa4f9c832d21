/** Sends the rows of one batch, and those again whose outcome is not final. */

import { type BatchOutcome, dealOf, type RowOutcome, rowOutcome } from '../../deal-server/files/outcomes.ts'
import type { RowCommand } from '../../deal-server/files/rows.ts'
import { OperationFailed } from '../../shared/platform/terminal/report.ts'
import { backOff, type DealServer, fetchPatiently, type Patience } from './deal-server.ts'

/** The credential ended while the batch ran: the next request has another one, or is refused as a whole. */
const endedCredential = ['token-expired', 'invalid-token', 'login-ended', 'principal-disabled', 'invalid-session']

const isPassing = ({ status, problem }: BatchOutcome): boolean =>
  status === 503 || problem?.code === 'command-in-progress' || endedCredential.includes(problem?.code ?? '')

/** Rows that may be sent again in a row without any that ends. */
const maxFruitless = 8

/** Sends commands; the outcomes are in their order. @throws the refusal of the whole, or when the server stays away */
export async function sendBatch(
  server: DealServer,
  commands: readonly RowCommand[],
  patience: Patience,
): Promise<RowOutcome[]> {
  const ended = new Map<RowCommand, RowOutcome>()
  let [rest, fruitless] = [commands, 0]
  while (rest.length > 0) {
    const outcomes = outcomesIn(await post(server, rest, patience))
    const again = openOf(rest, outcomes)
    rest.forEach((command, index) => {
      const outcome = outcomes.get(index + 1)
      if (outcome && !again.has(command)) ended.set(command, rowOutcome(outcome))
    })
    fruitless = again.size < rest.length ? 0 : fruitless + 1
    const problem = [...outcomes.values()].find(isPassing)?.problem
    if (fruitless > maxFruitless)
      throw new OperationFailed(`the server does not carry the rows out: ${problem?.detail ?? ''}`)
    if (again.size > 0) await backOff(fruitless + 1, patience, longest(outcomes))
    rest = rest.filter((command) => again.has(command))
  }
  return commands.map((command) => ended.get(command) ?? notThere)
}

const notThere: RowOutcome = { is: 'refused', status: 0, code: 'no-outcome', reason: 'The server told no outcome.' }

function post(server: DealServer, commands: readonly RowCommand[], patience: Patience): Promise<string> {
  const body = commands.map((command) => JSON.stringify(command)).join('\n')
  const headers = { 'content-type': 'application/x-ndjson', accept: 'application/x-ndjson', prefer: 'return=minimal' }
  return fetchPatiently(server, { path: '/commands', init: { method: 'POST', headers, body } }, patience)
}

const outcomesIn = (text: string): Map<number, BatchOutcome> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as BatchOutcome)
      .map((outcome) => [outcome.line, outcome]),
  )

/**
 * The commands to send again: without a final outcome, or after such a one on the same deal, because it may have been
 * refused for what is not done yet. What was done is replayed.
 */
function openOf(commands: readonly RowCommand[], outcomes: ReadonlyMap<number, BatchOutcome>): Set<RowCommand> {
  const deals = new Set<string>()
  return new Set(
    commands.filter((command, index) => {
      const outcome = outcomes.get(index + 1)
      const deal = dealOf(command)
      const isOpen = !outcome || isPassing(outcome)
      if (isOpen && deal !== undefined) deals.add(deal)
      return isOpen || (deal !== undefined && deals.has(deal))
    }),
  )
}

const longest = (outcomes: ReadonlyMap<number, BatchOutcome>): number =>
  Math.max(0, ...[...outcomes.values()].map(({ retryAfter = 0 }) => retryAfter))
