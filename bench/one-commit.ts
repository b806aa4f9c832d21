/** The commit of HoldDeal and UnholdDeal as the repository's callers hand it over, and the statement that the repository makes of it. */
import type { Deal } from '../deal-server/domain/deal.ts'
import type { CommandContext, DealCommit, EventRecord } from '../deal-server/domain/repository.ts'
import { createDealRepository } from '../deal-server/store/deals.ts'
import type { Database } from '../shared/database/database.ts'

const at = new Date(0).toISOString()
const anyUuid = '00000000-0000-7000-8000-ffffffffffff'

/** The commit that holds `deal`, or releases it when it is held, and the deal after that. */
export function nextCommit(deal: Deal): DealCommit {
  const held = !deal.held
  const state = held
    ? { holdReason: 'The customer asked for time', heldAt: at, heldBy: 'bench' }
    : { holdReason: null, heldAt: null, heldBy: null }
  const { version, sequence } = deal
  const event: EventRecord = {
    id: anyUuid,
    sequence: sequence + 1,
    event: held
      ? { type: 'deal.held', data: { reason: 'The customer asked for time', code: null } }
      : { type: 'deal.unheld', data: { heldForSeconds: 0 } },
  }
  const context: CommandContext = {
    key: undefined,
    actor: 'bench',
    useCase: held ? 'HoldDeal' : 'UnholdDeal',
    style: 'action-sub-resource',
    requestId: anyUuid,
    at,
  }
  return {
    expectedVersion: version,
    deal: { ...deal, ...state, held, version: version + 1, sequence: sequence + 1, updatedAt: at },
    events: [event],
    context,
    command: undefined,
  }
}

/** The statement and its parameters that the repository sends for one commit. */
export async function statementOf(commit: DealCommit): Promise<{ text: string; parameters: readonly unknown[] }> {
  let sent: { text: string; parameters: readonly unknown[] } | undefined
  const listener = {
    query: async (text: string, parameters: readonly unknown[] = []) => {
      sent = { text, parameters }
      return [{ id: commit.deal.id }]
    },
  }
  await createDealRepository(listener as unknown as Database).commit(commit)
  if (!sent) throw new Error('the repository has sent no statement')
  return sent
}
