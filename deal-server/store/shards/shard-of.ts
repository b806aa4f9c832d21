/**
 * Where a deal and a command id are kept among shards. A shard has a fixed part of the 1,024 buckets, so that all
 * servers, and whoever moves data, agree by a sum and need no directory.
 */
import { hash } from 'node:crypto'
import { bucketOf } from '../events/bucket.ts'

/** The largest number of shards: a list asks all of them. */
export const maxShards = 64

/** The shard of a deal, its tasks, events and commands: 0 to `shards` - 1. `shards` is a power of two. */
export const shardOfDeal = (dealId: string, shards: number): number => bucketOf(dealId) % shards

/** The shard that reserves the command ids of a principal. */
export const shardOfPrincipal = (principalId: string, shards: number): number =>
  Number.parseInt(hash('sha256', principalId, 'hex').slice(0, 4), 16) % shards
