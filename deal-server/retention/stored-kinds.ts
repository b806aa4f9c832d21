import { isNotNull, sql } from 'drizzle-orm'
import type { StoredKind } from '../../shared/platform/database/measure-table.ts'
import { nameOfTable } from '../../shared/platform/database/statement.ts'
import { e, s } from '../store/aliases.ts'
import {
  commands,
  deals,
  digestCounts,
  eventSlices,
  events,
  tasks,
  usedSignatures,
  webhookAttempts,
  webhooks,
} from '../store/schema.ts'

/** The positions of events, with times: the last one of each slice. */
export const eventPositions = {
  table: sql`(
    select ${s.lastPosition} as position, (
      select ${e.occurredAt} from ${events} ${e}
      where ${e.bucket} = ${s.bucket} and ${e.number} > ${s.upto} - ${s.total} and ${e.number} <= ${s.upto}
      order by ${e.number} limit 1
    ) as occurred_at from ${eventSlices} ${s}) e`,
  number: sql`position`,
  madeAt: sql`occurred_at`,
}

/** What the tables of the deal server hold. */
export const dealKinds: readonly StoredKind[] = [
  {
    name: 'deals',
    table: nameOfTable(deals),
    madeAt: deals.createdAt,
    kept: true,
    removal: 'deleted ones at their purgeAt',
    removedFrom: deals.purgeAt,
    removedIf: isNotNull(deals.purgeAt),
  },
  { name: 'tasks', table: nameOfTable(tasks), madeAt: tasks.createdAt, kept: true, removal: 'with their deal' },
  {
    name: 'events',
    table: nameOfTable(events),
    madeAt: events.occurredAt,
    numbered: eventPositions,
    kept: true,
    removal: 'by `ops events archive --remove`, of purged deals',
  },
  {
    name: 'commands',
    table: nameOfTable(commands),
    madeAt: commands.requestedAt,
    kept: true,
    removal: 'never; their answers when these expire',
    removedFrom: commands.expiresAt,
    removedIf: isNotNull(commands.outcome),
  },
  { name: 'webhooks', table: nameOfTable(webhooks), madeAt: webhooks.createdAt, kept: true, removal: 'by their users' },
  {
    name: 'attempts of webhooks',
    table: nameOfTable(webhookAttempts),
    madeAt: webhookAttempts.at,
    number: webhookAttempts.id,
    kept: false,
    removal: 'after 30 days',
    removedFrom: webhookAttempts.at,
    removedAfterDays: 30,
  },
  {
    name: 'used signatures (deals)',
    table: nameOfTable(usedSignatures),
    kept: false,
    removal: 'when they expire',
    removedFrom: usedSignatures.expiresAt,
  },
  {
    name: 'Digest nonces (deals)',
    table: nameOfTable(digestCounts),
    kept: false,
    removal: 'when they expire',
    removedFrom: digestCounts.expiresAt,
  },
]
