import { describeEmptyDatabases } from '../../../support/stores/empty-databases.ts'
import { describeDatabase } from './database.conformance.ts'

describeEmptyDatabases('the port of databases', (start, { isEmbedded }) =>
  describeDatabase({ concurrentSessions: !isEmbedded, start }),
)
