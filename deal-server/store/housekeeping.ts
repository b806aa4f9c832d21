/**
 * Deletes expired data of the deal server. Events stay for ever, and so do their deal ids: the id of a purged deal is
 * never used again. Commands stay too, without their outcomes, so that a late duplicate never runs, not even after its
 * deal was purged.
 */
import { sql } from 'drizzle-orm'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import {
  createDigestCountExpiry,
  createUsedSignatureExpiry,
} from '../../shared/protocol/authentication/credential-expiry.ts'
import { commands, deals, digestCounts, eventSlices, events, tasks, usedSignatures, webhookAttempts } from './schema.ts'

/** Answers of commands that are no longer kept: what is left of the command says that it was carried out. */
const expiredAnswers = expiryJob({
  name: 'answers of commands',
  table: commands,
  expiresAt: commands.expiresAt,
  condition: () => sql`${commands.outcome} is not null`,
  remove: async (drizzle, isInBatch) => {
    const rows = await drizzle
      .update(commands)
      .set({ outcome: sql`null` })
      .where(isInBatch)
      .returning({ one: sql<number>`1` })
    return rows.length
  },
})

/**
 * Purges deleted deals that can no longer be restored, with their tasks. Their events and commands lose all names,
 * reasons and amounts; type, time and actor stay.
 */
const purgedDeals = expiryJob({
  name: 'deleted deals',
  table: deals,
  expiresAt: deals.purgeAt,
  remove: async (drizzle, isInBatch) => {
    const purged = drizzle.$with('purged').as(drizzle.delete(deals).where(isInBatch).returning({ id: deals.id }))
    // As an array, the ids are looked up: nobody can tell how many they are when a join is planned.
    const ids = sql`any(array(select id from ${purged}))`
    const ofTasks = drizzle
      .$with('of_tasks')
      .as(drizzle.delete(tasks).where(sql`${tasks.dealId} = ${ids}`).returning({ id: tasks.id }))
    const ofEvents = drizzle
      .$with('of_events')
      .as(drizzle.update(events).set({ data: {} }).where(sql`${events.dealId} = ${ids}`).returning({ id: events.id }))
    // A refusal has no data of the deal: it stays until it expires.
    const outcome = sql`case ${commands.outcome} ->> 'state' when 'refused' then ${commands.outcome} end`
    const ofCommands = drizzle
      .$with('of_commands')
      .as(
        drizzle
          .update(commands)
          .set({ params: {}, outcome })
          .where(sql`${commands.dealId} = ${ids}`)
          .returning({ id: commands.commandId }),
      )
    const rows = await drizzle.with(purged, ofTasks, ofEvents, ofCommands).select({ id: purged.id }).from(purged)
    return rows.length
  },
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
    const hasEvent = sql`exists (
      select from deals.events e
      where e.bucket = oldest.bucket and e.number > oldest.upto - oldest.total and e.number <= oldest.upto)`
    const removed = await drizzle
      .delete(eventSlices)
      .where(
        sql`${eventSlices.lastPosition} in (
          with oldest as materialized (select * from deals.event_slices order by last_position limit ${limit})
          select oldest.last_position from oldest where not ${hasEvent})`,
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
  oldAttempts,
  emptySlices,
]
