import type { StoredKind } from '../../shared/platform/database/measure-table.ts'

/** The positions of events, with times: the last one of each slice. */
export const eventPositions = {
  table: `(
    select s.last_position as position, (
      select e.occurred_at from deals.events e
      where e.bucket = s.bucket and e.number > s.upto - s.total and e.number <= s.upto order by e.number limit 1
    ) as occurred_at from deals.event_slices s) e`,
  number: 'position',
  madeAt: 'occurred_at',
}

/** What the tables of the deal server hold. */
export const dealKinds: readonly StoredKind[] = [
  {
    name: 'deals',
    table: 'deals.deals',
    madeAt: 'created_at',
    kept: true,
    removal: 'deleted ones at their purgeAt',
    removedFrom: 'purge_at',
    removedIf: 'purge_at is not null',
  },
  { name: 'tasks', table: 'deals.tasks', madeAt: 'created_at', kept: true, removal: 'with their deal' },
  {
    name: 'events',
    table: 'deals.events',
    madeAt: 'occurred_at',
    numbered: eventPositions,
    kept: true,
    removal: 'by `ops events archive --remove`, of purged deals',
  },
  {
    name: 'commands',
    table: 'deals.commands',
    madeAt: 'requested_at',
    kept: true,
    removal: 'never; their answers when these expire',
    removedFrom: 'expires_at',
    removedIf: 'outcome is not null',
  },
  { name: 'webhooks', table: 'deals.webhooks', madeAt: 'created_at', kept: true, removal: 'by their users' },
  {
    name: 'attempts of webhooks',
    table: 'deals.webhook_attempts',
    madeAt: 'at',
    number: 'id',
    kept: false,
    removal: 'after 30 days',
    removedFrom: 'at',
    removedAfterDays: 30,
  },
  {
    name: 'used signatures (deals)',
    table: 'deals.used_signatures',
    kept: false,
    removal: 'when they expire',
    removedFrom: 'expires_at',
  },
  {
    name: 'Digest nonces (deals)',
    table: 'deals.digest_counts',
    kept: false,
    removal: 'when they expire',
    removedFrom: 'expires_at',
  },
]
