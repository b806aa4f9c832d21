import type { Clock } from '../../shared/platform/clock.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { tokensAliveSince } from '../principals/principal-record.ts'
import { deviceRequests, endedClients } from '../store/client-tables.ts'

/** Delete what nobody needs of clients: the ids of deleted ones whose tokens have expired, and requests of devices. */
export const clientExpiries = (clock: Clock): HousekeepingJob[] => [
  expiryJob({
    name: 'deleted clients',
    table: endedClients,
    expiresAt: endedClients.expiresAt,
    expiredBy: () => tokensAliveSince(clock.now()),
  }),
  expiryJob({
    name: 'requests of devices',
    table: deviceRequests,
    expiresAt: deviceRequests.expiresAt,
    expiredBy: () => tokensAliveSince(clock.now()),
  }),
]
