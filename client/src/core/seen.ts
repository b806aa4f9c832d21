/**
 * What this client has seen or written at the deal server, so that servers with replicas show it nothing older: the
 * field `Keyhold-Seen` of responses goes along with the next requests. Servers without replicas never send it.
 */

const field = 'keyhold-seen'

/** The part of a token that names the database. */
const databaseOf = (token: string): string => token.slice(token.lastIndexOf('.') + 1)

/** The memory of one client. */
export class Seen {
  #token: string | undefined
  /** Grows when something was shown that no token is known of. */
  #round = 0

  /** Adds the token to a request, and gives the function for its response. */
  begin(headers: Headers): (response: Response) => void {
    const round = this.#round
    if (this.#token !== undefined) headers.set(field, this.#token)
    return ({ headers: answered }) => {
      const token = answered.get(field)
      if (token === null || round !== this.#round) return
      const held = this.#token
      if (held === undefined || databaseOf(held) !== databaseOf(token) || held < token) this.#token = token
    }
  }

  /** Batches and events show or change something without a token: what follows is read on the primary. */
  forget(): void {
    this.#token = undefined
    this.#round += 1
  }

  /** The response, whose pieces are all forgotten about. */
  forgetting(response: Response): Response {
    const { status, headers, body } = response
    const pieces = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, next) => {
        this.forget()
        next.enqueue(piece)
      },
    })
    return body === null ? response : new Response(body.pipeThrough(pieces), { status, headers })
  }
}
