import { createBoundedCache } from '../bounded-cache.ts'
import type { Clock } from '../clock.ts'
import { foldUsername } from '../principals/record.ts'
import { clientPrefix } from './client-prefix.ts'

/** A refusal by a limit, as far as others are like it. */
export interface FloodingRefusal {
  /** What was tried, and how. */
  readonly kind: string
  /** User name as presented, whatever its spelling; null when there is none. */
  readonly actor: string | null
  /** The client's: all those of one client (`client-prefix.ts`) are alike. */
  readonly address: string | null
}

/** Refusals by a limit come in floods: this tells which of them are worth keeping. */
export interface FloodFilter {
  /** True for the first of its kind in a minute, unless the same client had many different ones: it makes names up. */
  keeps(refusal: FloodingRefusal): boolean
  /** It could not be kept after all: the next one like it will be. */
  forget(refusal: FloodingRefusal): void
}

const intervalMs = 60_000

/** So many different ones of one client are kept in that time. */
const maxOfClient = 20

/** So many refusals, and clients, are remembered. */
const remembered = { maxEntries: 10_000, maxBytes: 4_000_000 }

/** A filter that has seen nothing yet. */
export function createFloodFilter({ monotonic }: Pick<Clock, 'monotonic'>): FloodFilter {
  const keptAt = createBoundedCache<number>(remembered)
  const clients = createBoundedCache<{ readonly since: number; readonly kept: number }>(remembered)
  const isRecent = (moment: number) => monotonic() - moment < intervalMs
  return {
    keeps: (refusal) => {
      const [client, name] = [clientOf(refusal), nameOf(refusal)]
      if (isRecent(keptAt.get(name) ?? Number.NEGATIVE_INFINITY)) return false
      const known = clients.get(client)
      const { since, kept } = known && isRecent(known.since) ? known : { since: monotonic(), kept: 0 }
      if (kept >= maxOfClient) return false
      clients.set(client, { since, kept: kept + 1 })
      keptAt.set(name, monotonic())
      return true
    },
    forget: (refusal) => void keptAt.delete(nameOf(refusal)),
  }
}

const clientOf = ({ address }: FloodingRefusal): string => clientPrefix(address ?? '')

const nameOf = (refusal: FloodingRefusal): string =>
  JSON.stringify([refusal.kind, foldUsername(refusal.actor ?? ''), clientOf(refusal)])
