import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../platform/clock.ts'
import { clientPrefix } from '../../platform/http/client-prefix.ts'
import { foldUsername } from '../principal/record.ts'

/** What a refusal says of who was refused. The caller bounds its texts: the filter remembers them. */
export interface AttributedRefusal {
  /** User name as presented, whatever its spelling; null when there is none. */
  readonly actor: string | null
  /** What it was about; stands for the actor where there is none. */
  readonly target: string | null
  /** The client's: all those of one client (`client-prefix.ts`) are alike. */
  readonly address: string | null
}

/** A refusal that is to be told of, and how many equal ones it stands for: 1 unless others were left out before. */
export interface CountedRefusal<Refusal> {
  readonly refusal: Refusal
  readonly count: number
}

/**
 * Refusals come in floods: this lets one a minute through of those that are equal (kind, actor, client prefix), and counts the others. A
 * client that makes up names has its further ones counted together, under no name; and when too many differ, under no address either.
 * Each refusal is thus in exactly one count, and the memory is bounded.
 */
export interface FloodFilter<Refusal> {
  /** What is to be told of now; undefined when this one, or these `times` equal ones, were counted only. */
  take(refusal: Refusal, times?: number): CountedRefusal<Refusal> | undefined
  /** What was counted and not told of: where the minute is over, or, at the end of the process, all of it. */
  drain(which: 'over' | 'all'): readonly CountedRefusal<Refusal>[]
  /** It could not be told of after all: it is counted, and the next one like it is let through. */
  putBack(counted: CountedRefusal<Refusal>): void
}

interface Flood<Refusal> {
  /** When one was told of; monotonic, in milliseconds. */
  readonly toldAt: number
  readonly leftOut: number
  /** The latest one. */
  readonly latest: Refusal
}

const intervalMs = 60_000

/** So many different ones of one client are told apart in that time. */
const maxOfClient = 20

/** So many different ones are told apart in all: 4 MB at most, since each name that is remembered is short. */
const maxRemembered = 2_000

/** So many clients are told apart. */
const rememberedClients = { maxEntries: maxRemembered, maxBytes: 1_000_000 }

/** A filter that has seen nothing yet; `kindOf` says what was tried and how it was refused, in one of a few texts. */
export function createFloodFilter<Refusal extends AttributedRefusal>(
  { monotonic }: Pick<Clock, 'monotonic'>,
  kindOf: (refusal: Refusal) => string,
): FloodFilter<Refusal> {
  const floods = new Map<string, Flood<Refusal>>()
  const isRecent = (moment: number) => monotonic() - moment < intervalMs
  const grouped = createGrouping<Refusal>(isRecent, monotonic)
  const nameOf = (refusal: Refusal): string =>
    JSON.stringify([kindOf(refusal), foldUsername(refusal.actor ?? refusal.target ?? ''), clientOf(refusal)])
  /** Moves it to the end: those told of longest ago come first. */
  const keep = (name: string, flood: Flood<Refusal>) => {
    floods.delete(name)
    floods.set(name, flood)
  }
  const forgetFinished = () => {
    for (const [name, { toldAt, leftOut }] of floods) {
      if (isRecent(toldAt)) return
      if (leftOut === 0) floods.delete(name)
    }
  }
  return {
    take(sent, times = 1) {
      forgetFinished()
      const refusal = floods.has(nameOf(sent)) ? sent : grouped(sent, floods.size)
      const name = nameOf(refusal)
      const flood = floods.get(name)
      if (flood && isRecent(flood.toldAt)) {
        floods.set(name, { ...flood, leftOut: flood.leftOut + times, latest: refusal })
        return undefined
      }
      keep(name, { toldAt: monotonic(), leftOut: 0, latest: refusal })
      return { refusal, count: (flood?.leftOut ?? 0) + times }
    },
    drain(which) {
      const due = [...floods].filter(([, { toldAt, leftOut }]) => leftOut > 0 && (which === 'all' || !isRecent(toldAt)))
      return due.map(([name, { latest, leftOut }]) => {
        keep(name, { toldAt: monotonic(), leftOut: 0, latest })
        return { refusal: latest, count: leftOut }
      })
    },
    putBack({ refusal, count }) {
      const name = nameOf(refusal)
      const { leftOut, latest } = floods.get(name) ?? { leftOut: 0, latest: refusal }
      floods.set(name, { toldAt: Number.NEGATIVE_INFINITY, leftOut: leftOut + count, latest })
    },
  }
}

/** Takes the name off a refusal of a client that had many different ones, and the address too when there are too many in all. */
function createGrouping<Refusal extends AttributedRefusal>(
  isRecent: (moment: number) => boolean,
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
