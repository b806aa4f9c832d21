/**
 * Used signatures of unsafe requests, which work once. They are rows in the server's own PostgreSQL, so that a restart
 * or another process does not forget them. Without the database, no such request is accepted.
 */
import { sql } from 'drizzle-orm'
import { pgSchema } from 'drizzle-orm/pg-core'
import { type Clock, rfc3339 } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { namesOf, parameters } from '../../../platform/database/statement.ts'
import { usedSignaturesTable } from '../credential-tables.ts'

/** A signature to be used. */
export interface SignatureUse {
  readonly keyId: string
  /** SHA-256 (base64url) of its octets. */
  readonly digest: string
  /** The time after which no server accepts it, by any SIGNATURE_TTL, in milliseconds. */
  readonly expiresAt: number
}

/**
 * Uses a signature. Gives the time of its earlier use, in milliseconds; undefined when this is the first use.
 * @throws Unavailable
 */
export type UseSignature = (use: SignatureUse) => Promise<number | undefined>

type ServerSchema = 'auth' | 'deals'

const used = parameters({ keyId: 'text', signature: 'text', usedAt: 'timestamptz', expiresAt: 'timestamptz' })

/**
 * Of concurrent uses, exactly one is the first: the others wait for its row. Then they may still not see the row in the
 * snapshot of their own statement.
 */
function useSql(schema: ServerSchema) {
  const signatures = usedSignaturesTable(pgSchema(schema))
  return used.statement(sql`
  with used as (
    insert into ${signatures} (${namesOf(signatures, 'keyId', 'signature', 'usedAt', 'expiresAt')})
    values (${used.keyId}, ${used.signature}, ${used.usedAt}, ${used.expiresAt}) on conflict do nothing returning 1)
  select json_build_object('isFirst', exists(select 1 from used), 'usedAt', (
    select round(extract(epoch from ${signatures.usedAt}) * 1000)::bigint from ${signatures}
    where ${signatures.keyId} = ${used.keyId} and ${signatures.signature} = ${used.signature})) as use`)
}

/** The used signatures of a server. */
export function createUsedSignatures(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  schema: ServerSchema,
): UseSignature {
  const statement = useSql(schema)
  return async function useSignature({ keyId, digest, expiresAt }) {
    const now = clock.now()
    type Row = { use: { isFirst: boolean; usedAt: number | null } }
    const [row] = await database.write<Row>(
      ...statement({ keyId, signature: digest, usedAt: rfc3339(now), expiresAt: rfc3339(expiresAt) }),
    )
    return row?.use.isFirst ? undefined : (row?.use.usedAt ?? now)
  }
}
