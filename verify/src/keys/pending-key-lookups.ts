import { Unavailable } from '../../../shared/platform/problems/errors.ts'

interface LoadOutcome {
  /** The number of the load: loads count in the order in which they begin, from 1. */
  readonly load: number
  readonly hasFailed: boolean
  /** True for the kid of a key that is known now. */
  readonly holds: (kid: string) => boolean
}

interface Lookup {
  readonly kid: string
  readonly loadsBegun: number
  readonly resolve: (isKnown: boolean) => void
  readonly reject: (error: Unavailable) => void
}

/** Lookups of keys that wait for a load. */
export function createPendingKeyLookups() {
  const waiting = new Set<Lookup>()
  const reject = (lookup: Lookup) => {
    waiting.delete(lookup)
    lookup.reject(new Unavailable('auth-server'))
  }
  return {
    count: () => waiting.size,
    /**
     * Waits for a load: true for the first load that has the key, false for a load without it that began after
     * `loadsBegun` others.
     * @throws Unavailable when a load fails
     */
    wait: (kid: string, loadsBegun: number): Promise<boolean> =>
      new Promise((resolve, reject) => waiting.add({ kid, loadsBegun, resolve, reject })),
    /**
     * Resolves the lookups that this load decides. A load that began before a lookup cannot say that the key is
     * unknown: the key may have been published since.
     */
    resolve: ({ load, hasFailed, holds }: LoadOutcome): void => {
      for (const lookup of waiting) {
        const isKnown = holds(lookup.kid)
        if (!isKnown && hasFailed) reject(lookup)
        else if (isKnown || load > lookup.loadsBegun) {
          waiting.delete(lookup)
          lookup.resolve(isKnown)
        }
      }
    },
    rejectAll: (): void => {
      for (const lookup of waiting) reject(lookup)
    },
  }
}
