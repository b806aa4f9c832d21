/** Requests as bytes on the wire, as a client with keep-alive sends them. */

/** The access token of the caller; undefined for one who is taken at its word. */
export type Token = string | undefined

/** The id of the benchmark's n-th deal. */
export const dealId = (n: number): string => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** Where the n-th deal is. */
export const dealPath = (n: number): string => `/rest/v1/deals/${dealId(n)}`

export const readDeal = (n: number, token: Token, headers: Parts['headers'] = {}): string =>
  request(`GET ${dealPath(n)}`, { token, headers })

/** Holds and releases the n-th deal in turn. With `named`, each command has an id, and its outcome is kept. */
export function holdAndUnhold(n: number, token: Token, { named }: { named: boolean }): string[] {
  const path = `PUT /rest/v1/deals/${dealId(n)}`
  const headers = named ? { 'Idempotency-Key': `{n}-${n}-${Date.now()}` } : {}
  return [
    request(`${path}/hold`, { token, headers, body: { reason: 'The customer asked for time' } }),
    request(`${path}/unhold`, { token, headers }),
  ]
}

interface Parts {
  readonly token: Token
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** One request; `{n}` in line and headers becomes a number that is never used again. */
export function request(line: string, { token, headers = {}, body }: Parts): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const fields = {
    Host: '127.0.0.1',
    Accept: 'application/json',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...headers,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(line.startsWith('GET') ? {} : { 'Content-Length': String(text.length) }),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}
