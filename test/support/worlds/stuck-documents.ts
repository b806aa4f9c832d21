/** How the key documents come to a deal server: as they are, as they were, late, or not at all. */
export type DocumentState = 'fresh' | 'old' | 'held' | 'broken'

/** A deal server's way to the key documents. */
export interface StuckDocuments {
  readonly fetch: typeof globalThis.fetch
  /** From now on. What was held comes when it is no longer so, as it was when it was asked for. */
  become(state: DocumentState): void
}

/** Other requests pass. */
export function createStuckDocuments(fetch: typeof globalThis.fetch): StuckDocuments {
  const texts = new Map<string, string>()
  let state: DocumentState = 'fresh'
  let release: () => void = () => undefined
  let released = Promise.resolve()
  return {
    fetch: async (input, init) => {
      const url = String(input)
      if (!url.includes('/.well-known/')) return fetch(input, init)
      if (state === 'broken') return new Response('busy', { status: 503 })
      const old = texts.get(url)
      if (state === 'old' && old !== undefined) return new Response(old)
      const text = await (await fetch(input, init)).text()
      texts.set(url, text)
      if (state === 'held') await Promise.race([released, abortOf(init?.signal)])
      return new Response(text)
    },
    become: (next) => {
      release()
      state = next
      if (next !== 'held') return
      released = new Promise((resolve) => {
        release = resolve
      })
    },
  }
}

const abortOf = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  })
