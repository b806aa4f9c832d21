/**
 * Deletes expired data of the deal server. Commands stay for ever, without their outcomes, so that a late duplicate
 * never runs, not even after its deal was purged.
 */
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import {
  createDigestCountExpiry,
  createUsedSignatureExpiry,
} from '../../shared/protocol/authentication/credential-expiry.ts'
import { rejectedCode } from '../domain/proposals.ts'
import { e, s } from './aliases.ts'
import {
  commands,
  deals,
  digestCounts,
  eventSlices,
  events,
  proposals,
  tasks,
  usedSignatures,
  webhookAttempts,
} from './schema.ts'

/** Answers of commands that are no longer kept: what is left of the command says that it was carried out. */
const expiredAnswers: HousekeepingJob = {
  name: 'answers of commands',
  removeBatch: async (drizzle, { now, limit }) => {
    const key = sql`(${commands.principalId}, ${commands.commandId}, ${commands.bucket})`
    const rows = await drizzle
      .update(commands)
      .set({ outcome: sql`null` })
      .where(
        sql`${key} in (
          with batch as materialized (
            select ${commands.principalId}, ${commands.commandId}, ${commands.bucket} from ${commands}
            where ${commands.outcome} is not null and ${commands.expiresAt} <= ${now}::timestamptz
            order by ${commands.expiresAt} limit ${limit}
          ) select * from batch)`,
      )
      .returning({ one: sql<number>`1` })
    return rows.length
  },
}

/**
 * Purges deleted deals that can no longer be restored, with their tasks. Their events and commands lose all names,
 * reasons and amounts; type, time and actor stay. Commands come first: a deal that is left behind is purged later.
 */
const purgedDeals: HousekeepingJob = {
  name: 'deleted deals',
  removeBatch: async (drizzle, { now, limit }) => {
    const isDue = sql`${deals.purgeAt} <= ${now}::timestamptz`
    const found = await drizzle
      .select({ id: deals.id, bucket: deals.bucket })
      .from(deals)
      .where(isDue)
      .orderBy(deals.purgeAt)
      .limit(limit)
    if (found.length === 0) return 0
    const ids = found.map(({ id }) => id)
    // A refusal has no data of the deal: it stays until it expires. A rejection has a reason.
    const outcome = sql`case when ${commands.outcome} ->> 'state' = 'refused'
      and ${commands.outcome} ->> 'code' <> ${rejectedCode} then ${commands.outcome} end`
    await drizzle.update(commands).set({ params: {}, outcome }).where(inArray(commands.dealId, ids))
    await drizzle.delete(proposals).where(inArray(proposals.dealId, ids))
    let count = 0
    for (const deal of found) count += await purge(drizzle, deal, isDue)
    return count
  },
}

/** Each statement has the rows of one bucket. */
async function purge(drizzle: Drizzle, deal: { readonly id: string; readonly bucket: number }, isDue: SQL) {
  const purged = drizzle.$with('purged').as(
    drizzle
      .delete(deals)
      .where(and(eq(deals.id, deal.id), eq(deals.bucket, deal.bucket), isDue))
      .returning({ id: deals.id }),
  )
  const isPurged = sql`exists (select 1 from ${purged})`
  const ofTasks = drizzle.$with('of_tasks').as(
    drizzle
      .delete(tasks)
      .where(and(eq(tasks.dealId, deal.id), eq(tasks.bucket, deal.bucket), isPurged))
      .returning({ id: tasks.id }),
  )
  const ofEvents = drizzle.$with('of_events').as(
    drizzle
      .update(events)
      .set({ data: {} })
      .where(and(eq(events.dealId, deal.id), eq(events.bucket, deal.bucket), isPurged))
      .returning({ id: events.id }),
  )
  const rows = await drizzle.with(purged, ofTasks, ofEvents).select({ id: purged.id }).from(purged)
  return rows.length
}

/** The outcomes of their commands are kept for as long after the decision. */
const proposalsKeptDays = 30

/** Proposals, open or not, that were made so long ago. */
const oldProposals = expiryJob({
  name: 'proposals',
  table: proposals,
  expiresAt: sql`${proposals.proposedAt} + ${sql.raw(`interval '${proposalsKeptDays} days'`)}`,
})

const attemptsKeptDays = 30

/** Attempts to deliver events to webhooks that have no further ones. */
const oldAttempts = expiryJob({
  name: 'attempts of webhooks',
  table: webhookAttempts,
  expiresAt: sql`${webhookAttempts.at} + ${sql.raw(`interval '${attemptsKeptDays} days'`)}`,
})

/**
 * Puts new events into slices, for lists and for whoever reads later, where nobody reads events now. Then removes the
 * oldest slices whose events are all gone.
 */
const emptySlices: HousekeepingJob = {
  name: 'slices without events',
  removeBatch: async (drizzle, { limit }) => {
    await drizzle.execute(sql`select deals.slice_events()`)
    const removed = await drizzle
      .delete(eventSlices)
      .where(
        sql`${eventSlices.lastPosition} in (
          with oldest as materialized (
            select * from ${eventSlices} order by ${eventSlices.lastPosition} limit ${limit}
          ),
          filled as materialized (
            select ${s.lastPosition} from oldest s cross join lateral (
              select distinct on (${e.bucket}) ${e.bucket} from ${events} ${e}
              where ${e.bucket} = ${s.bucket} and ${e.number} > ${s.upto} - ${s.total} and ${e.number} <= ${s.upto}) e
          )
          select ${s.lastPosition} from oldest s except select ${s.lastPosition} from filled s)`,
      )
      .returning({ one: sql<number>`1` })
    return removed.length
  },
}

/** The jobs of the deal server. */
export const dealHousekeepingJobs: readonly HousekeepingJob[] = [
  expiredAnswers,
  purgedDeals,
  createUsedSignatureExpiry(usedSignatures),
  createDigestCountExpiry(digestCounts),
  oldProposals,
  oldAttempts,
  emptySlices,
]
