/**
 * What this client has seen or written at the deal server, so that servers with replicas show it nothing older: the
 * field `Keyhold-Seen` of responses goes along with the next requests. Servers without replicas never send it.
 */

const field = 'keyhold-seen'

/** The part of a token that names the database. */
const databaseOf = (token: string): string => token.slice(26)

/** The memory of one client. */
export class Seen {
  /** Empty: the next read goes to the primary. */
  #token = ''
  /** Grows with each response that has no token. */
  #round = 0

  /** Adds the token to a request, and gives the function for its response. */
  begin(headers: Headers): (response: Response, isStream: boolean) => void {
    const round = this.#round
    if (this.#token) headers.set(field, this.#token)
    return (response, isStream) => {
      const token = response.headers.get(field)
      if (isStream || !token) {
        // A batch has written, without a token. Events go on to show something: Infinity ends the memory.
        this.#token = ''
        this.#round += isStream ? Number.POSITIVE_INFINITY : 1
      } else if (round === this.#round && round < Number.POSITIVE_INFINITY) {
        // Tokens of one database are ordered as texts.
        if (token > this.#token || databaseOf(token) !== databaseOf(this.#token)) this.#token = token
      }
    }
  }
}
