import { describe } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { ranEmbedded } from '../campaign.ts'
import { openTestEngine } from '../processes/stores/embedded-engine.ts'
import { createScratchDatabase } from './scratch-database.ts'

/** A database without tables, of a test's own. */
export interface EmptyDatabase {
  /** The database as one more server opens it. */
  open(): Database
  dispose(): Promise<void>
}

async function startEmbedded(): Promise<EmptyDatabase> {
  const engine = await openTestEngine()
  return { open: () => engine.database(), dispose: () => engine.close() }
}

async function startScratch(serverUrl: string): Promise<EmptyDatabase> {
  const scratch = await createScratchDatabase(serverUrl)
  return { open: () => openPostgres(scratch.url), dispose: scratch.drop }
}

/** Runs a suite over the embedded engine and, when TEST_DATABASE_URL is set, over PostgreSQL. */
export function describeEmptyDatabases(
  name: string,
  suite: (start: () => Promise<EmptyDatabase>, on: { readonly isEmbedded: boolean }) => void,
): void {
  const { TEST_DATABASE_URL: serverUrl } = process.env
  describe.skipIf(ranEmbedded)(`${name} (embedded engine)`, () => suite(startEmbedded, { isEmbedded: true }))
  if (serverUrl === undefined) return
  describe(`${name} (PostgreSQL)`, () => suite(() => startScratch(serverUrl), { isEmbedded: false }))
}
