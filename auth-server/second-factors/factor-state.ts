/** Reads what a user has set up, and uses it. Statements that use a factor decide between concurrent callers. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import type { Role } from '../users/rights.ts'
import { secondFactorDemandSql } from '../users/second-factor-demand.ts'

/** One factor. Times in milliseconds. */
export interface StoredFactor {
  readonly id: string
  readonly kind: 'totp' | 'passkey'
  readonly name: string
  readonly secretSealed: string | null
  readonly credentialId: string | null
  readonly publicKey: string | null
  readonly signatures: number | null
  readonly transports: readonly string[] | null
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

/** A user as the second factor sees it. */
export interface FactorState {
  readonly userId: string
  readonly username: string
  readonly passwordHash: string
  readonly version: number
  readonly generation: number
  /** True when a login of the user needs a factor. */
  readonly required: boolean
  /** The oldest first. */
  readonly factors: readonly StoredFactor[]
  /** How many recovery codes are left. */
  readonly recoveryCodes: number
}

const milliseconds = (column: string) => `round(extract(epoch from ${column}) * 1000)`

const stateSql = (roles: readonly Role[]) => `select json_build_object('userId', u.id, 'username', u.username,
    'passwordHash', u.password_hash, 'version', p.change_number, 'generation', p.generation,
    'required', ${secondFactorDemandSql(roles)},
    'recoveryCodes', (select count(*) from auth.recovery_codes r where r.user_id = u.id),
    'factors', coalesce((select json_agg(json_build_object('id', f.id, 'kind', f.kind, 'name', f.name,
      'secretSealed', f.secret_sealed, 'credentialId', f.credential_id, 'publicKey', f.public_key,
      'signatures', f.signatures, 'transports', f.transports, 'createdAt', ${milliseconds('f.created_at')},
      'lastUsedAt', ${milliseconds('f.last_used_at')}) order by f.created_at, f.id)
      from auth.second_factors f where f.user_id = u.id), '[]')) as state
  from auth.users u join auth.principals p on p.username_folded = u.username_folded and p.user_id = u.id
  where u.id = $1::text::uuid and u.enabled`

/** Reads the state of an enabled user; undefined when there is none of this id. @throws Unavailable */
export async function factorState(
  database: Pick<Database, 'query'>,
  userId: string,
  roles: readonly Role[],
): Promise<FactorState | undefined> {
  const [row] = await database.query<{ state: FactorState }>(stateSql(roles), [userId])
  return row?.state
}

const useStepSql = `update auth.second_factors set used_step = $2::text::bigint, last_used_at = $3::text::timestamptz
  where id = $1::text::uuid and used_step < $2::text::bigint returning 1 as used`

/** Uses the code of a time step. False when it, or a later one, was used before (RFC 6238 §5.2). @throws Unavailable */
export const useStep = async (
  database: Pick<Database, 'write'>,
  { id, step, now }: { readonly id: string; readonly step: number; readonly now: number },
): Promise<boolean> => (await database.write(useStepSql, [id, String(step), rfc3339(now)])).length === 1

const useSignatureSql = `update auth.second_factors set signatures = $2::text::bigint,
    last_used_at = $3::text::timestamptz
  where id = $1::text::uuid and (signatures < $2::text::bigint or (signatures = 0 and $2::text = '0'))
  returning 1 as used`

/** Moves the signature counter of a passkey. False when it did not grow (WebAuthn §6.1.1). @throws Unavailable */
export const useSignature = async (
  database: Pick<Database, 'write'>,
  { id, signatures, now }: { readonly id: string; readonly signatures: number; readonly now: number },
): Promise<boolean> => (await database.write(useSignatureSql, [id, String(signatures), rfc3339(now)])).length === 1

/** The associated data of the encrypted secret of this factor. */
export const totpSecretData = (id: string) => ({ purpose: 'totp-secret', row: id })
