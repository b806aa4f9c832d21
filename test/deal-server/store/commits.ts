import { randomUUID } from 'node:crypto'
import type { CommandKey, DealCommit } from '../../../deal-server/commands/ports.ts'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import { emptyFields } from '../../../deal-server/domain/deal-fields.ts'

const at = '2026-01-01T00:00:00.000Z'
const byAlice = { createdAt: at, createdBy: 'alice', updatedAt: at, updatedBy: 'alice' }
/** An open deal that only these tests know. */
export const newDeal = (id: string = randomUUID()): Deal => ({
  ...emptyFields,
  id,
  name: 'deal123',
  price: 1250,
  currency: 'EUR',
  ownerId: 'alice',
  status: 'open',
  version: 1,
  sequence: 1,
  held: false,
  penaltyTotal: 0,
  tasks: [],
  ...byAlice,
})

/** The commit of a creation, or of a change of `before`, whose event is the one of the deal's sequence. */
export function commitOf(
  deal: Deal,
  { before, key, happenedAt = at }: { before?: Deal; key?: CommandKey; happenedAt?: string } = {},
): DealCommit {
  const by = { key, actor: 'alice', actorUserId: randomUUID() }
  const context = { ...by, style: 'resource', requestId: randomUUID(), at: happenedAt }
  const event = { type: 'deal.renamed' as const, data: { name: deal.name, previous: 'before' } }
  const ofRequest = { style: 'resource', requestId: context.requestId, requestedBy: 'alice', signature: null }
  return {
    before,
    deal,
    tasks: [],
    context,
    events: [{ id: randomUUID(), sequence: deal.sequence, useCase: 'RenameDeal', event: event as never }],
    command: key && {
      key,
      dealId: deal.id,
      useCase: 'RenameDeal',
      params: {},
      fingerprint: 'f',
      outcome: undefined,
      ...ofRequest,
      requestedAt: at,
      expiresAt: at,
    },
  }
}

/** Writes an event of each deal, as a commit does, and nothing else. `$1`: text of a uuid array; `$2`: the sequence. */
export const writeEventsStatement = `
  with happening as (
    select id, deals.bucket_of(id) as bucket, row_number() over (partition by deals.bucket_of(id) order by id) as nth
    from unnest($1::text::uuid[]) d(id)
  ),
  counted as (
    update deals.event_counters c set count = c.count + h.many
    from (select bucket, count(*) as many from happening group by bucket order by bucket) h where c.bucket = h.bucket
    returning c.bucket, c.count - h.many as before
  )
  insert into deals.events (id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor, use_case,
    style, correlation_id, bucket, number)
  select gen_random_uuid(), h.id, $2::text::int, 1, 'deal.held', '{}', 'EUR', '2026-01-01T00:00:00Z', 'alice',
    'HoldDeal', 'resource', gen_random_uuid(), c.bucket, c.before + h.nth
  from happening h join counted c on c.bucket = h.bucket
  returning to_json(id) as id`
