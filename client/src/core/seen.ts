/**
 * What this client has seen or written at the deal server, so that servers with replicas show it nothing older: the
 * field `Keyhold-Seen` of responses goes along with the next requests. Servers without replicas never send it.
 */
const field = 'keyhold-seen'

/** The memory of one client. */
class Seen {
  #token = ''
  /** Grows when something was shown that no token is known of. */
  #round = 0

  /** Adds the token to a request, and gives the function for the fields of its response. */
  begin(headers: Headers): (answered: Headers) => void {
    const round = this.#round
    if (this.#token) headers.set(field, this.#token)
    return (answered) => {
      const token = answered.get(field) ?? ''
      // The last part names the database.
      const isOther = token.slice(-8) !== this.#token.slice(-8)
      if (token && round === this.#round && (isOther || token > this.#token)) this.#token = token
    }
  }

  /** Batches and streams say nothing of what they show: reads go to the primary, after a stream for good. */
  forget(isStream: boolean): void {
    this.#token = ''
    this.#round += isStream ? Number.NaN : 1
  }
}

/**
 * A `fetch` for `createKeyhold` that brings back what the client has seen at the deal server of this URL. Make one for
 * each client.
 */
export function seenFetch(dealUrl: string, fetch: typeof globalThis.fetch = globalThis.fetch): typeof fetch {
  const seen = new Seen()
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    if (!url.startsWith(dealUrl)) return fetch(input, init)
    const headers = new Headers(init?.headers)
    const note = seen.begin(headers)
    const response = await fetch(input, { ...init, headers })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (isStream || /\/commands\/?$/.test(new URL(url).pathname)) seen.forget(isStream)
    note(response.headers)
    return response
  }
}
