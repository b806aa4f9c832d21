/**
 * An instance is one auth database with the servers around it. Its id is created with the database. All its keys
 * and channels in Redis bear the id, so several instances can share one Redis, and a new database finds no entries
 * of the one before it.
 */
import * as z from 'zod'
import { cacheKey } from '../../platform/cache/cache.ts'

/** The form of the id of an instance. */
export const instanceIdSchema = z.uuid()

/** A key or channel of this instance. */
export const instanceKey = (instanceId: string, name: string): string => cacheKey(`${instanceId}:${name}`)
