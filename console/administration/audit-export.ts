/**
 * The entries of the audit log as a file. They are read page by page while the browser takes them, each page by the
 * whole pipeline of the API: a reader who loses the right on the way gets no further page. A file that was cut off
 * shows as a failed download.
 */
import { stringify } from 'csv-stringify/sync'
import { type HttpResponse, noStore } from '../../shared/platform/http/response.ts'
import { writeInTime } from '../../shared/platform/http/stream.ts'
import { changesInWords } from '../../shared/protocol/entry-changes.ts'
import type { AuthApi, AuthPage } from '../frame/auth-api.ts'
import type { Download } from '../frame/downloads.ts'
import { type AuditEntries, type AuditEntry, auditPath, auditQuery, auditRight } from './audit-query.ts'

const pageSize = 100

/** A browser that takes nothing for so long is cut off, in milliseconds. */
const stallMs = 60_000

const columns = [
  ...(['seq', 'at', 'actor', 'action', 'target', 'outcome', 'scheme', 'address', 'requestId', 'count'] as const),
  'reason',
  'changes',
  'client',
] as const

const inWords = ({ changes, ...entry }: AuditEntry) => ({ ...entry, changes: changesInWords(changes) })

/** One form of the file. */
interface FileForm {
  readonly contentType: string
  readonly head: string
  linesOf(entries: AuditEntries['items']): string
}

const forms: Readonly<Record<'csv' | 'ndjson', FileForm>> = {
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    // The mark tells a spreadsheet that this is UTF-8.
    head: `\ufeff${columns.join(',')}\r\n`,
    // Cells that a spreadsheet would take for formulas begin with an apostrophe.
    linesOf: (entries) =>
      stringify(entries.map(inWords), { columns: [...columns], escape_formulas: true, record_delimiter: '\r\n' }),
  },
  ndjson: {
    contentType: 'application/x-ndjson',
    head: '',
    linesOf: (entries) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
  },
}

/** `/account/audit/export?format=csv|ndjson`, with the filters of the page. */
export const auditExportPage = (download: Download): AuthPage => ({
  methods: ['GET'],
  path: `${auditPath}/export`,
  right: auditRight,
  render: (visit) =>
    download(visit, async () => {
      const { api, request } = visit
      const readPage = pageReader(api, request.query)
      // A refusal of the first page is shown as a page.
      const first = await readPage(undefined)
      return fileResponse(request.query.get('format') === 'ndjson' ? 'ndjson' : 'csv', first, readPage)
    }),
})

type ReadPage = (cursor: string | undefined) => Promise<AuditEntries>

function fileResponse(name: keyof typeof forms, first: AuditEntries, readPage: ReadPage): HttpResponse {
  const { contentType, head, linesOf } = forms[name]
  return {
    status: 200,
    headers: {
      ...noStore,
      'content-type': contentType,
      'content-disposition': `attachment; filename="audit.${name}"`,
    },
    endsByItself: true,
    body: async (stream) => {
      if (head !== '') stream.write(head)
      let page = first
      for (;;) {
        await writeInTime(stream, linesOf(page.items), stallMs)
        if (page.nextCursor === null || stream.ended.aborted) return
        page = await readPage(page.nextCursor)
      }
    },
  }
}

const pageReader =
  (api: AuthApi, query: URLSearchParams): ReadPage =>
  (cursor) =>
    api.get('GET /audit', { query: { ...auditQuery(query), limit: pageSize, cursor } })
