import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { createHousekeeping, type Housekeeping } from '../../shared/platform/database/housekeeping.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import {
  createDigestCountExpiry,
  createUsedSignatureExpiry,
} from '../../shared/protocol/authentication/credential-expiry.ts'
import { createApiKeyExpiry } from '../api-keys/key-use.ts'
import { cutAuditLog } from '../audit/partitions.ts'
import { createLoginExpiry, createPasswordResetExpiry, createSessionExpiry } from '../logins/housekeeping.ts'
import { createRevokedTokenExpiry } from '../oauth/revoke-token.ts'
import { digestCounts, usedSignatures } from '../store/schema.ts'

/** Creates the jobs that delete expired rows of the auth server, and the chore that ends months of the audit log. */
export const createAuthHousekeeping = (ports: {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
}): Housekeeping =>
  createHousekeeping({
    ...ports,
    name: 'auth',
    jobs: [
      createLoginExpiry(ports.clock),
      createSessionExpiry(ports.clock),
      createPasswordResetExpiry(),
      createApiKeyExpiry(ports.clock),
      createRevokedTokenExpiry(ports.clock),
      createUsedSignatureExpiry(usedSignatures),
      createDigestCountExpiry(digestCounts),
    ],
    chores: [cutAuditLog],
  })
