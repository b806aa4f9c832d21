/** The tables of second factors, in the schema `auth` (`schema.ts`). */
import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  index,
  integer,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { authSchema, ofUser } from './schema.ts'

const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

/** The second factors of users. Each row is confirmed: a factor that is being set up is stored nowhere. */
export const secondFactors = authSchema.table(
  'second_factors',
  {
    id: uuid().primaryKey(),
    userId: ofUser().notNull(),
    kind: text('kind', { enum: ['totp', 'passkey'] }).notNull(),
    name: text().notNull(),
    /** The secret of kind `totp` (base32), encrypted. */
    secretSealed: text('secret_sealed'),
    /** The last time step of kind `totp` whose code was used (RFC 6238 §5.2): each code works once. */
    usedStep: bigint('used_step', { mode: 'number' }),
    /** Kind `passkey`: the credential id and the COSE public key, both base64url (WebAuthn §4). */
    credentialId: text('credential_id'),
    publicKey: text('public_key'),
    /** The signature counter of kind `passkey` (WebAuthn §6.1.1). */
    signatures: bigint({ mode: 'number' }),
    transports: text().array(),
    createdAt: time('created_at').notNull(),
    lastUsedAt: time('last_used_at'),
  },
  (table) => [
    index('second_factors_user_id').on(table.userId, table.createdAt),
    uniqueIndex('second_factors_totp').on(table.userId).where(sql`${table.kind} = 'totp'`),
    unique('second_factors_credential_id').on(table.credentialId),
    check(
      'second_factors_material',
      sql`case ${table.kind} when 'totp' then ${table.secretSealed} is not null and ${table.usedStep} is not null else ${table.credentialId} is not null and ${table.publicKey} is not null and ${table.signatures} is not null end`,
    ),
  ],
)

/** Recovery codes that were not used. Only hashes are stored. */
export const recoveryCodes = authSchema.table(
  'recovery_codes',
  {
    userId: ofUser().notNull(),
    /** SHA-256 (base64url) of user id and code. */
    codeHash: text('code_hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.codeHash] })],
)

/** Wrong answers for a second factor in a row, of one user. A right answer deletes the row. */
export const secondFactorFailures = authSchema.table('second_factor_failures', {
  userId: ofUser().primaryKey(),
  failures: integer().notNull(),
  failedAt: time('failed_at').notNull(),
})
