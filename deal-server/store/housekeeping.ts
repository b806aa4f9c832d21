/**
 * What expires in the deal server's tables. Events stay for ever, and so do the ids they name: a purged deal's id is never used again.
 * Commands stay too, without their answers, so that a late duplicate never runs, not even when its deal is gone.
 */
import { sql } from 'drizzle-orm'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import {
  createDigestCountExpiry,
  createUsedSignatureExpiry,
} from '../../shared/protocol/authentication/credential-expiry.ts'
import { commands, deals, digestCounts, events, tasks, usedSignatures } from './schema.ts'

/** Answers of commands that are no longer kept: what is left of the command says that it was carried out. */
const expiredAnswers: HousekeepingJob = {
  name: 'answers of commands',
  removeBatch: async (drizzle, { now, limit }) => {
    // Found before it is changed: the planner could run a subquery of `in` several times, each time with other rows.
    const expired = sql`ctid = any(array(
      select c.ctid from ${commands} c where c.outcome is not null and c.expires_at <= ${now}::timestamptz
      order by c.expires_at limit ${limit} for update skip locked))`
    const rows = await drizzle
      .update(commands)
      .set({ outcome: sql`null` })
      .where(expired)
      .returning({ one: sql<number>`1` })
    return rows.length
  },
}

/**
 * Deals that were deleted so long ago that they can no longer be restored, with their tasks. Their events and commands lose every name,
 * reason and amount: what stays is that they happened, when, and by whom.
 */
const purgedDeals: HousekeepingJob = {
  name: 'deleted deals',
  removeBatch: async (drizzle, { now, limit }) => {
    const expired = sql`ctid = any(array(
      select d.ctid from ${deals} d where d.purge_at <= ${now}::timestamptz
      order by d.purge_at limit ${limit} for update skip locked))`
    const purged = drizzle.$with('purged').as(drizzle.delete(deals).where(expired).returning({ id: deals.id }))
    // As an array, the ids are looked up: nobody can tell how many they are when a join is planned.
    const ids = sql`any(array(select id from ${purged}))`
    const ofTasks = drizzle
      .$with('of_tasks')
      .as(drizzle.delete(tasks).where(sql`${tasks.dealId} = ${ids}`).returning({ id: tasks.id }))
    const ofEvents = drizzle
      .$with('of_events')
      .as(drizzle.update(events).set({ data: {} }).where(sql`${events.dealId} = ${ids}`).returning({ id: events.id }))
    // A refusal names nothing of the deal: it stays until it expires.
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
}

/** The jobs of the deal server. */
export const dealHousekeepingJobs: readonly HousekeepingJob[] = [
  expiredAnswers,
  purgedDeals,
  createUsedSignatureExpiry(usedSignatures),
  createDigestCountExpiry(digestCounts),
]
