/** What the pages of an import show. */

import { type Refusal, textOfRefusals } from '../../deal-server/files/cells.ts'
import { creationColumns, requiredColumns } from '../../deal-server/files/columns.ts'
import { type Column, Facts, Table } from '../frame/content.tsx'
import { ErrorSummary, Field, type FormFaults, fieldErrors } from '../frame/fields.tsx'
import { transferTexts as texts } from '../texts/lists.ts'
import { type FileRows, maxBytes, maxRows, type SentFile, type Sorted } from './read-file.ts'

const path = '/console/deals/import'

interface FormProps {
  readonly problem: FormFaults | undefined
  readonly format: string | undefined
  readonly delimiter: string | undefined
}

const optionsOf = (names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([value, text]) => ({ value, text }))

/** The form that takes a file. */
export function ImportForm({ problem, format = 'auto', delimiter = ',' }: FormProps) {
  const errors = fieldErrors(problem)
  const fields = [
    {
      name: 'file',
      label: 'File',
      kind: 'file',
      isRequired: true,
      hint: 'CSV or NDJSON in UTF-8. The first line of CSV names the columns.',
      error: errors.file,
    },
    { name: 'format', label: 'Format', kind: 'select', options: optionsOf(texts.formats), value: format },
    { name: 'delimiter', label: 'Delimiter of CSV', kind: 'select', options: optionsOf(texts.delimiters) },
  ] as const
  const [file, formats, delimiters] = fields
  return (
    <>
      <h1>Import deals</h1>
      <p>Each row of the file becomes a deal. The file is checked first: nothing is created before you say so.</p>
      <ErrorSummary problem={problem} fields={fields} />
      <form method="post" action={path} enctype="multipart/form-data" class="panel stack">
        <Field {...file} accept=".csv,.ndjson,.jsonl" />
        <div class="row">
          <Field {...formats} error={errors.format} isFilter />
          <Field {...delimiters} value={delimiter} isFilter />
        </div>
        <button type="submit">Check the file</button>
      </form>
      <Limits />
    </>
  )
}

function Limits() {
  const further = creationColumns.filter((name) => !requiredColumns.includes(name))
  return (
    <section class="panel">
      <h2>Columns</h2>
      <Facts
        facts={[
          ['Needed', <code>{requiredColumns.join(', ')}</code>],
          ['If there', <code>{further.join(', ')}</code>],
        ]}
      />
      <p class="hint">The other columns of an export are left out: an import creates open deals.</p>
      <p>
        Up to {String(maxRows)} rows and {`${maxBytes / 1024 / 1024} MiB`}. For larger files use the command line, which
        takes any length: <code>npx keyhold deals import FILE</code>
      </p>
    </section>
  )
}

interface FileProps {
  readonly file: SentFile
  readonly found: FileRows
  readonly sorted: Sorted
}

/** What a file has, and the form that imports it. */
export function CheckedFile({ file, found, sorted }: FileProps) {
  const { done, replayed, refused } = sorted
  return (
    <>
      <h1>What the file has</h1>
      <p class={refused.length > 0 ? 'warning' : 'notice'} role="status">
        {done === 0
          ? 'No row of the file can be imported.'
          : `${done === 1 ? '1 row' : `${done} rows`} can be imported, ${refused.length} cannot.`}
        {replayed > 0 && ` ${replayed} of them were imported before; nothing is done twice.`}
      </p>
      {found.leftOut.length > 0 && <p class="hint">Left out: {found.leftOut.join(', ')}.</p>}
      <p class="hint">Nothing was created. Rows are judged one by one: two rows with one id are not noticed here.</p>
      <form method="post" action={path} enctype="multipart/form-data" class="actions">
        <input type="hidden" name="stage" value="run" />
        <input type="hidden" name="format" value={file.format} />
        <input type="hidden" name="delimiter" value={file.delimiter} />
        <input type="hidden" name="content" value={file.text} />
        {done > 0 && <button type="submit">{done === 1 ? 'Create 1 deal' : `Create ${done} deals`}</button>}
        <a class="button quiet" href={path}>
          Choose another file
        </a>
      </form>
      <Refused file={file} found={found} sorted={sorted} />
    </>
  )
}

/** What happened to the rows. */
export function ImportResult({ file, found, sorted }: FileProps) {
  const { done, replayed, refused } = sorted
  return (
    <>
      <h1>The file was imported</h1>
      <p class={refused.length > 0 ? 'warning' : 'notice'} role="status">
        Rows carried out: {done}. Rows refused: {refused.length}.
      </p>
      <p class="actions">
        <a class="button" href="/console/deals">
          To the deals
        </a>
        <a class="button quiet" href={path}>
          Choose another file
        </a>
      </p>
      <Refused file={file} found={found} sorted={{ ...sorted, replayed }} />
    </>
  )
}

const maxShown = 50

const columns: readonly Column<Refusal>[] = [
  { title: 'Line', isNumber: true, cell: ({ row }) => String(row.line) },
  { title: 'Reason', cell: ({ reason }) => reason },
  { title: 'Row', cell: ({ row }) => <code>{textOf(row.source)}</code> },
]

const textOf = (source: Refusal['row']['source']): string => {
  const text = typeof source === 'string' ? source : source.join(', ')
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function Refused({ file, found, sorted: { refused } }: FileProps) {
  if (refused.length === 0) return null
  const ending = file.format
  // The page is the only place where the file is: the link has its content.
  const content = encodeURIComponent(textOfRefusals(refused, found.header, true))
  return (
    <section>
      <div class="head">
        <h2>Rows that cannot be imported</h2>
        <a class="button quiet" download={`refused.${ending}`} href={`data:application/octet-stream,${content}`}>
          Download the refused rows
        </a>
      </div>
      <p class="hint">
        Correct them in that file and import it. What was imported is not in it.{' '}
        {refused.length > maxShown && `The first ${maxShown} of ${refused.length} are shown; the file has all.`}
      </p>
      <Table caption="Rows that cannot be imported" columns={columns} rows={refused.slice(0, maxShown)} />
    </section>
  )
}
