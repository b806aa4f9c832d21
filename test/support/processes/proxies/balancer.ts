/** A load balancer before several auth servers, as deal servers see it. */
export interface Balancer {
  readonly fetch: typeof globalThis.fetch
  /** From now on the requests go to these in turn, past those that refuse connections. */
  spreadOver(origins: readonly string[]): void
}

/** Leaves requests alone until it is told what to spread them over. */
export function createBalancer(): Balancer {
  let origins: readonly string[] = []
  let turn = 0
  const fetchInTurn = async (url: string, init: RequestInit | undefined, tries: number): Promise<Response> => {
    const { pathname, search, origin } = new URL(url)
    turn += 1
    try {
      return await fetch(`${origins[turn % origins.length] ?? origin}${pathname}${search}`, init)
    } catch (error) {
      if (tries <= 1 || !isRefused(error)) throw error
      return fetchInTurn(url, init, tries - 1)
    }
  }
  return {
    fetch: (input, init) => fetchInTurn(String(input), init, origins.length),
    spreadOver: (next) => {
      origins = next
    },
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ECONNREFUSED'
