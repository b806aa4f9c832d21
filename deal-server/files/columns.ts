/** The columns of deals in files (docs/import-export.md#columns). */
import { fileFields } from '../domain/deal-fields.ts'

/** What a row can give a new deal: the parameters of CreateDeal. The description comes last. */
export const creationColumns: readonly string[] = [
  ...fileFields.imported.filter((name) => name !== 'description'),
  'description',
]

/** The columns without which there is no deal. */
export const requiredColumns: readonly string[] = ['name', 'price']

/** What an export tells besides. An import leaves them out. */
const stateColumns: readonly string[] = fileFields.exported

/** The columns of an export as CSV. */
export const exportColumns: readonly string[] = [...creationColumns, ...stateColumns]

/** What a file of refused rows has besides. */
export const refusalColumns = ['line', 'status', 'code', 'reason'] as const

/** Columns, and members of NDJSON, that an import leaves out. */
export const ignoredColumns: ReadonlySet<string> = new Set([
  ...stateColumns,
  ...refusalColumns,
  ...fileFields.absent,
  'priceText',
  'links',
  'tasks',
])

/** The columns of this header that tell of a deal what an import does not bring back. */
export const stateNames = (header: readonly string[] | undefined): readonly string[] =>
  (header ?? []).filter((name) => stateColumns.includes(name))

/** The largest number of columns of a header: all that there are together are fewer. */
export const maxColumns = 100

/** What is wrong with a header; undefined for a good one. */
export function faultOfHeader(header: readonly string[], delimiter: string): string | undefined {
  if (header.length > maxColumns) return `The first line has more than ${maxColumns} columns.`
  // A column without a name may be empty.
  const known: ReadonlySet<string> = new Set<string>(['', ...creationColumns, ...ignoredColumns])
  const unknown = header.filter((name) => !known.has(name))
  const missing = requiredColumns.filter((name) => !header.includes(name))
  const seen = new Set<string>()
  const repeated = header.filter((name) => name !== '' && seen.size === seen.add(name).size)
  if (unknown.length + missing.length + repeated.length === 0) return undefined
  const parts = [
    missing.length > 0 && `it lacks ${missing.join(' and ')}`,
    unknown.length > 0 && `it has ${unknown.map((name) => JSON.stringify(name)).join(', ')}, which no deal has`,
    repeated.length > 0 && `it has ${[...new Set(repeated)].join(', ')} twice`,
  ].filter((part) => part !== false)
  const [only = ''] = header
  const other =
    header.length === 1 ? [';', '\t', '|'].find((one) => one !== delimiter && only.includes(one)) : undefined
  const hint = other === undefined ? '' : ` Is the delimiter ${JSON.stringify(other)}? Then say --delimiter.`
  const columns = `The columns are ${creationColumns.join(', ')}; name and price are needed.`
  return `The first line must name the columns: ${parts.join('; ')}. ${columns}${hint}`
}
