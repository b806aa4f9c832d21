/**
 * Tables of credentials that work once. Each server has them in its own schema and reads only its own rows, since no
 * request is valid at both servers. The schemes define which requests count as a use.
 */
import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, type PgSchema, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })

/** Used signatures of unsafe signed requests, until they expire. */
export const usedSignaturesTable = (schema: PgSchema) =>
  schema.table(
    'used_signatures',
    {
      /** Id of the API key. */
      keyId: text('key_id').notNull(),
      /** SHA-256 (base64url) of the signature's octets. */
      signature: text('signature').notNull(),
      /** The time of use: copies of the request may still be on their way shortly after. */
      usedAt: time('used_at').notNull(),
      expiresAt: time('expires_at').notNull(),
    },
    (table) => [
      primaryKey({ name: 'used_signatures_pkey', columns: [table.keyId, table.signature] }),
      index('used_signatures_expires_at').on(table.expiresAt),
    ],
  )

/** Used counts of Digest nonces that were issued while the cache was not available (RFC 7616 §3.4). */
export const digestCountsTable = (schema: PgSchema) =>
  schema.table(
    'digest_counts',
    {
      nonce: text('nonce').primaryKey(),
      /** The highest used count. */
      highest: integer('highest').notNull(),
      /** Bit i: the count `highest - i` was used. */
      used: bigint('used', { mode: 'bigint' }).notNull(),
      expiresAt: time('expires_at').notNull(),
    },
    (table) => [
      index('digest_counts_expires_at').on(table.expiresAt),
      check('digest_counts_highest', sql`${table.highest} >= 1`),
    ],
  )
