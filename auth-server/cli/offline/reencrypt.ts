/**
 * Encrypts values again under the first key of SECRETS_KEY that are encrypted under another key. Servers may run
 * meanwhile: a value is replaced only if it has not changed since it was read. An interrupted run can be repeated at
 * any time.
 */
import type { Database } from '../../../shared/platform/database/database.ts'
import { apiKeySecretData } from '../../api-keys/key-material.ts'
import { refreshTokenData } from '../../logins/refresh.ts'
import { totpSecretData } from '../../second-factors/factor-state.ts'
import { type AssociatedData, createSealing, type Sealing } from '../../store/sealing.ts'
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

/** A column with encrypted values. */
interface EncryptedColumn {
  readonly name: string
  readonly table: string
  readonly column: string
  readonly id: string
  /** SQL of the part of the associated data that is not the id. */
  readonly detail: string
  associatedData(id: string, detail: string): AssociatedData
}

const columns: readonly EncryptedColumn[] = [
  {
    name: 'API key secrets',
    table: 'auth.api_keys',
    column: 'secret_sealed',
    id: 'id',
    detail: "''",
    associatedData: (id) => apiKeySecretData(id),
  },
  {
    name: 'former API key secrets',
    table: 'auth.api_keys',
    column: 'former_secret_sealed',
    id: 'id',
    detail: "''",
    associatedData: (id) => apiKeySecretData(id),
  },
  {
    name: 'Digest secrets',
    table: 'auth.digest_secrets',
    column: 'ha1_sealed',
    id: 'user_id',
    detail: "''",
    associatedData: (id) => digestSecretData(id),
  },
  {
    name: 'secrets of one-time codes',
    table: 'auth.second_factors',
    column: 'secret_sealed',
    id: 'id',
    detail: "''",
    associatedData: (id) => totpSecretData(id),
  },
  {
    name: 'refresh tokens',
    table: 'auth.login_families',
    column: 'successor_sealed',
    id: 'id',
    detail: 'counter::text',
    associatedData: (id, counter) => refreshTokenData(id, Number(counter)),
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
  { database, secretsKeys }: Pick<AuthData, 'database' | 'secretsKeys'>,
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
  readonly database: Pick<Database, 'query' | 'write'>
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

const otherKey = ({ column }: EncryptedColumn) => `split_part(${column}, '.', 2) <> $1::text`

async function encryptedRows(column: EncryptedColumn, work: Work, after: string): Promise<EncryptedRow[]> {
  const { id, detail, table } = column
  const rows = await work.database.query<{ row: EncryptedRow }>(
    `select json_build_object('id', ${id}, 'detail', ${detail}, 'ciphertext', ${column.column}) as row from ${table}
      where ${otherKey(column)} and ${id} > $2::text::uuid order by ${id} limit $3::int`,
    [work.keyId, after, work.batchSize],
  )
  return rows.map(({ row }) => row)
}

/** Undefined when the value cannot be decrypted. */
function encryptAgain(
  { id, detail, ciphertext }: EncryptedRow,
  { associatedData }: EncryptedColumn,
  sealing: Sealing,
): string | undefined {
  try {
    return sealing.seal(sealing.open(ciphertext, associatedData(id, detail)), associatedData(id, detail))
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
  database: Pick<Database, 'write'>,
  changes: readonly Replacement[],
): Promise<number> {
  const rows = await database.write(
    `update ${table} t set ${column} = c.after
      from json_to_recordset($1::text::json) as c(id uuid, before text, after text)
      where t.${id} = c.id and t.${column} = c.before returning 1 as one`,
    [JSON.stringify(changes)],
  )
  return rows.length
}

async function countLeft(
  column: EncryptedColumn,
  { database, keyId }: Pick<Work, 'database' | 'keyId'>,
): Promise<number> {
  const sql = `select json_build_object('count', count(*)) as "left" from ${column.table} where ${otherKey(column)}`
  const [row] = await database.query<{ left: { count: number } }>(sql, [keyId])
  return row?.left.count ?? 0
}
