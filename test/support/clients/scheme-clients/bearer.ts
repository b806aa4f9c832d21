import type { SchemeClient } from './scheme-client.ts'

/** `Authorization: Bearer`, with an access token from a login. */
export const bearerClient: SchemeClient = {
  name: 'bearer',
  open: async (stack, username) => {
    const { access } = await stack.logIn(username)
    return async ({ url }) => ({ url, headers: { authorization: `Bearer ${access}` } })
  },
}
