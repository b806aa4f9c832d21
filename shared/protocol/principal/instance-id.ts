/**
 * An instance is one auth database with the servers around it. Its id is created with the database. All its keys
 * and channels in Redis bear the id, so several instances can share one Redis, and a new database finds no entries
 * of the one before it.
 */
import * as z from 'zod'
import { feedKey, laneKey, laneOf } from '../../platform/cache/lanes.ts'

/** The form of the id of an instance. */
export const instanceIdSchema = z.uuid()

/** A key or channel of this instance, on the node of a Redis Cluster that has the channels. */
export const instanceKey = (instanceId: string, name: string): string => feedKey(`${instanceId}:${name}`)

/** The key of one of many `owners` of this instance, such as users: they spread over all nodes of a Redis Cluster. */
export const ownerKey = (instanceId: string, kind: string, owner: string): string =>
  laneKey(laneOf(owner), `${instanceId}:${kind}:${owner}`)
