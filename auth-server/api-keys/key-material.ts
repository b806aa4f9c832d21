/** Reads key material for verification: for the auth server, for deal servers (`/internal`) and for OAuth clients. */

import { sql } from 'drizzle-orm'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { gatherRows } from '../../shared/platform/database/gather-statements.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { isId } from '../../shared/platform/ids.ts'
import type { StoredSigningKey } from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import { k, p, u } from '../store/aliases.ts'
import { matchingSecret } from '../store/overlapping-secrets.ts'
import { apiKeys, principals, users } from '../store/schema.ts'
import type { AssociatedData } from '../store/sealing.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'

/** The associated data of the encrypted secret of a key. */
export const apiKeySecretData = (id: string): AssociatedData => ({ purpose: 'api-key-secret', row: id })

const read = parameters({ ids: 'json', now: 'timestamptz' })
/** Each id once. */
const readSql = read.statement(sql`select ${k.id}::text as id, json_build_object(
    'id', ${k.id}, 'kind', ${k.kind}, 'username', ${u.username}, 'userId', ${k.userId},
    'version', ${p.principalVersion},
    'requireBodyHash', ${k.requireBodyHash}, 'rights', to_json(${k.rights}), 'publicKeyPem', ${k.publicKeyPem},
    'expiresAt', round(extract(epoch from ${k.expiresAt}) * 1000)::bigint) as material,
    ${k.secretSealed} as sealed, ${k.formerSecretSealed} as "formerSealed", ${k.formerPublicKeyPem} as "formerPem",
    case when ${k.formerUntil} > ${read.now}
      then to_json(round(extract(epoch from ${k.formerUntil}) * 1000)::bigint) end as "formerUntil"
  from json_array_elements_text(${read.ids}) as i(id)
  cross join lateral (select * from ${apiKeys} where ${apiKeys.id} = i.id::uuid limit 1) k
  join ${users} ${u} on ${u.id} = ${k.userId}
  join ${principals} ${p} on ${p.usernameFolded} = ${k.usernameFolded}
  where ${k.revokedAt} is null and (${k.expiresAt} is null or ${k.expiresAt} > ${read.now})`)

interface Row {
  readonly id: string
  readonly material: Omit<StoredSigningKey, 'secret' | 'former'>
  readonly sealed: string | null
  readonly formerSealed: string | null
  readonly formerPem: string | null
  /** Null when no former material is accepted now. */
  readonly formerUntil: number | null
}

/**
 * Reads the material of a key. Undefined when the key does not exist, is revoked or has expired. @throws Unavailable
 */
export function createReadMaterial({ database, clock, sealing }: AuthSystems) {
  const readRow = gatherRows(
    (ids) => database.query<Row>(...readSql({ ids, now: rfc3339(clock.now()) })),
    (row) => row.id,
  )
  return async function readMaterial(id: string): Promise<StoredSigningKey | undefined> {
    const row = isId(id) ? await readRow(id) : undefined
    if (!row) return undefined
    const open = (sealed: string | null) => (sealed === null ? null : sealing.open(sealed, apiKeySecretData(id)))
    const { formerUntil: until, formerSealed, formerPem } = row
    const former = until === null ? null : { secret: open(formerSealed), publicKeyPem: formerPem, until }
    return { ...row.material, secret: open(row.sealed), former }
  }
}

/** True when `secret` is the secret of this key, or the former one while it is accepted. */
export function hasSecret(material: StoredSigningKey | undefined, secret: string): boolean {
  const accepted = [material?.secret, material?.former?.secret].flatMap((one) =>
    one ? [{ secret: one, until: null }] : [],
  )
  return matchingSecret(accepted, secret) !== undefined
}
