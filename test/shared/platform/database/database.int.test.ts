import { openPostgres } from '../../../../shared/platform/postgres/postgres.ts'
import { openTestEngine } from '../../../support/processes/stores/embedded-engine.ts'
import { createScratchDatabase } from '../../../support/stores/scratch-database.ts'
import { describeDatabase } from './database.conformance.ts'

describeDatabase('the embedded engine', {
  concurrentSessions: false,
  start: async () => {
    const engine = await openTestEngine()
    return { open: () => engine.database(), dispose: () => engine.close() }
  },
})

const serverUrl = process.env.TEST_DATABASE_URL
if (serverUrl !== undefined) {
  describeDatabase('a PostgreSQL server', {
    concurrentSessions: true,
    start: async () => {
      const scratch = await createScratchDatabase(serverUrl)
      return { open: () => openPostgres(scratch.url), dispose: scratch.drop }
    },
  })
}
