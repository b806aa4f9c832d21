/** What the pages of an import show. */

import { type Refusal, textOfRefusals } from '../../deal-server/files/cells.ts'
import { creationColumns, requiredColumns } from '../../deal-server/files/columns.ts'
import { type Column, Table } from '../frame/content.tsx'
import { ErrorSummary, Field, type FormFaults, fieldErrors } from '../frame/fields.tsx'
import { batchTexts } from '../texts/batch.ts'
import { transferTexts as texts } from '../texts/lists.ts'
import { type FileRows, maxBytes, maxRows, type SentFile, type Sorted } from './read-file.ts'

const path = '/console/deals/import'

interface FormParts {
  readonly problem: FormFaults | undefined
  readonly format: string | undefined
  readonly delimiter: string | undefined
}

const optionsOf = (names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([value, text]) => ({ value, text }))

/** The form that takes a file. */
export function ImportForm({ problem, format = 'auto', delimiter = ',' }: FormParts) {
  const errors = fieldErrors(problem)
  const fields = [
    { name: 'file', label: texts.file, kind: 'file', isRequired: true, hint: texts.fileHint, error: errors.file },
    { name: 'format', label: texts.format, kind: 'select', options: optionsOf(texts.formats), value: format },
    { name: 'delimiter', label: texts.delimiter, kind: 'select', options: optionsOf(texts.delimiters) },
  ] as const
  const [file, formats, delimiters] = fields
  return (
    <>
      <h1>{texts.title}</h1>
      <p>{texts.intro}</p>
      <ErrorSummary problem={problem} fields={fields} />
      <form method="post" action={path} enctype="multipart/form-data" class="panel stack">
        <Field {...file} accept=".csv,.ndjson,.jsonl" />
        <div class="row">
          <Field {...formats} error={errors.format} isFilter />
          <Field {...delimiters} value={delimiter} isFilter />
        </div>
        <button type="submit">{texts.check}</button>
      </form>
      <Limits />
    </>
  )
}

function Limits() {
  const further = creationColumns.filter((name) => !requiredColumns.includes(name))
  return (
    <section class="panel">
      <h2>{texts.columns}</h2>
      <dl class="facts">
        <dt>{texts.needed}</dt>
        <dd>
          <code>{requiredColumns.join(', ')}</code>
        </dd>
        <dt>{texts.further}</dt>
        <dd>
          <code>{further.join(', ')}</code>
        </dd>
      </dl>
      <p class="hint">{texts.leftOut}</p>
      <p>
        {texts.limits(String(maxRows), `${maxBytes / 1024 / 1024} MiB`)} <code>npx keyhold deals import FILE</code>
      </p>
    </section>
  )
}

interface FileParts {
  readonly file: SentFile
  readonly found: FileRows
  readonly sorted: Sorted
}

/** What a file has, and the form that imports it. With a script the import shows its progress. */
export function CheckedFile({ file, found, sorted }: FileParts) {
  const { done, replayed, refused } = sorted
  return (
    <>
      <h1>{texts.checked}</h1>
      <p class={refused.length > 0 ? 'warning' : 'notice'} role="status">
        {done === 0 ? texts.noGood : texts.good(done, refused.length)}
        {replayed > 0 && ` ${texts.doneBefore(replayed)}`}
      </p>
      {found.leftOut.length > 0 && <p class="hint">{texts.left(found.leftOut.join(', '))}</p>}
      <p class="hint">{texts.dryRun}</p>
      <form
        method="post"
        action={path}
        enctype="multipart/form-data"
        class="actions import"
        data-texts={JSON.stringify(batchTexts)}
      >
        <input type="hidden" name="stage" value="run" />
        <input type="hidden" name="format" value={file.format} />
        <input type="hidden" name="delimiter" value={file.delimiter} />
        <input type="hidden" name="content" value={file.text} />
        {done > 0 && <button type="submit">{texts.run(done)}</button>}
        <a class="button quiet" href={path}>
          {texts.otherFile}
        </a>
      </form>
      <Refused file={file} found={found} sorted={sorted} />
    </>
  )
}

/** What became of the rows. */
export function ImportResult({ file, found, sorted }: FileParts) {
  const { done, replayed, refused } = sorted
  return (
    <>
      <h1>{texts.resultTitle}</h1>
      <p class={refused.length > 0 ? 'warning' : 'notice'} role="status">
        {texts.result(done, refused.length)}
      </p>
      <p class="actions">
        <a class="button" href="/console/deals">
          {texts.toDeals}
        </a>
        <a class="button quiet" href={path}>
          {texts.otherFile}
        </a>
      </p>
      <Refused file={file} found={found} sorted={{ ...sorted, replayed }} />
    </>
  )
}

const maxShown = 50

const columns: readonly Column<Refusal>[] = [
  { title: texts.line, isNumber: true, cell: ({ row }) => String(row.line) },
  { title: texts.reason, cell: ({ reason }) => reason },
  { title: texts.content, cell: ({ row }) => <code>{textOf(row.source)}</code> },
]

const textOf = (source: Refusal['row']['source']): string => {
  const text = typeof source === 'string' ? source : source.join(', ')
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

function Refused({ file, found, sorted: { refused } }: FileParts) {
  if (refused.length === 0) return null
  const ending = file.format
  // The page is the only place where the file is: the link has its content.
  const content = encodeURIComponent(textOfRefusals(refused, found.header, true))
  return (
    <section>
      <div class="head">
        <h2>{texts.refusedRows}</h2>
        <a class="button quiet" download={`refused.${ending}`} href={`data:application/octet-stream,${content}`}>
          {texts.download}
        </a>
      </div>
      <p class="hint">
        {texts.downloadHint} {refused.length > maxShown && texts.shown(maxShown, refused.length)}
      </p>
      <Table caption={texts.refusedRows} columns={columns} rows={refused.slice(0, maxShown)} />
    </section>
  )
}
