import type { StreamBody } from './stream.ts'

/** The answer of a handler. */
export interface HttpResponse {
  readonly status: number
  /**
   * An array becomes one header line per element: `WWW-Authenticate` and `Set-Cookie` must not be joined (RFC 9110
   * §11.6.1).
   */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** A function writes the body piece by piece. It is not called for HEAD. */
  readonly body: string | StreamBody | null
  /** True for a body piece by piece that ends soon by itself: a server that drains lets it end. */
  readonly endsByItself?: boolean
  /** The problem code of an error, for the log. */
  readonly problemCode?: string
}

/** An answer with a JSON body. */
export const jsonResponse = (status: number, value: unknown, headers: HttpResponse['headers'] = {}): HttpResponse =>
  jsonTextResponse(status, JSON.stringify(value), headers)

/** An answer whose body is JSON text already. */
export const jsonTextResponse = (status: number, body: string, headers: HttpResponse['headers']): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body,
})

/** An answer without a body. */
export const emptyResponse = (status: number, headers: HttpResponse['headers'] = {}): HttpResponse => ({
  status,
  headers,
  body: null,
})

/** For answers with a credential, and for errors about credentials (RFC 6749 §5.1). */
export const noStore = { 'cache-control': 'no-store' } as const

/**
 * Clears what a browser has stored of this origin, which only Keyhold uses. It does not clear `"cookies"`: that would
 * end sessions of all applications below the same registrable domain (Clear Site Data §3.1).
 */
export const clearSiteData = { 'clear-site-data': '"cache", "storage"' } as const
