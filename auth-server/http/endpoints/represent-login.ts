import { rfc3339 } from '../../../shared/platform/clock.ts'
import type { LoginView } from '../../logins/list-logins.ts'

/** A login as clients read it; `currentId` is that of the credential that asks. */
export const representLogin =
  (currentId: string | undefined) =>
  ({ id, kind, createdAt, lastUsedAt, expiresAt, address, userAgent }: LoginView) => ({
    id,
    kind,
    createdAt: rfc3339(createdAt),
    lastUsedAt: rfc3339(lastUsedAt),
    expiresAt: rfc3339(expiresAt),
    address,
    userAgent,
    current: id === currentId,
  })
