/** `keyhold deals list`, `show`, `history` (docs/contract/operators.md#command-line). */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { DealComponents, DealPaths } from '../../client/src/index.ts'
import { printable } from '../../shared/platform/terminal/printable.ts'
import type { Report } from '../../shared/platform/terminal/report.ts'
import { columns, fields } from '../../shared/platform/terminal/tables.ts'
import type { CallerPorts } from '../context/ports.ts'

type Schemas = DealComponents['schemas']
type ListQuery = NonNullable<DealPaths['/rest/v1/deals']['get']['parameters']['query']>

type ListOptions = Omit<ListQuery, 'limit' | 'cursor' | 'held'> & {
  readonly held?: boolean
  readonly limit: number
}

/** Adds the commands that read deals. */
export function addDealReading(deals: Command, ports: CallerPorts): void {
  addList(deals, ports)
  deals
    .command('show <deal>')
    .description('one deal with its tasks, and what you may do with it now')
    .action(ports.report((id: string) => show(id, ports)))
  deals
    .command('summary')
    .description('how many deals there are, and what they are worth, by status, owner and currency')
    .option('--by <members>', 'what makes a group: status, held, ownerId, currency', 'status,held,ownerId')
    .action(ports.report(({ by }: { by: string }) => summary(by, ports)))
  deals
    .command('history <deal>')
    .description('what happened to a deal, oldest first')
    .action(ports.report((id: string) => history(id, ports)))
}

function addList(deals: Command, ports: CallerPorts): void {
  deals
    .command('list')
    .description('deals, newest first')
    .addOption(new Option('--status <status>', 'in this status').choices(['open', 'completed', 'cancelled']))
    .option('--held', 'held ones')
    .option('--no-held', 'those that are not held')
    .option('--owner-id <user>', 'of this owner')
    .option('--q <text>', 'with this text in name or description')
    .option('--currency <code>', 'in this currency')
    .option('--price-min <amount>', 'from this price, with --currency')
    .option('--price-max <amount>', 'up to this price, with --currency')
    .option('--completion-from <date>', 'to be completed from this day')
    .option('--completion-to <date>', 'to be completed up to this day')
    .option('--created-from <time>', 'made at this time or later, such as 2030-01-31T00:00:00Z')
    .option('--created-to <time>', 'made before this time')
    .option('--updated-from <time>', 'changed at this time or later')
    .option('--updated-to <time>', 'changed before this time')
    .option('--sort <member>', 'by name, price, createdAt …, with a hyphen in front for descending: --sort=-price')
    .option('--limit <count>', 'at most this number', count, 50)
    .addHelpText('after', '\nExamples:\n  keyhold deals list --status open --no-held\n  keyhold --json deals list')
    .action(ports.report((options: ListOptions) => list(options, ports)))
}

/** Parses a number of rows. */
export function count(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a number from 1 to 9999999.')
}

async function list({ limit, held, ...others }: ListOptions, { connect }: CallerPorts): Promise<Report> {
  const keyhold = await connect()
  const query: ListQuery = {
    ...others,
    ...(held !== undefined && { held: held ? 'true' : 'false' }),
    limit: Math.min(limit, 200),
  }
  const found: Schemas['ListedDeal'][] = []
  for await (const deal of keyhold.deals.items('/rest/v1/deals', { params: { query } })) {
    found.push(deal)
    if (found.length === limit) break
  }
  return { json: found, text: found.length === 0 ? 'There are no such deals.' : columns(titles, found.map(rowOf)) }
}

const titles = ['ID', 'NAME', 'PRICE', 'STATUS', 'OWNER', 'COMPLETION']

const rowOf = (deal: Schemas['ListedDeal']): string[] => [
  deal.id,
  deal.name,
  `${deal.priceText} ${deal.currency}`,
  stateOf(deal),
  deal.ownerId,
  deal.completionDate ?? '-',
]

const stateOf = ({ status, held }: Schemas['ListedDeal']): string => (held ? `${status}, held` : status)

async function show(id: string, { connect }: CallerPorts): Promise<Report> {
  const keyhold = await connect()
  const params = { path: { id }, query: { expand: 'allowed' as const } }
  const { data: deal } = await keyhold.deals.GET('/rest/v1/deals/{id}', { params })
  return { json: deal, text: dealTextOf(deal) }
}

async function summary(by: string, { connect }: CallerPorts): Promise<Report> {
  const keyhold = await connect()
  const { data } = await keyhold.deals.GET('/rest/v1/deals/summary', { params: { query: { by } } })
  const rows = data.items.map(({ status, held, ownerId, currency, count: number, valueText }) => [
    status ?? '-',
    held === undefined ? '-' : String(held),
    ownerId ?? '-',
    String(number),
    `${valueText} ${currency}`,
  ])
  const left = data.otherCount === 0 ? '' : `\n${data.otherCount} deals are in further groups.`
  return { json: data, text: `${columns(['STATUS', 'HELD', 'OWNER', 'DEALS', 'VALUE'], rows)}${left}` }
}

/** A deal as people read it. */
export function dealTextOf(deal: Schemas['Deal']): string {
  const hold = deal.held ? ` for "${deal.holdReason}" by ${deal.heldBy} since ${deal.heldAt}` : ''
  const values: [string, string | null | undefined][] = [
    ['id', deal.id],
    ['name', deal.name],
    ['price', `${deal.priceText} ${deal.currency}`],
    ['status', stateOf(deal) + hold],
    ['owner', deal.ownerId],
    ['completion', deal.completionDate],
    ['description', deal.description],
    ['version', String(deal.version)],
    ['changed', `${deal.updatedAt} by ${deal.updatedBy}`],
    ['deleted', deal.deletedAt],
    ['allowed', deal.allowed?.join(', ')],
  ]
  const known = values.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const tasks = deal.tasks.map(({ id, title, status, assigneeId, dueDate }) => [
    id,
    title,
    status,
    assigneeId ?? '-',
    dueDate ?? '-',
  ])
  const taskTable = tasks.length === 0 ? '' : `\n\n${columns(['TASK', 'TITLE', 'STATUS', 'ASSIGNEE', 'DUE'], tasks)}`
  return fields(known) + taskTable
}

async function history(id: string, { connect }: CallerPorts): Promise<Report> {
  const keyhold = await connect()
  const events: Schemas['Event'][] = []
  const params = { path: { id }, query: { limit: 200 } }
  for await (const event of keyhold.deals.items('/rest/v1/deals/{id}/history', { params })) events.push(event)
  return { json: events, text: events.map(lineOf).join('\n') }
}

/** An event on one line. */
export const lineOf = ({ time, type, subject, actor, data }: Schemas['Event']): string =>
  printable([time, subject, type, actor, JSON.stringify(data)].join('  '))
