/** Recovery codes: ten, each good for one login. Only hashes are stored; 80 random bits need no slow hash. */

import { hash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { Secret } from 'otpauth'
import type { Database } from '../../shared/platform/database/database.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import { recoveryCodes } from '../store/second-factor-tables.ts'

/** How many codes a user gets. */
export const recoveryCodeCount = 10

const codeBytes = 10

/** New codes, in groups of four letters. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: recoveryCodeCount }, () => new Secret({ size: codeBytes }).base32.replace(/(.{4})(?=.)/g, '$1-'))

/** The stored form of a code. Case, blanks and hyphens do not count. */
export const recoveryCodeHash = (userId: string, code: string): string =>
  hash('sha256', `${userId}:${code.replace(/[\s-]/g, '').toUpperCase()}`, 'base64url')

const used = parameters({ userId: 'uuid', codeHash: 'text', entries: 'json' })
const useSql = used.statement(sql`with used as (
    delete from ${recoveryCodes}
    where ${recoveryCodes.userId} = ${used.userId} and ${recoveryCodes.codeHash} = ${used.codeHash} returning 1),
  noted as (${insertEntriesSql(used.entries, sql`used`)})
  select 1 as used from used`)

/** Consumes a code. False unless it is one of this user's unused codes. @throws Unavailable */
export async function useRecoveryCode(
  database: Database,
  { userId, username }: { readonly userId: string; readonly username: string },
  code: string,
): Promise<boolean> {
  const entry = { action: 'second-factor.recovery-code-used', actor: username, target: username }
  const { entries } = entriesUnderWay()([entry])
  const codeHash = recoveryCodeHash(userId, code)
  return (await database.write(...useSql({ userId, codeHash, entries }))).length === 1
}
