import { signIn } from '../pages/sign-in.ts'
import type { SchemeClient } from './scheme-client.ts'

/** The cookie of a session that was begun by `POST /sessions`; not a browser, so without `Origin`. */
export const sessionClient: SchemeClient = {
  name: 'session',
  open: async (stack, username) => {
    const { cookie } = await signIn(stack, username)
    return async ({ url }) => ({ url, headers: { cookie } })
  },
}
