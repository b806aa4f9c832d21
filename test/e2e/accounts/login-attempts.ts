/** Attempts to log in from one address or another, for tests of what limits guessing. */
import type { Reply } from '../../support/clients/http-client.ts'
import type { Stack } from '../../support/worlds/stack.ts'

/** Limits that a test reaches, behind one proxy. */
export const limits = {
  LOGIN_FAILURES_PER_ACCOUNT: '3/600',
  LOGIN_FAILURES_PER_ADDRESS: '50/600',
  TRUST_PROXY: '1',
  LOGIN_FAILURES_PER_ACCOUNT_EVERYWHERE: '12/600',
}

/** The headers by which the proxy names a client. */
export const from = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })

/** A request of this client with Basic. */
export const basic = (username: string, password: string, address: string) => ({
  headers: { ...from(address), authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
})

/** An attempt of a client. */
export type LogInFrom = (username: string, password: string, address: string) => Promise<Reply>

/** Logs in at the auth server of the stack. */
export const logInAt =
  (stack: () => Pick<Stack, 'auth'>): LogInFrom =>
  (username, password, address) =>
    stack().auth.send('/login', { json: { username, password }, headers: from(address) })
