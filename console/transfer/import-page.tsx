/**
 * `/console/deals/import`: a file is checked without creating anything, then imported. Between the two steps the page
 * keeps the file: the server keeps nothing. Each row has the same command id in each run, so nothing is done twice.
 */
import type { PageResult, ShownPage } from '../frame/console.tsx'
import type { DealPage, DealVisit } from '../frame/deal-api.ts'
import { runBatch } from '../parts/batch.ts'
import { transferTexts as texts } from '../texts/lists.ts'
import { CheckedFile, ImportForm, ImportResult } from './import-parts.tsx'
import { commandsOf, type FileRows, maxBytes, readFile, type SentFile, sortRows } from './read-file.ts'

/** The page and its forms. */
export const importPage = (): DealPage => ({
  methods: ['GET', 'POST'],
  path: '/console/deals/import',
  right: 'deal.create',
  // Forms write each line break in two bytes.
  maxFileBytes: 2 * maxBytes + 64 * 1024,
  render: (visit) => (visit.request.method === 'GET' ? ask(visit) : take(visit)),
})

interface Fault {
  readonly name: 'file' | 'format'
  readonly message: string
}

const ask = ({ form }: DealVisit, fault?: Fault): ShownPage => {
  const errors = fault === undefined ? undefined : [{ pointer: `/${fault.name}`, code: 'invalid', ...fault }]
  return {
    title: 'Import deals',
    status: fault === undefined ? 200 : 422,
    content: (
      <ImportForm
        problem={errors && { detail: fault?.message ?? '', errors }}
        format={form.get('format')}
        delimiter={form.get('delimiter')}
      />
    ),
  }
}

async function take(visit: DealVisit): Promise<PageResult> {
  const file = fileIn(visit)
  if ('fault' in file) return ask(visit, file.fault)
  const found = await readFile(file)
  if ('fault' in found) return ask(visit, { name: 'file', message: found.fault })
  return visit.form.get('stage') === 'run' ? run(visit, file, found) : check(visit, file, found)
}

/** The file that was uploaded, or that a page has kept. */
function fileIn({ form, files }: DealVisit): SentFile | { readonly fault: Fault } {
  const uploaded = files.get('file')
  if (uploaded && 'fault' in uploaded) return { fault: { name: 'file', message: uploaded.fault } }
  const content = uploaded?.text ?? form.get('content')
  if (content === undefined) return { fault: { name: 'file', message: 'Choose a file.' } }
  const text = content.replace(/\r\n?/g, '\n')
  if (Buffer.byteLength(text) > maxBytes) return { fault: { name: 'file', message: `The file is larger than 1 MiB.` } }
  const format = formatOf(form.get('format'), uploaded?.name ?? '')
  if (format === undefined)
    return { fault: { name: 'format', message: 'The name does not say which format it is. Choose one.' } }
  const delimiter = form.get('delimiter') ?? ','
  return { text, format, delimiter: Object.hasOwn(texts.delimiters, delimiter) ? delimiter : ',' }
}

function formatOf(chosen: string | undefined, name: string): SentFile['format'] | undefined {
  if (chosen === 'csv' || chosen === 'ndjson') return chosen
  const ending = name.split('.').at(-1)?.toLowerCase()
  if (ending === 'csv') return 'csv'
  return ending === 'ndjson' || ending === 'jsonl' ? 'ndjson' : undefined
}

async function check({ api }: DealVisit, file: SentFile, found: FileRows): Promise<PageResult> {
  const sorted = sortRows(found, await runBatch(api, commandsOf(found), true))
  return {
    title: 'What the file has',
    content: <CheckedFile file={file} found={found} sorted={sorted} />,
  }
}

async function run({ api }: DealVisit, file: SentFile, found: FileRows): Promise<PageResult> {
  const sorted = sortRows(found, await runBatch(api, commandsOf(found)))
  return { title: 'The file was imported', content: <ImportResult file={file} found={found} sorted={sorted} /> }
}
