/** Sessions by cookie, for tests. */
import { expect } from 'vitest'
import { passwordOf, type Stack } from '../../worlds/stack.ts'
import { type Reply, rememberSecret, type Sent } from '../http-client.ts'

/** A session that a test has begun. */
export interface SignedIn {
  readonly id: string
  readonly key: string
  /** The value of the field `Cookie`. */
  readonly cookie: string
  readonly reply: Reply
}

/** The name and value of the only cookie that is set; undefined when none is. @throws Error for several */
export function cookieSetBy({ headers }: Pick<Reply, 'headers'>) {
  const [line, ...others] = headers.getSetCookie()
  if (others.length > 0) throw new Error('more than one cookie is set')
  if (line === undefined) return undefined
  const [pair = '', ...attributes] = line.split('; ')
  const mark = pair.indexOf('=')
  const value = pair.slice(mark + 1)
  if (value !== '') rememberSecret(value)
  return { name: pair.slice(0, mark), value, attributes }
}

/** Signs a user in; by default with the password that demo users have. */
export async function signIn(stack: Stack, username: string, sent: Sent = {}): Promise<SignedIn> {
  const reply = await stack.auth.send('/sessions', { json: { username, password: passwordOf(username) }, ...sent })
  expect(reply.status, reply.text).toBe(201)
  const cookie = cookieSetBy(reply)
  if (!cookie) throw new Error('no cookie was set')
  return { id: String(reply.body.id), key: cookie.value, cookie: `${cookie.name}=${cookie.value}`, reply }
}

/** An HTML form, as a browser posts it. */
export const formOf = (fields: Readonly<Record<string, string>>): Sent => ({
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})

/** What makes a browser forget the cookie, as `cookieSetBy` gives it. */
export const forgottenCookie = {
  name: 'keyhold_session',
  value: '',
  attributes: ['Path=/', 'HttpOnly', 'SameSite=Lax', 'Max-Age=0'],
}
