/** A command as a resource (deal model 2.2, point 4): what was asked, by whom, and what came of it. */
import { mapAmounts } from '../../commands/amount-parameters.ts'
import type { ShownCommand } from '../../commands/command-context.ts'
import type { SucceededCommand } from '../../commands/ports.ts'
import { pathOf } from './represent-deal.ts'
import { etagOf } from './responses.ts'

export interface CommandView {
  readonly commandId: string
  readonly dealId: string
  readonly useCase: string
  readonly params: Readonly<Record<string, unknown>>
  readonly requestedBy: string
  readonly requestedAt: string
}

const linksOf = ({ commandId, dealId }: CommandView) => ({
  self: `/commands/${encodeURIComponent(commandId)}`,
  inDeal: `/rest/v1/deals/${dealId}/commands/${encodeURIComponent(commandId)}`,
  deal: `/rest/v1/deals/${dealId}`,
})

/** Amounts are kept as decimal text, and read in major units as JSON numbers, as everywhere. */
const withAmounts = (params: CommandView['params']): CommandView['params'] => mapAmounts(params, Number)

const asked = (view: CommandView) => ({
  id: view.commandId,
  deal: view.dealId,
  action: view.useCase,
  params: withAmounts(view.params),
})

const when = (view: CommandView) => ({
  requestedBy: view.requestedBy,
  requestedAt: view.requestedAt,
  finishedAt: view.requestedAt,
  links: linksOf(view),
})

/** What a command came to; without the events for a caller who may not read deals. */
interface Result extends Pick<ShownCommand, 'deal' | 'changed'> {
  readonly events: SucceededCommand['events'] | undefined
}

/** A command that succeeded. */
export const representSucceeded = (view: CommandView, { deal, changed, events }: Result) => ({
  ...asked(view),
  state: 'succeeded',
  status: 200,
  result: { version: deal.version, etag: etagOf(deal), changed, ...(events && { events }), deal: pathOf(deal) },
  ...when(view),
})

/** A command that was refused, with its problem document. */
export const representRefused = (view: CommandView, problem: { readonly status: number }) => ({
  ...asked(view),
  state: 'refused',
  status: problem.status,
  problem,
  ...when(view),
})

/** A command whose answer is no longer kept. */
export const representExpired = (view: CommandView) => ({ ...asked(view), state: 'expired', ...when(view) })
