/** How a service proves itself: by its secret, by a signature under it (`http/internal`), or by a token. */

import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { gatherRows } from '../../shared/platform/database/gather-statements.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { isId } from '../../shared/platform/ids.ts'
import { resourceServers, services } from '../store/access-tables.ts'
import { type AcceptedSecrets, matchingSecret, openSecrets, type SealedSecrets } from '../store/overlapping-secrets.ts'
import type { AssociatedData } from '../store/sealing.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'

/** A service as the database has it now. */
export interface KnownService {
  readonly id: string
  readonly name: string
  readonly resourceServer: { readonly id: string; readonly audience: string }
  readonly secrets: AcceptedSecrets
}

/** A service that has proved itself. */
export interface ProvenService {
  readonly service: KnownService
  /** The secret that proved it, or that its token was made with. */
  readonly secret: string
  /** When the proof ends at the latest, in milliseconds; null: not by itself. */
  readonly until: number | null
}

/**
 * The proof as the secrets of the service are now; undefined when it has ended. A secret that was the present one may
 * be a former one by now: then the proof ends with it.
 */
export function renewedProof(
  { secret, until }: ProvenService,
  service: KnownService | undefined,
  now: number,
): ProvenService | undefined {
  const found = service?.secrets.find((one) => one.secret === secret)
  if (!service || !found) return undefined
  const ends = [until, found.until].filter((end) => end !== null)
  if (ends.some((end) => end <= now)) return undefined
  return { service, secret, until: ends.length === 0 ? null : Math.min(...ends) }
}

/** The associated data of the encrypted secrets of a service. */
export const serviceSecretData = (id: string): AssociatedData => ({ purpose: 'service-secret', row: id })

const [v, r] = [alias(services, 'v'), alias(resourceServers, 'r')]

const read = parameters({ ids: 'json', now: 'timestamptz' })
/** Each id once. */
const readSql = read.statement(sql`select ${v.id}::text as id, ${v.name}, ${v.secretSealed} as sealed,
    json_build_object('id', ${r.id}, 'audience', ${r.audience}) as "resourceServer",
    case when ${v.formerUntil} > ${read.now} then json_build_object('sealed', ${v.formerSecretSealed},
      'until', round(extract(epoch from ${v.formerUntil}) * 1000)::bigint) end as former
  from json_array_elements_text(${read.ids}) as i(id)
  cross join lateral (select * from ${services} where ${services.id} = i.id::uuid limit 1) v
  join ${resourceServers} ${r} on ${r.id} = ${v.resourceServer}`)

type Row = Omit<KnownService, 'secrets'> & SealedSecrets

/** Reads a service; undefined when there is none. @throws Unavailable */
export type ReadService = (id: string) => Promise<KnownService | undefined>

/** Creates the function for one process. Concurrent callers share a statement. */
export function createReadService({ database, clock, sealing }: AuthSystems): ReadService {
  const readRow = gatherRows(
    (ids) => database.query<Row>(...readSql({ ids, now: rfc3339(clock.now()) })),
    (row) => row.id,
  )
  return async function readService(id) {
    const row = isId(id) ? await readRow(id) : undefined
    if (!row) return undefined
    const { name, resourceServer } = row
    return {
      id,
      name,
      resourceServer,
      secrets: openSecrets(row, (sealed) => sealing.open(sealed, serviceSecretData(id))),
    }
  }
}

/** The service, when `secret` is one of its secrets. An unknown service and a wrong secret take the same time. */
export function provenBy(service: KnownService | undefined, secret: string): ProvenService | undefined {
  const found = matchingSecret(service?.secrets, secret)
  return service && found ? { service, secret: found.secret, until: found.until } : undefined
}
