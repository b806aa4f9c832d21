/** A command as a resource (docs/contract/http.md#shapes): the request, its sender, and its outcome. */
import { mapAmounts } from '../../commands/amount-parameters.ts'
import type { ShownCommand } from '../../commands/command-context.ts'
import type { SucceededCommand } from '../../commands/ports.ts'
import { pathOf } from './represent-deal.ts'
import { etagOf } from './responses.ts'

/** The request of a command, as its resource shows it. */
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

/** Amounts are stored as decimal text. Clients get them as JSON numbers in major units, as everywhere. */
const withAmounts = (params: CommandView['params']): CommandView['params'] => mapAmounts(params, Number)

const requestMembers = (view: CommandView) => ({
  id: view.commandId,
  deal: view.dealId,
  action: view.useCase,
  params: withAmounts(view.params),
})

const senderMembers = (view: CommandView) => ({
  requestedBy: view.requestedBy,
  requestedAt: view.requestedAt,
  finishedAt: view.requestedAt,
  links: linksOf(view),
})

/** The result of a command; without the events for a caller who may not read deals. */
interface Result extends Pick<ShownCommand, 'deal' | 'changed'> {
  readonly events: SucceededCommand['events'] | undefined
}

/** The resource of a command that succeeded. */
export const representSucceeded = (view: CommandView, { deal, changed, events }: Result) => ({
  ...requestMembers(view),
  state: 'succeeded',
  status: 200,
  result: { version: deal.version, etag: etagOf(deal), changed, ...(events && { events }), deal: pathOf(deal) },
  ...senderMembers(view),
})

/** The resource of a refused command, with its problem document. */
export const representRefused = (view: CommandView, problem: { readonly status: number }) => ({
  ...requestMembers(view),
  state: 'refused',
  status: problem.status,
  problem,
  ...senderMembers(view),
})

/** The resource of a command whose outcome is no longer kept. */
export const representExpired = (view: CommandView) => ({
  ...requestMembers(view),
  state: 'expired',
  ...senderMembers(view),
})
