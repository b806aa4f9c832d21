/**
 * Deals as the text of their representation. PostgreSQL builds the JSON: for a row that a client only reads, that costs
 * it less than `to_json` of the row, and the server neither parses nor writes it again. The members are those of
 * `http/representations/represent-deal.ts`; a property test compares both texts.
 */
import type { Reads } from '../../shared/platform/database/database.ts'
import { currencyExponents } from '../domain/currency.ts'
import type { DealText } from '../queries/ports.ts'
import { aboutDeals, ofDeals } from './statements.ts'

const codesWith = (exponent: number): string =>
  [...currencyExponents].flatMap(([code, decimals]) => (decimals === exponent ? [`'${code}'`] : [])).join(', ')

/** One minor unit of the deal's currency in major units, with the decimals of the currency. */
const minorUnit = `case when d.currency in (${codesWith(0)}) then 1
  when d.currency in (${codesWith(3)}) then 0.001 else 0.01 end`

/** RFC 3339 in UTC with milliseconds. */
const time = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** A JSON number without zeros at the end, as `JSON.stringify` writes it. */
const amount = (minor: string) => `trim_scale(${minor} * d.minor_unit)`

/** `json` of this text is the member of the completion. */
const ofCompletion = (name: string) => `coalesce((d.completion -> '${name}')::text, 'null')`
const completion = `case when d.completion is not null then ('{"completedOn":' || ${ofCompletion('completedOn')} ||
    ',"finalPrice":' || coalesce(${amount(`(d.completion ->> 'finalPrice')::numeric`)}::text, 'null') ||
    ',"documentNumber":' || ${ofCompletion('documentNumber')} ||
    ',"comment":' || ${ofCompletion('comment')} || '}')::json end`

const members = `select d.id, d.name, ${amount('d.price')} as price, d.currency,
    (d.price * d.minor_unit)::text as "priceText", d.description, d.completion_date as "completionDate",
    d.owner_id as "ownerId", d.status, d.held, d.hold_reason as "holdReason", d.hold_reason_code as "holdReasonCode",
    ${time('d.held_at')} as "heldAt", d.held_by as "heldBy", d.price_reason as "priceReason",
    d.completion_date_reason as "completionDateReason",
    ${amount('d.completion_date_penalty')} as "completionDatePenalty", d.cancel_reason as "cancelReason",
    ${amount('d.cancel_penalty')} as "cancelPenalty", ${time('d.cancelled_at')} as "cancelledAt",
    ${completion} as completion, ${amount('d.penalty_total')} as "penaltyTotal", d.version,
    ${time('d.created_at')} as "createdAt", d.created_by as "createdBy",
    ${time('d.updated_at')} as "updatedAt", d.updated_by as "updatedBy",
    ${time('d.deleted_at')} as "deletedAt", ${time('d.purge_at')} as "purgeAt"`

/** What the statement needs of a row and the representation does not have: it comes last. */
const further = 'd.bucket, d.task_count'
const withoutFurther = (members: string): string => `${members.slice(0, members.lastIndexOf(',"bucket":'))}}`

const tasksOf = (isInBucket: string) => `case when r.task_count > 0 then (
    select '[' || string_agg(row_to_json(w)::text, ',') || ']' from (
      select t.id, t.title, t.due_date as "dueDate", t.assignee_id as "assigneeId", t.status, t.result,
        ${time('t.created_at')} as "createdAt", ${time('t.assigned_at')} as "assignedAt", ${time('t.done_at')} as "doneAt"
      from deals.tasks t where t.deal_id = r.id and ${isInBucket} order by t.ordinal) w) end`

/** All columns are text. */
const readTextsStatement = ofDeals(
  (chosen) => `
  select r.id::text as id, r.version::text as version, r."deletedAt", r."purgeAt",
    row_to_json(r)::text as members, ${tasksOf(chosen.bucket('t.bucket', 'r.bucket'))} as tasks
  from (
    ${members}, ${further} from (
      select d.*, ${minorUnit} as minor_unit from deals.deals d where ${chosen.deals('d.id', 'd.bucket')}) d
  ) r`,
)

/** Reads deals by their ids, in this order; undefined for an id without a deal. */
export async function readTexts(
  database: Pick<Reads, 'query'>,
  ids: readonly string[],
): Promise<(DealText | undefined)[]> {
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
