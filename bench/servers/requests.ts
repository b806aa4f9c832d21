/** Requests as bytes, for keep-alive connections. */

/** The access token of the caller; undefined without one. */
export type Token = string | undefined

/** The id of deal number `n`. */
export const dealId = (n: number): string => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** The path of deal number `n`, or of all deals. */
export const dealPath = (n: number | ''): string => `/rest/v1/deals/${n === '' ? '' : dealId(n)}`

/** GET of deal number `n`. */
export const readDeal = (n: number, token: Token, headers: Parts['headers'] = {}): string =>
  request(`GET ${dealPath(n)}`, { token, headers })

/** Holds and unholds deal number `n`. With `named`, each command has an id, and its outcome is stored. */
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
  /** A body of another type than JSON, which is sent as it is: a form. */
  readonly form?: string
}

/** One request. `{n}` in line and headers becomes a number that is used once. */
export function request(line: string, { token, headers = {}, body, form }: Parts): string {
  const text = form ?? (body === undefined ? '' : JSON.stringify(body))
  const fields = {
    Host: '127.0.0.1',
    Accept: 'application/json',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...headers,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(form === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
    ...(line.startsWith('GET') ? {} : { 'Content-Length': String(text.length) }),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}
