/**
 * An installation is one auth database with the servers around it. It has an id of its own, made with the database, and whatever it
 * keeps in Redis or says there bears that id: several installations can share one Redis, and a new database finds nothing of the
 * one before it.
 */
import { z } from 'zod'

/** The form of an installation's id. */
export const installationIdSchema = z.uuid()

/**
 * A key or channel of this installation. The braces put all of them on one node of a Redis Cluster, so that one incarnation answers for
 * the records and for the feed.
 */
export const installationKey = (installationId: string, name: string): string => `{keyhold}:${installationId}:${name}`
