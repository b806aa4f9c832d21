/** The tables of the deal server under the names that statements give them: `from ${deals} ${d} where ${d.id} = …`. */
import { alias } from 'drizzle-orm/pg-core'
import { commands, deals, eventSlices, events, tasks, webhookAttempts, webhookBlocked, webhooks } from './schema.ts'

/** A deal. */
export const d = alias(deals, 'd')
/** A task. */
export const t = alias(tasks, 't')
/** A command. */
export const c = alias(commands, 'c')
/** An event. */
export const e = alias(events, 'e')
/** A slice of the log. */
export const s = alias(eventSlices, 's')
/** A webhook. */
export const w = alias(webhooks, 'w')
/** A deal whose events wait. */
export const b = alias(webhookBlocked, 'b')
/** An attempt to deliver an event. */
export const a = alias(webhookAttempts, 'a')
