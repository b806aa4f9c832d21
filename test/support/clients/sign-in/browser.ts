/** A browser that goes to pages, follows redirects on one server, keeps its cookies, and sends forms. */
import { type Reply, send } from '../http-client.ts'

/** Where a browser has come to. */
export interface Arrival {
  readonly url: string
  readonly reply: Reply
}

/** A browser. It stops where a redirect leads to another origin. */
export class Browser {
  /** Every answer that it got, also the redirects. */
  readonly answers: Arrival[] = []
  readonly #origin: string
  #cookie: string | undefined

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Goes to a URL of its server, and on to where that one leads. */
  go(url: string, form?: Readonly<Record<string, string>>): Promise<Arrival> {
    return this.#follow(new URL(url, this.#origin).href, form, 0)
  }

  /** Signs in on the page that it has come to. */
  signIn(page: Arrival, username: string, password: string): Promise<Arrival> {
    return this.go('/sessions', { username, password, return_to: hiddenFields(page.reply.text).return_to ?? '' })
  }

  /** Gives up its cookies. */
  forget(): void {
    this.#cookie = undefined
  }

  async #follow(url: string, form: Readonly<Record<string, string>> | undefined, steps: number): Promise<Arrival> {
    if (steps > 10) throw new Error(`redirects do not end: ${url}`)
    const reply = await send(url, {
      headers: {
        accept: 'text/html',
        'sec-fetch-site': 'same-origin',
        ...(this.#cookie !== undefined && { cookie: this.#cookie }),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded', origin: this.#origin }),
      },
      ...(form && { body: new URLSearchParams(form).toString() }),
    })
    this.answers.push({ url, reply })
    for (const line of reply.headers.getSetCookie()) this.#cookie = line.split(';', 1)[0]
    const location = reply.headers.get('location')
    if (reply.status !== 303 || location === null) return { url, reply }
    const next = new URL(location, url)
    return next.origin === new URL(this.#origin).origin
      ? this.#follow(next.href, undefined, steps + 1)
      : { url: next.href, reply }
  }
}

/** The hidden fields of the forms of a page, without those of its frame. */
export function hiddenFields(page: string): Record<string, string> {
  const content = page.slice(page.indexOf('<main'))
  const fields = [...content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  const plain = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, plain(value)]))
}
