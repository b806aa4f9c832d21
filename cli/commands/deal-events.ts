/** `keyhold deals events`: follows the events of deals (docs/contract/reading.md#live-events). */
import type { Command } from 'commander'
import { events, isReset, type KeyholdEvent } from '../../client/src/index.ts'
import { list } from '../../shared/platform/terminal/options.ts'
import type { Report } from '../../shared/platform/terminal/report.ts'
import type { CallerPorts } from '../context/ports.ts'
import { lineOf } from './deals.ts'

interface EventOptions {
  readonly type?: string[]
  readonly after?: string
  readonly limit?: number
}

/** Adds the command to the group. */
export function addDealEvents(deals: Command, ports: CallerPorts, count: (text: string) => number): void {
  deals
    .command('events [deal]')
    .description('events as they happen, of one deal or of all, until Ctrl-C')
    .option('--type <types>', 'of these types alone; may be repeated', list)
    .option('--after <position>', 'those after this position too; 0 for all')
    .option('--limit <count>', 'end after this number', count)
    .addHelpText(
      'after',
      '\nWith --json, a line is {"id", "type", "data"}: `id` is the position to go on with, by --after. A lost\n' +
        'connection is made again, and no event is left out. The type `reset` says that events after its position may\n' +
        'be lost: another database server took over.\n\nExample:\n  keyhold deals events --type deal.held,deal.unheld',
    )
    .action(ports.report((deal: string | undefined, options: EventOptions) => follow(deal, options, ports)))
}

async function follow(deal: string | undefined, options: EventOptions, ports: CallerPorts): Promise<Report> {
  const { print, warn, interrupted, connect } = ports
  const signal = interrupted()
  const { type: types, after, limit = Number.POSITIVE_INFINITY } = options
  const onInterruption = (reason: unknown) => warn(`Interrupted (${(reason as Error).message}). Connecting again.`)
  const wanted = { ...(deal !== undefined && { deal }), ...(types && { types }), ...(after !== undefined && { after }) }
  let seen = 0
  for await (const event of events(await connect(), { ...wanted, signal, onInterruption })) {
    print(event, textOf(event))
    seen += 1
    if (seen >= limit) break
  }
  return { json: undefined, text: '' }
}

const textOf = (event: KeyholdEvent): string =>
  isReset(event)
    ? `Another database server took over. Events after ${event.data.position} may be lost.`
    : lineOf(event.data)
