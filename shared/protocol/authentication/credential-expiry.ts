/** Removes records of single-use credentials, once the credentials are expired for every server's clock. */
import { expiryJob } from '../../platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../platform/database/housekeeping.ts'
import type { digestCountsTable, usedSignaturesTable } from './credential-tables.ts'

/** Removes expired signatures of signed requests. */
export const createUsedSignatureExpiry = (table: ReturnType<typeof usedSignaturesTable>): HousekeepingJob =>
  expiryJob({ name: 'used signatures', table, expiresAt: table.expiresAt })

/** Removes the counts of expired Digest nonces. */
export const createDigestCountExpiry = (table: ReturnType<typeof digestCountsTable>): HousekeepingJob =>
  expiryJob({ name: 'expired Digest nonces', table, expiresAt: table.expiresAt })
