/**
 * Deals as the text of their representation. PostgreSQL builds the JSON: for a row that a client only reads, that costs
 * it less than `to_json` of the row, and the server neither parses nor writes it again. The members are those of
 * `http/representations/represent-deal.ts`; a property test compares both texts.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { currencyExponents } from '../domain/currency.ts'
import { type FieldKind, type FieldName, fieldKinds, shownFields } from '../domain/deal-fields.ts'
import type { DealText } from '../queries/ports.ts'
import { d, t } from './aliases.ts'
import { deals, tasks } from './schema.ts'
import { aboutDeals, ofDeals } from './statements.ts'

const codesWith = (exponent: number): SQL =>
  sql.raw([...currencyExponents].flatMap(([code, decimals]) => (decimals === exponent ? [`'${code}'`] : [])).join(', '))

/** One minor unit of the deal's currency in major units, with the decimals of the currency. */
const minorUnit = sql`case when ${d.currency} in (${codesWith(0)}) then 1
  when ${d.currency} in (${codesWith(3)}) then 0.001 else 0.01 end`

/** RFC 3339 in UTC with milliseconds. */
const time = (column: SQLWrapper) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** A JSON number without zeros at the end, as `JSON.stringify` writes it. */
const amount = (minor: SQLWrapper) => sql`trim_scale(${minor} * d.minor_unit)`

/** `json` of this text is the member of the completion. */
const ofCompletion = (name: string) => sql`coalesce((${d.completion} -> '${sql.raw(name)}')::text, 'null')`
const completion = sql`case when ${d.completion} is not null then (
    '{"completedOn":' || ${ofCompletion('completedOn')} ||
    ',"finalPrice":' || coalesce(${amount(sql`(${d.completion} ->> 'finalPrice')::numeric`)}::text, 'null') ||
    ',"documentNumber":' || ${ofCompletion('documentNumber')} ||
    ',"comment":' || ${ofCompletion('comment')} || '}')::json end`

/** The text of a field, by its kind. */
const textOf = (name: FieldName, kind: FieldKind): SQLWrapper => {
  if (kind === 'completion') return completion
  if (kind === 'time') return time(d[name])
  return kind === 'amount' ? amount(d[name]) : d[name]
}

const priceText = sql`(${d.price} * d.minor_unit)::text as ${sql.identifier('priceText')}`
const isShown: ReadonlySet<FieldName> = new Set(shownFields)
const shown = fieldKinds.flatMap(([name, kind]) => {
  const member = sql`${textOf(name, kind)} as ${sql.identifier(name)}`
  return isShown.has(name) ? (name === 'currency' ? [member, priceText] : [member]) : []
})
const members = sql`select ${sql.join(shown, sql`, `)}`

/** What the statement needs of a row and the representation does not have: it comes last. */
const further = sql`${d.bucket}, ${d.taskCount}, ${d.ownerUserId}`
const withoutFurther = (members: string): string => `${members.slice(0, members.lastIndexOf(',"bucket":'))}}`

const [bucket, taskCount] = [sql.identifier(deals.bucket.name), sql.identifier(deals.taskCount.name)]

const tasksOf = (isInBucket: SQL) => sql`case when r.${taskCount} > 0 then (
    select '[' || string_agg(row_to_json(w)::text, ',') || ']' from (
      select ${t.id}, ${t.title}, ${t.dueDate} as "dueDate", ${t.assigneeId} as "assigneeId", ${t.status}, ${t.result},
        ${time(t.createdAt)} as "createdAt", ${time(t.assignedAt)} as "assignedAt", ${time(t.doneAt)} as "doneAt"
      from ${tasks} ${t} where ${t.dealId} = r.id and ${isInBucket} order by ${t.ordinal}) w) end`

/** All columns are text. */
const readTextsStatement = ofDeals(
  (chosen) => sql`
  select r.id::text as id, r.version::text as version, r."deletedAt", r."purgeAt", r."ownerId", r."createdAt",
    r.${sql.identifier(deals.ownerUserId.name)} as "ownerUserId",
    row_to_json(r)::text as members, ${tasksOf(chosen.bucket(t.bucket, sql`r.${bucket}`))} as tasks
  from (
    ${members}, ${further} from (
      select d.*, ${minorUnit} as minor_unit from ${deals} ${d} where ${chosen.deals(d.id, d.bucket)}) d
  ) r`,
)

/** Reads deals by their ids, in this order; undefined for an id without a deal. */
export async function readTexts(database: Database, ids: readonly string[]): Promise<(DealText | undefined)[]> {
  type Row = Omit<DealText, 'version'> & { readonly version: string }
  const rows = await database.query<Row>(...aboutDeals(readTextsStatement, ids))
  const found = new Map(
    rows.map(({ members: all, ...row }) => [
      row.id,
      { ...row, members: withoutFurther(all), version: Number(row.version) },
    ]),
  )
  return ids.map((id) => found.get(id))
}
