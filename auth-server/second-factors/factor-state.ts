/** Reads what a user has set up, and uses it. Statements that use a factor decide between concurrent callers. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { build, parameters } from '../../shared/platform/database/statement.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { p, u } from '../store/aliases.ts'
import { principals, users } from '../store/schema.ts'
import { recoveryCodes, secondFactors } from '../store/second-factor-tables.ts'

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

const milliseconds = (column: SQLWrapper) => sql`round(extract(epoch from ${column}) * 1000)`

const f = alias(secondFactors, 'f')
const r = alias(recoveryCodes, 'r')

const holder = parameters({ userId: 'uuid' })
const stateSql = holder.statement(sql`select json_build_object('userId', ${u.id}, 'username', ${u.username},
    'passwordHash', ${u.passwordHash}, 'version', ${p.principalVersion}, 'generation', ${p.generation},
    'required', ${demandSql},
    'recoveryCodes', (select count(*) from ${recoveryCodes} ${r} where ${r.userId} = ${u.id}),
    'factors', coalesce((select json_agg(json_build_object('id', ${f.id}, 'kind', ${f.kind}, 'name', ${f.name},
      'secretSealed', ${f.secretSealed}, 'credentialId', ${f.credentialId}, 'publicKey', ${f.publicKey},
      'signatures', ${f.signatures}, 'transports', ${f.transports}, 'createdAt', ${milliseconds(f.createdAt)},
      'lastUsedAt', ${milliseconds(f.lastUsedAt)}) order by ${f.createdAt}, ${f.id})
      from ${secondFactors} ${f} where ${f.userId} = ${u.id}), '[]')) as state
  from ${users} ${u} join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}
  where ${u.id} = ${holder.userId} and ${u.enabled}`)

/** Reads the state of an enabled user; undefined when there is none of this id. @throws Unavailable */
export async function factorState(database: Database, userId: string): Promise<FactorState | undefined> {
  const [row] = await database.query<{ state: FactorState }>(...stateSql({ userId }))
  return row?.state
}

const used = parameters({ id: 'uuid', step: 'bigint', now: 'timestamptz' })
const signed = parameters({ id: 'uuid', signatures: 'bigint', now: 'timestamptz' })
const isFactor = sql`${secondFactors.id} = ${used.id}`

const useStepSql = used.statement(
  build
    .update(secondFactors)
    .set({ usedStep: used.step, lastUsedAt: used.now })
    .where(sql`${isFactor} and ${secondFactors.usedStep} < ${used.step}`)
    .returning({ used: secondFactors.id }),
)

/** Uses the code of a time step. False when it, or a later one, was used before (RFC 6238 §5.2). @throws Unavailable */
export const useStep = async (
  database: Database,
  { id, step, now }: { readonly id: string; readonly step: number; readonly now: number },
): Promise<boolean> => (await database.write(...useStepSql({ id, step, now: rfc3339(now) }))).length === 1

const useSignatureSql = signed.statement(
  build
    .update(secondFactors)
    .set({ signatures: signed.signatures, lastUsedAt: signed.now })
    .where(sql`${isFactor} and (${secondFactors.signatures} < ${signed.signatures}
      or (${secondFactors.signatures} = 0 and ${signed.signatures} = 0))`)
    .returning({ used: secondFactors.id }),
)

/** Moves the signature counter of a passkey. False when it did not grow (WebAuthn §6.1.1). @throws Unavailable */
export const useSignature = async (
  database: Database,
  { id, signatures, now }: { readonly id: string; readonly signatures: number; readonly now: number },
): Promise<boolean> => (await database.write(...useSignatureSql({ id, signatures, now: rfc3339(now) }))).length === 1

/** The associated data of the encrypted secret of this factor. */
export const totpSecretData = (id: string) => ({ purpose: 'totp-secret', row: id })
