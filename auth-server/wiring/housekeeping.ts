import { createHousekeeping, type Housekeeping } from '../../shared/platform/database/housekeeping.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import {
  createDigestCountExpiry,
  createUsedSignatureExpiry,
} from '../../shared/protocol/authentication/credential-expiry.ts'
import { createApiKeyExpiry } from '../api-keys/key-use.ts'
import { cutAuditLog } from '../audit/partitions.ts'
import { clientExpiries } from '../clients/expiry.ts'
import { createLoginExpiry } from '../logins/refresh-token-families.ts'
import { createSessionExpiry } from '../logins/session-store.ts'
import { createRevokedTokenExpiry } from '../oauth/revoke-token.ts'
import { digestCounts, usedSignatures } from '../store/schema.ts'
import { createPasswordResetExpiry } from '../users/password-resets.ts'

/** Creates the jobs that delete expired rows of the auth server, and the chore that ends months of the audit log. */
export const createAuthHousekeeping = ({ database, clock, log }: Systems): Housekeeping =>
  createHousekeeping({
    database,
    clock,
    log,
    name: 'auth',
    jobs: [
      createLoginExpiry(clock),
      createSessionExpiry(clock),
      createPasswordResetExpiry(),
      createApiKeyExpiry(clock),
      createRevokedTokenExpiry(clock),
      ...clientExpiries(clock),
      createUsedSignatureExpiry(usedSignatures),
      createDigestCountExpiry(digestCounts),
    ],
    chores: [cutAuditLog],
  })
