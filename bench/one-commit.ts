/**
 * The commits of HoldDeal and UnholdDeal as the handlers hand them to the repository, for any deal at any version, and the statement
 * that the repository makes of one.
 */
import type { DealCommit } from '../deal-server/commands/ports.ts'
import { createDealRepository, type DealStore } from '../deal-server/store/deals.ts'
import type { Database } from '../shared/platform/database/database.ts'
import { dealId } from './requests.ts'
import type { Servers } from './servers.ts'

/** Where a commit finds its deal: the id, and the version and number of events that the deal has before. */
export interface DealBefore {
  readonly id: string
  readonly version: number
}

export interface CommitTemplates {
  readonly hold: DealCommit
  readonly unhold: DealCommit
}

/** Has a deal, which nobody has changed, held and released over HTTP, and keeps what is committed. */
export async function recordCommits({ database, listenOpenly }: Servers, dealNumber: number): Promise<CommitTemplates> {
  const repository = createDealRepository(database)
  const recorded: DealCommit[] = []
  const recording: DealStore = {
    ...repository,
    commit: (commit) => {
      recorded.push(commit)
      return repository.commit(commit)
    },
  }
  const { port, close } = await listenOpenly(recording)
  for (const [verb, body] of Object.entries({ hold: { reason: 'The customer asked for time' }, unhold: {} })) {
    const url = `http://127.0.0.1:${port}/rest/v1/deals/${dealId(dealNumber)}/${verb}`
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${verb} was refused: ${await response.text()}`)
  }
  await close()
  const [hold, unhold] = recorded
  if (!hold || !unhold) throw new Error('HoldDeal and UnholdDeal have not committed')
  return { hold, unhold }
}

/** The commit for another deal. One command is one version and, here, one event, so both count alike from a deal's creation on. */
export const commitFor = (template: DealCommit, { id, version }: DealBefore): DealCommit => ({
  ...template,
  expectedVersion: version,
  deal: { ...template.deal, id, version: version + 1, sequence: version + 1 },
  events: template.events.map((event) => ({ ...event, sequence: version + 1 })),
})

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
