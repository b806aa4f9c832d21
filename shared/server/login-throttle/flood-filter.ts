import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../platform/clock.ts'
import { clientPrefix } from '../../platform/http/client-prefix.ts'
import { foldUsername } from '../../protocol/principal/record.ts'

/** The attribution of a refusal. The caller limits the lengths of the texts, because the filter remembers them. */
export interface AttributedRefusal {
  /** The user name as sent, in any spelling; null when there is none. */
  readonly actor: string | null
  /** The target of the refused request; it replaces a missing actor. */
  readonly target: string | null
  /** The client's address: all addresses of one client (`client-prefix.ts`) are equal. */
  readonly address: string | null
}

/** A refusal to report, and the number of equal ones that it stands for: 1 unless others were left out before. */
export interface CountedRefusal<Refusal> {
  readonly refusal: Refusal
  readonly count: number
}

interface Flood<Refusal> {
  /** The time of the last report; monotonic, in milliseconds. */
  readonly reportedAt: number
  readonly leftOut: number
  /** The latest refusal. */
  readonly latest: Refusal
}

const intervalMs = 60_000

/** The number of different refusals of one client that are kept apart in that time. */
const maxOfClient = 20

/** The number of different refusals that are kept apart: 4 MB at most, since each remembered name is short. */
const maxRemembered = 2_000

/** Bounds of the clients that are kept apart. */
const rememberedClients = { maxEntries: maxRemembered, maxBytes: 1_000_000 }

/**
 * Limits floods of refusals: of equal ones (kind, actor, client prefix), one a minute passes, and the others are
 * counted. For a client that makes up names, further refusals are counted together without a name; when too many
 * differ, also without an address. So each refusal is in exactly one count, and the memory is bounded. `kindOf` gives
 * the kind of a refusal: the tried secret and the reason, as one of a few texts.
 */
export function createFloodFilter<Refusal extends AttributedRefusal>(
  { monotonic }: Clock,
  kindOf: (refusal: Refusal) => string,
) {
  const floods = new Map<string, Flood<Refusal>>()
  const isRecent = (time: number) => monotonic() - time < intervalMs
  const grouped = createGrouping<Refusal>(isRecent, monotonic)
  const nameOf = (refusal: Refusal): string =>
    JSON.stringify([kindOf(refusal), foldUsername(refusal.actor ?? refusal.target ?? ''), clientOf(refusal)])
  /** Moves a flood to the end, so that the ones reported longest ago come first. */
  const keep = (name: string, flood: Flood<Refusal>) => {
    floods.delete(name)
    floods.set(name, flood)
  }
  const forgetFinished = () => {
    for (const [name, { reportedAt, leftOut }] of floods) {
      if (isRecent(reportedAt)) return
      if (leftOut === 0) floods.delete(name)
    }
  }
  return {
    /** The refusal to report now; undefined when this one, or these `times` equal ones, were only counted. */
    take(sent: Refusal, times = 1): CountedRefusal<Refusal> | undefined {
      forgetFinished()
      const refusal = floods.has(nameOf(sent)) ? sent : grouped(sent, floods.size)
      const name = nameOf(refusal)
      const flood = floods.get(name)
      if (flood && isRecent(flood.reportedAt)) {
        floods.set(name, { ...flood, leftOut: flood.leftOut + times, latest: refusal })
        return undefined
      }
      keep(name, { reportedAt: monotonic(), leftOut: 0, latest: refusal })
      return { refusal, count: (flood?.leftOut ?? 0) + times }
    },
    /** The counted refusals that were not reported: those whose minute is over, or, at the end, all of them. */
    drain(which: 'over' | 'all'): readonly CountedRefusal<Refusal>[] {
      const due = [...floods].filter(
        ([, { reportedAt, leftOut }]) => leftOut > 0 && (which === 'all' || !isRecent(reportedAt)),
      )
      return due.map(([name, { latest, leftOut }]) => {
        keep(name, { reportedAt: monotonic(), leftOut: 0, latest })
        return { refusal: latest, count: leftOut }
      })
    },
    /** Returns a refusal that could not be reported: it is counted, and the next equal one passes. */
    putBack({ refusal, count }: CountedRefusal<Refusal>): void {
      const name = nameOf(refusal)
      const { leftOut, latest } = floods.get(name) ?? { leftOut: 0, latest: refusal }
      floods.set(name, { reportedAt: Number.NEGATIVE_INFINITY, leftOut: leftOut + count, latest })
    },
  }
}

/**
 * Removes the name from a refusal when its client had many different ones, and also the address when there are too many
 * in all.
 */
function createGrouping<Refusal extends AttributedRefusal>(
  isRecent: (time: number) => boolean,
  monotonic: () => number,
): (refusal: Refusal, remembered: number) => Refusal {
  const clients = createBoundedCache<{ readonly since: number; readonly named: number }>(rememberedClients)
  return (refusal, remembered) => {
    if (remembered >= maxRemembered) return { ...refusal, actor: null, target: null, address: null }
    const client = clientOf(refusal)
    const known = clients.get(client)
    const { since, named } = known && isRecent(known.since) ? known : { since: monotonic(), named: 0 }
    if (named >= maxOfClient) return { ...refusal, actor: null, target: null }
    clients.set(client, { since, named: named + 1 })
    return refusal
  }
}

const clientOf = ({ address }: AttributedRefusal): string => clientPrefix(address ?? '')
