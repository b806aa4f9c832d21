/**
 * The principal records of a deal server, with the rights that the catalogue gives at this moment. Records and the
 * catalogue are followed separately: a change of a role is one record, however many users have the role.
 */
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Traced } from '../../../shared/platform/trace-context.ts'
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import { type Catalogue, catalogueName, parseCatalogue } from '../../../shared/protocol/principal/catalogue.ts'
import {
  foldUsername,
  type PrincipalRecord,
  parseStoredPrincipal,
  type StoredPrincipal,
} from '../../../shared/protocol/principal/record.ts'
import { rememberRights } from '../../../shared/protocol/principal/with-rights.ts'
import type { AuthClient } from '../auth-client/auth-client.ts'
import type { ServiceSystems } from '../auth-client/service-systems.ts'
import { FollowedRecords } from './followed-records.ts'
import type { PrincipalFeed } from './principal-feed.ts'

/** Who is asked for records that are not known. */
interface RecordSystems extends Pick<ServiceSystems, 'cache' | 'clock'> {
  readonly authClient: Pick<AuthClient, 'principal' | 'catalogue'>
}

/** The records of one deal server. */
export function createPrincipalRecords(
  systems: RecordSystems,
  feed: PrincipalFeed,
  recordMaxAgeMs: number,
): Principals {
  const { authClient } = systems
  const followed = { ...systems, feed, recordMaxAgeMs }
  const records = new FollowedRecords({ ...followed, parse: parseStoredPrincipal, ask: authClient.principal })
  const ask = (_name: string, traceContext: Traced | undefined) => authClient.catalogue(traceContext)
  const catalogues = new FollowedRecords({ ...followed, parse: parseCatalogue, ask })
  const withRights = rememberRights()

  const combine = (stored: StoredPrincipal | undefined, catalogue: Catalogue | undefined) => {
    if (!stored) return undefined
    if (!catalogue) throw new Unavailable('auth-server', { cause: new Error('there is no catalogue of rights') })
    return withRights(stored, catalogue)
  }
  const combineAwaited = async (
    stored: Promise<StoredPrincipal | undefined> | StoredPrincipal | undefined,
    catalogue: Promise<Catalogue | undefined> | Catalogue | undefined,
  ): Promise<PrincipalRecord | undefined> => combine(...(await Promise.all([stored, catalogue])))

  return {
    get: (username, traceContext) => {
      const stored = records.get(foldUsername(username), traceContext)
      const catalogue = catalogues.get(catalogueName, traceContext)
      const isAwaited = stored instanceof Promise || catalogue instanceof Promise
      return isAwaited ? combineAwaited(stored, catalogue) : combine(stored, catalogue)
    },
    onOtherInstance: (listener) => feed.onOtherInstance(listener),
  }
}
