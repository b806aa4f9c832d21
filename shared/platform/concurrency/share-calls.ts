import type { Clock } from '../clock.ts'

/** Calls under way, by key. */
export interface SharedCalls<Result> {
  /** The result of the call under way for this key, else of this call, which begins now. @throws errors of the call */
  share(key: string, call: () => Promise<Result>): Promise<Result>
  /** Nobody joins a call that is under way now. */
  clear(): void
}

/** How long after its begin a call is joined, in milliseconds. */
export interface SharedFor {
  readonly clock: Clock
  readonly ms: number
}

/** Callers of one key share a call: with `sharedFor` one that is young, without it any one that is under way. */
export function createSharedCalls<Result>(sharedFor?: SharedFor): SharedCalls<Result> {
  const underWay = new Map<string, { readonly begunAt: number; readonly result: Promise<Result> }>()

  function share(key: string, call: () => Promise<Result>): Promise<Result> {
    const now = sharedFor?.clock.monotonic() ?? 0
    const present = underWay.get(key)
    if (present && now - present.begunAt <= (sharedFor?.ms ?? 0)) return present.result
    const begun = { begunAt: now, result: call() }
    underWay.set(key, begun)
    const forget = () => {
      if (underWay.get(key) === begun) underWay.delete(key)
    }
    begun.result.then(forget, forget)
    return begun.result
  }

  return { share, clear: () => underWay.clear() }
}
