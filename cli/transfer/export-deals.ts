/** Exports a list of deals: page by page into a stream, whose end makes it a file. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { stringify } from 'csv-stringify'
import { cellsOf, csvForm, type ListedDeal } from '../../deal-server/files/cells.ts'
import type { FileFormat } from '../../deal-server/files/rows.ts'
import { writeWhole } from '../../shared/platform/files/whole-file.ts'
import { type DealServer, fetchPatiently, type Patience } from './deal-server.ts'
import type { Progress } from './progress.ts'

/** What is exported, and how. */
export interface ExportOptions extends Patience {
  /** The path; undefined: `output`. */
  readonly file: string | undefined
  readonly output: NodeJS.WritableStream
  readonly format: FileFormat
  readonly delimiter: string
  /** Puts an apostrophe before cells that a spreadsheet would take for a formula. */
  readonly escapesFormulas: boolean
  /** The filters and the order, as the list has them. */
  readonly query: Readonly<Record<string, string>>
  startProgress(total: number | undefined): Progress
}

interface Page {
  readonly items: readonly ListedDeal[]
  readonly nextCursor: string | null
  /** How many deals match, at the time of the first page. */
  readonly totalCount?: number
}

const pageSize = '200'

/** Exports deals; resolves to their number. A file is there when it is whole. @throws refusals of the server */
export async function exportDeals(server: DealServer, options: ExportOptions): Promise<number> {
  const { file, output, format, signal } = options
  let rows = 0
  let progress: Progress | undefined
  const deals = async function* () {
    for await (const { items, totalCount } of readPages(server, options)) {
      progress ??= options.startProgress(totalCount)
      yield* items
      rows += items.length
      progress.update({ done: rows, rows })
    }
  }
  const writeTo = async (target: NodeJS.WritableStream) => {
    // The output of the process stays open.
    const ending = { end: target !== output, ...(signal && { signal }) }
    if (format === 'ndjson') await pipeline(Readable.from(deals()), linesOf, target, ending)
    else await pipeline(Readable.from(deals()), rowsOf, csvOf(options), target, ending)
  }
  try {
    await (file === undefined ? writeTo(output) : writeWhole(file, writeTo))
    return rows
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    progress?.stop()
  }
}

async function* readPages(server: DealServer, { query, ...patience }: ExportOptions): AsyncGenerator<Page> {
  let cursor: string | null | undefined
  do {
    const parameters = new URLSearchParams({ sort: 'createdAt', ...query, limit: pageSize, ...(cursor && { cursor }) })
    // Only the first page is asked for the number: it shows how long the rest takes.
    const init = cursor ? {} : { headers: { prefer: 'count=exact' } }
    const page: Page = JSON.parse(
      await fetchPatiently(server, { path: `/rest/v1/deals?${parameters}`, init }, patience),
    )
    yield page
    cursor = page.nextCursor
  } while (cursor !== null)
}

type Deals = AsyncIterable<ListedDeal>

async function* linesOf(deals: Deals): AsyncGenerator<string> {
  for await (const deal of deals) yield `${JSON.stringify(deal)}\n`
}

const csvOf = (options: ExportOptions) => stringify({ header: true, ...csvForm(options) })

async function* rowsOf(deals: Deals) {
  for await (const deal of deals) yield cellsOf(deal)
}
