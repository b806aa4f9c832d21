import { drizzle } from 'drizzle-orm/pg-proxy'
import { createDealRepository, type DealStore } from '../../../deal-server/store/deals.ts'
import type { Database } from '../../../shared/platform/database/database.ts'

/** One read of a list. */
export type ReadList = (repository: DealStore) => Promise<unknown>

/** The statement and its parameters that the repository sends for a list. */
export async function recordStatement(read: ReadList): Promise<{ text: string; parameters: string[] }> {
  let sent: { text: string; parameters: string[] } | undefined
  const recording = drizzle(async (text, parameters) => {
    sent = { text, parameters }
    return { rows: [] }
  })
  const query = async (text: string, parameters: readonly unknown[]) => {
    sent = { text, parameters: parameters.map(String) }
    return []
  }
  await read(createDealRepository({ drizzle: recording, query } as unknown as Database))
  if (!sent) throw new Error('the repository has sent no statement')
  return sent
}
