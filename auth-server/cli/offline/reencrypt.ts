/**
 * Encrypts values again under the first key of SECRETS_KEY that are encrypted under another key. Servers may
 * run: a value is replaced only if it has not changed since it was read. An interrupted run can be repeated at
 * any time.
 */
import { isNull, max, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Clock } from '../../../shared/platform/clock.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { parameters } from '../../../shared/platform/database/statement.ts'
import { apiKeySecretData } from '../../api-keys/key-material.ts'
import { clientSecretData } from '../../clients/client-secrets.ts'
import { refreshTokenData } from '../../logins/refresh.ts'
import { totpSecretData } from '../../second-factors/factor-state.ts'
import { serviceSecretData } from '../../services/service-secrets.ts'
import { services } from '../../store/access-tables.ts'
import { clients } from '../../store/client-tables.ts'
import { apiKeys, digestSecrets, loginFamilies } from '../../store/schema.ts'
import { type AssociatedData, createSealing, type Sealing } from '../../store/sealing.ts'
import { secondFactors } from '../../store/second-factor-tables.ts'
import { digestSecretData } from '../../users/digest-secrets.ts'
import type { AuthData } from './auth-data.ts'

/** The result for the values of one kind. */
export interface Reencrypted {
  /** Number of values that were encrypted again. */
  readonly resealed: number
  /** Number of values under a key that SECRETS_KEY does not hold, and of damaged values. They stay unchanged. */
  readonly unreadable: number
  /**
   * Number of values that are not under the first key now: the unreadable ones, and those that a server has written.
   */
  readonly left: number
}

/** A column with encrypted values, and the associated data of one. */
interface EncryptedColumn {
  readonly name: string
  readonly table: PgTable
  readonly column: PgColumn
  readonly id: PgColumn
  /** SQL of the part of the associated data that is not the id; nothing when left out. */
  readonly detail?: SQL
  dataOf(id: string, detail: string): AssociatedData
}

/** The present and the former secret of the rows of this table. */
const overlapping = (
  name: string,
  table: typeof apiKeys | typeof services | typeof clients,
  dataOf: EncryptedColumn['dataOf'],
): EncryptedColumn[] => [
  { name, table, column: table.secretSealed, id: table.id, dataOf },
  { name: `former ${name}`, table, column: table.formerSecretSealed, id: table.id, dataOf },
]

const [d, s, f] = [digestSecrets, secondFactors, loginFamilies]

const columns: readonly EncryptedColumn[] = [
  ...overlapping('API key secrets', apiKeys, apiKeySecretData),
  ...overlapping('secrets of services', services, serviceSecretData),
  ...overlapping('secrets of clients', clients, clientSecretData),
  { name: 'Digest secrets', table: d, column: d.ha1Sealed, id: d.userId, dataOf: digestSecretData },
  { name: 'secrets of one-time codes', table: s, column: s.secretSealed, id: s.id, dataOf: totpSecretData },
  {
    name: 'refresh tokens',
    table: f,
    column: f.successorSealed,
    id: f.id,
    detail: sql`${f.counter}::text`,
    dataOf: (id, counter) => refreshTokenData(id, Number(counter)),
  },
]

interface EncryptedRow {
  readonly id: string
  readonly detail: string
  readonly ciphertext: string
}

const firstId = '00000000-0000-0000-0000-000000000000'

/** How the values are encrypted again. */
interface ReencryptOptions {
  /** How many rows are read at once; 500 when left out. */
  readonly batchSize?: number
  /** Called after each batch: how many values were looked at, out of how many. */
  readonly onProgress?: (done: number, total: number) => void
}

/** Encrypts the values of all kinds again, in batches. @throws Unavailable */
export async function reencrypt(
  { database, secretsKeys }: Omit<AuthData, 'allSecretsKeys'>,
  { batchSize = 500, onProgress = () => undefined }: ReencryptOptions = {},
): Promise<Record<string, Reencrypted>> {
  let seen = 0
  const keyId = secretsKeys[0].id
  const counts = await Promise.all(columns.map((column) => countLeft(column, { database, keyId })))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const onBatch = (size: number) => {
    seen += size
    onProgress(seen, Math.max(seen, total))
  }
  const work = { database, sealing: createSealing(secretsKeys), keyId, batchSize, onBatch }
  const done: Record<string, Reencrypted> = {}
  for (const column of columns) done[column.name] = await reencryptColumn(column, work)
  return done
}

