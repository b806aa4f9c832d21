/**
 * Tables that each server has in its own schema for credentials that may be used once only. Which requests count as a use is said by
 * the schemes; no server reads the other's rows, since no request is good at both.
 */
import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, type PgSchema, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })

/** Signatures of unsafe signed requests that were used, until they expire. */
export const usedSignaturesTable = (schema: PgSchema) =>
  schema.table(
    'used_signatures',
    {
      /** Id of the API key. */
      keyId: text('key_id').notNull(),
      /** SHA-256 (base64url) of the signature's octets. */
      signature: text('signature').notNull(),
      /** When: copies of that request may still be on their way shortly after. */
      usedAt: moment('used_at').notNull(),
      expiresAt: moment('expires_at').notNull(),
    },
    (table) => [
      primaryKey({ name: 'used_signatures_pkey', columns: [table.keyId, table.signature] }),
      index('used_signatures_expires_at').on(table.expiresAt),
    ],
  )

/** Which counts of a Digest nonce were used, for nonces issued while the cache was away (RFC 7616 §3.4). */
export const digestCountsTable = (schema: PgSchema) =>
  schema.table(
    'digest_counts',
    {
      nonce: text('nonce').primaryKey(),
      /** The highest count seen. */
      highest: integer('highest').notNull(),
      /** Bit i: the count `highest - i` was used. */
      used: bigint('used', { mode: 'bigint' }).notNull(),
      expiresAt: moment('expires_at').notNull(),
    },
    (table) => [
      index('digest_counts_expires_at').on(table.expiresAt),
      check('digest_counts_highest', sql`${table.highest} >= 1`),
    ],
  )
