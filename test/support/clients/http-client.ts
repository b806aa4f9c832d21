/**
 * A small HTTP client for tests: it remembers every secret that it has sent or received, so that logs can be searched
 * for them.
 */
import { expect } from 'vitest'

/** What is sent. */
export interface Sent {
  readonly method?: string
  /** Becomes `Authorization: Bearer`. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Becomes the body, as application/json. */
  readonly json?: unknown
  readonly body?: string | Uint8Array<ArrayBuffer>
}

/** What came back. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The members of a JSON object; empty for everything else. */
  readonly body: Readonly<Record<string, unknown>>
}

const secrets = new Set<string>()

/** Adds what must not appear in any log. */
export const rememberSecret = (secret: string): void => void secrets.add(secret)

/** Forgets all secrets. */
export const forgetSecrets = (): void => secrets.clear()

/** Which of the secrets that were ever sent or received stand in `text`. */
export const secretsIn = (text: string): string[] => [...secrets].filter((secret) => text.includes(secret))

/** How a request gets to its server: `fetch`, or something that reads and answers as it does. */
export type Exchange = (
  url: string,
  init: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string | Uint8Array<ArrayBuffer>
  },
) => Promise<Pick<Response, 'status' | 'headers' | 'text'>>

const overSocket: Exchange = (url, init) => fetch(url, { ...init, redirect: 'manual' })

/** Sends one request; GET without a body unless told otherwise. */
export async function send(url: string, sent: Sent = {}, exchange = overSocket): Promise<Reply> {
  const { token, json } = sent
  const body = json === undefined ? sent.body : JSON.stringify(json)
  if (token !== undefined) rememberSecret(token)
  rememberPasswords(json)
  const response = await exchange(url, {
    method: sent.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...sent.headers,
    },
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  const reply = { status: response.status, headers: response.headers, text, body: membersOf(text) }
  for (const name of ['access_token', 'refresh_token', 'token']) {
    const secret = reply.body[name]
    if (typeof secret === 'string') rememberSecret(secret)
  }
  return reply
}

function rememberPasswords(json: unknown): void {
  if (typeof json !== 'object' || json === null) return
  for (const [name, value] of Object.entries(json)) {
    if (/password/i.test(name) && typeof value === 'string' && value.length >= 8) rememberSecret(value)
  }
}

/** The members of the JSON object in `text`; none when it is not one. */
export function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Expects the problem document of docs/contract/http.md#problem-documents with this status and code. */
export function expectProblem(reply: Pick<Reply, 'status' | 'headers' | 'body'>, status: number, code: string): void {
  expect({ status: reply.status, code: reply.body.code }).toEqual({ status, code })
  expectProblemForm(reply)
}

/** Expects a well-formed problem document, whatever it says. */
export function expectProblemForm({ status, headers, body }: Pick<Reply, 'status' | 'headers' | 'body'>): void {
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('x-request-id')).toMatch(uuid)
  expect(body).toMatchObject({
    type: expect.stringMatching(/^https?:\/\/[^/]+\/problems\/[a-z_-]+$/),
    title: expect.stringMatching(/./),
    status,
    detail: expect.stringMatching(/./),
    instance: `urn:uuid:${body.requestId}`,
    code: expect.stringMatching(/^[a-z_-]+$/),
    requestId: expect.stringMatching(uuid),
  })
  expect(body.type).toMatch(new RegExp(`/problems/${body.code}$`))
  if (status === 401) {
    expect(body.schemes).toEqual(expect.any(Array))
    expect(headers.get('www-authenticate')).toMatch(/^[A-Za-z-]+/)
  }
  if (status === 405) expect(headers.get('allow')).toMatch(/^[A-Z]+(, [A-Z]+)*$/)
}
