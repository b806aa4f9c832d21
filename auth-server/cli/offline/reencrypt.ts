/**
 * Seals anew, under the first key of SECRETS_KEY, what is sealed under another. Safe beside running servers: a value is replaced only
 * while it is still the one that was read. Can be cut off and run again at any time.
 */
import type { Database } from '../../../shared/platform/database/database.ts'
import { sealedPlace as apiKeySecretPlace } from '../../api-keys/key-material.ts'
import { refreshTokenPlace } from '../../logins/refresh.ts'
import { createSealing, type SealedPlace, type Sealing } from '../../store/sealing.ts'
import { digestSecretPlace } from '../../users/digest-secrets.ts'
import type { AuthData } from './auth-data.ts'

/** What became of the values of one kind. */
export interface Reencrypted {
  /** Sealed anew. */
  readonly resealed: number
  /** Sealed under a key that SECRETS_KEY does not hold, or damaged: left as they are. */
  readonly unreadable: number
  /** Still sealed under another key than the first, the unreadable ones among them: a server has written them meanwhile. */
  readonly left: number
}

/** A column with sealed values. */
interface SealedColumn {
  readonly name: string
  readonly table: string
  readonly column: string
  readonly id: string
  /** SQL of what the place hangs on beside the id. */
  readonly detail: string
  place(id: string, detail: string): SealedPlace
}

const columns: readonly SealedColumn[] = [
  {
    name: 'API key secrets',
    table: 'auth.api_keys',
    column: 'secret_sealed',
    id: 'id',
    detail: "''",
    place: (id) => apiKeySecretPlace(id),
  },
  {
    name: 'Digest secrets',
    table: 'auth.digest_secrets',
    column: 'ha1_sealed',
    id: 'user_id',
    detail: "''",
    place: (id) => digestSecretPlace(id),
  },
  {
    name: 'refresh tokens',
    table: 'auth.login_families',
    column: 'successor_sealed',
    id: 'id',
    detail: 'counter::text',
    place: (id, counter) => refreshTokenPlace(id, Number(counter)),
  },
]

interface SealedRow {
  readonly id: string
  readonly detail: string
  readonly sealed: string
}

const firstId = '00000000-0000-0000-0000-000000000000'

/** All kinds, by name. `batchSize` rows are read and written at once. @throws Unavailable */
export async function reencrypt(
  { database, secretsKeys }: Pick<AuthData, 'database' | 'secretsKeys'>,
  batchSize = 500,
): Promise<Record<string, Reencrypted>> {
  const work = { database, sealing: createSealing(secretsKeys), keyId: secretsKeys[0].id, batchSize }
  const done: Record<string, Reencrypted> = {}
  for (const column of columns) done[column.name] = await reencryptColumn(column, work)
  return done
}

interface Work {
  readonly database: Pick<Database, 'query'>
  readonly sealing: Sealing
  /** Of the first key. */
  readonly keyId: string
  readonly batchSize: number
}

async function reencryptColumn(column: SealedColumn, work: Work): Promise<Reencrypted> {
  let [resealed, unreadable, after] = [0, 0, firstId]
  for (;;) {
    const rows = await sealedRows(column, work, after)
    const last = rows.at(-1)
    if (!last) break
    const changes = rows.flatMap((row) => {
      const sealed = sealAnew(row, column, work.sealing)
      return sealed === undefined ? [] : [{ id: row.id, before: row.sealed, after: sealed }]
    })
    unreadable += rows.length - changes.length
    resealed += await replace(column, work.database, changes)
    after = last.id
  }
  const left = await countLeft(column, work)
  return { resealed, unreadable, left }
}

const otherKey = ({ column }: SealedColumn) => `split_part(${column}, '.', 2) <> $1::text`

async function sealedRows(column: SealedColumn, work: Work, after: string): Promise<SealedRow[]> {
  const { id, detail, table } = column
  const rows = await work.database.query<{ row: SealedRow }>(
    `select json_build_object('id', ${id}, 'detail', ${detail}, 'sealed', ${column.column}) as row from ${table}
      where ${otherKey(column)} and ${id} > $2::text::uuid order by ${id} limit $3::int`,
    [work.keyId, after, work.batchSize],
  )
  return rows.map(({ row }) => row)
}

/** Undefined when it cannot be opened. */
function sealAnew({ id, detail, sealed }: SealedRow, { place }: SealedColumn, sealing: Sealing): string | undefined {
  try {
    return sealing.seal(sealing.open(sealed, place(id, detail)), place(id, detail))
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
  { table, column, id }: SealedColumn,
  database: Pick<Database, 'query'>,
  changes: readonly Replacement[],
): Promise<number> {
  const rows = await database.query(
    `update ${table} t set ${column} = c.after
      from json_to_recordset($1::text::json) as c(id uuid, before text, after text)
      where t.${id} = c.id and t.${column} = c.before returning 1 as one`,
    [JSON.stringify(changes)],
  )
  return rows.length
}

async function countLeft(column: SealedColumn, { database, keyId }: Work): Promise<number> {
  const sql = `select json_build_object('count', count(*)) as "left" from ${column.table} where ${otherKey(column)}`
  const [row] = await database.query<{ left: { count: number } }>(sql, [keyId])
  return row?.left.count ?? 0
}