interface Work {
  readonly database: Database
  readonly sealing: Sealing
  /** Of the first key. */
  readonly keyId: string
  readonly batchSize: number
  /** Called with the size of each batch. */
  readonly onBatch: (size: number) => void
}

async function reencryptColumn(column: EncryptedColumn, work: Work): Promise<Reencrypted> {
  let [resealed, unreadable, after] = [0, 0, firstId]
  for (;;) {
    const rows = await encryptedRows(column, work, after)
    const last = rows.at(-1)
    if (!last) break
    const changes = rows.flatMap((row) => {
      const ciphertext = encryptAgain(row, column, work.sealing)
      return ciphertext === undefined ? [] : [{ id: row.id, before: row.ciphertext, after: ciphertext }]
    })
    unreadable += rows.length - changes.length
    resealed += await replace(column, work.database, changes)
    after = last.id
    work.onBatch(rows.length)
  }
  const left = await countLeft(column, work)
  return { resealed, unreadable, left }
}

const batch = parameters({ keyId: 'text', after: 'uuid', limit: 'int' })
const replaced = parameters({ changes: 'json' })
const other = parameters({ keyId: 'text' })

const otherKey = ({ column }: EncryptedColumn) => sql`split_part(${column}, '.', 2) <> ${other.keyId}`

async function encryptedRows(column: EncryptedColumn, work: Work, after: string): Promise<EncryptedRow[]> {
  const { id, detail = sql`''`, table } = column
  const read = batch.statement(sql`
    select json_build_object('id', ${id}, 'detail', ${detail}, 'ciphertext', ${column.column}) as row from ${table}
    where ${otherKey(column)} and ${id} > ${batch.after} order by ${id} limit ${batch.limit}`)
  const rows = await work.database.query<{ row: EncryptedRow }>(
    ...read({ keyId: work.keyId, after, limit: work.batchSize }),
  )
  return rows.map(({ row }) => row)
}

/** Undefined when the value cannot be decrypted. */
function encryptAgain(
  { id, detail, ciphertext }: EncryptedRow,
  { dataOf }: EncryptedColumn,
  sealing: Sealing,
): string | undefined {
  try {
    return sealing.seal(sealing.open(ciphertext, dataOf(id, detail)), dataOf(id, detail))
  } catch {
    return undefined
  }
}

interface Replacement {
  readonly id: string
  readonly before: string
  readonly after: string
}

async function replace(
  { table, column, id }: EncryptedColumn,
  database: Database,
  changes: readonly Replacement[],
): Promise<number> {
  const update = replaced.statement(sql`update ${table} set ${sql.identifier(column.name)} = c.after
    from json_to_recordset(${replaced.changes}) as c(id uuid, before text, after text)
    where ${id} = c.id and ${column} = c.before returning 1 as one`)
  return (await database.write(...update({ changes }))).length
}

async function countLeft(
  column: EncryptedColumn,
  { database, keyId }: Pick<Work, 'database' | 'keyId'>,
): Promise<number> {
  const count = other.statement(
    sql`select json_build_object('count', count(*)) as "left" from ${column.table} where ${otherKey(column)}`,
  )
  const [row] = await database.query<{ left: { count: number } }>(...count({ keyId }))
  return row?.left.count ?? 0
}

/** The expiry of the last refresh token in milliseconds; the current time when there is none. */
export async function lastRefreshExpiry({ database }: AuthData, clock: Clock): Promise<number> {
  const [row] = await database.drizzle
    .select({ last: max(loginFamilies.refreshExpiresAt) })
    .from(loginFamilies)
    .where(isNull(loginFamilies.endedAt))
  return Math.max(row?.last?.getTime() ?? 0, clock.now())
}
