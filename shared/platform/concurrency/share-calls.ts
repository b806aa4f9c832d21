import type { Clock } from '../clock.ts'

/** Callers of one key share a call: any one that is under way, or with `sharedFor` one that began so short ago. */
export function createSharedCalls<Result>(sharedFor?: { readonly clock: Clock; readonly ms: number }) {
  const underWay = new Map<string, { readonly begunAt: number; readonly result: Promise<Result> }>()

  /** The result of the call under way for this key, else of this call, which begins now. @throws errors of the call */
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

  /** Nobody joins a call that is under way now. */
  const clear = () => underWay.clear()
  return { share, clear }
}
