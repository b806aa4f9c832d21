import { describeEmptyDatabases } from '../../../support/stores/own-database.ts'
import { describeDatabase } from './database.conformance.ts'

describeEmptyDatabases('the port of databases', (open, { isEmbedded }) =>
  describeDatabase({ concurrentSessions: !isEmbedded, open }),
)
