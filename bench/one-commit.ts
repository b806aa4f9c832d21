/**
 * The commits of HoldDeal and UnholdDeal, as the handlers pass them to the repository, for any deal at any version; and
 * the statement that the repository sends for one commit.
 */
import type { DealCommit } from '../deal-server/commands/ports.ts'
import { createDealRepository, type DealStore } from '../deal-server/store/deals.ts'
import type { Database } from '../shared/platform/database/database.ts'
import { dealId } from './requests.ts'
import type { Servers } from './servers.ts'

/** The deal before a commit: its id, and its version, which is also its number of events. */
export interface DealBefore {
  readonly id: string
  readonly version: number
}

/** The recorded commits. */
export interface CommitTemplates {
  readonly hold: DealCommit
  readonly unhold: DealCommit
}

/** Holds and unholds an unchanged deal over HTTP, and records the commits. */
export async function recordCommits(
  { database, listenWithFixedCaller }: Servers,
  dealNumber: number,
): Promise<CommitTemplates> {
  const repository = createDealRepository(database)
  const recorded: DealCommit[] = []
  const recording: DealStore = {
    ...repository,
    commit: (commit) => {
      recorded.push(commit)
      return repository.commit(commit)
    },
  }
  const { port, close } = await listenWithFixedCaller(recording)
  for (const [verb, body] of Object.entries({ hold: { reason: 'The customer asked for time' }, unhold: {} })) {
    const url = `http://127.0.0.1:${port}/rest/v1/deals/${dealId(dealNumber)}/${verb}`
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${verb} was refused: ${await response.text()}`)
  }
  await close()
  const [hold, unhold] = recorded
  if (!hold || !unhold) throw new Error('HoldDeal and UnholdDeal did not commit.')
  return { hold, unhold }
}

/** The commit for another deal. A command is one version and, here, one event. So both counts are equal. */
export const commitFor = (template: DealCommit, { id, version }: DealBefore): DealCommit => ({
  ...template,
  before: template.before && { ...template.before, id, version, sequence: version },
  deal: { ...template.deal, id, version: version + 1, sequence: version + 1 },
  events: template.events.map((event) => ({ ...event, sequence: version + 1 })),
})

/** The statement that the repository sends for one commit, with its parameters. */
export async function statementOf(commit: DealCommit): Promise<{ text: string; parameters: readonly unknown[] }> {
  let sent: { text: string; parameters: readonly unknown[] } | undefined
  const listener = {
    query: async (text: string, parameters: readonly unknown[] = []) => {
      sent = { text, parameters }
      return [{ id: commit.deal.id }]
    },
  }
  await createDealRepository(listener as unknown as Database).commit(commit)
  if (!sent) throw new Error('The repository sent no statement.')
  return sent
}
