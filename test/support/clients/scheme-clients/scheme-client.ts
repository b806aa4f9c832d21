import type { SchemeName } from '../../../../shared/protocol/authentication/scheme.ts'
import type { Stack } from '../../worlds/stack.ts'

/** A request before it carries a credential. */
export interface PlainRequest {
  readonly method: string
  readonly url: string
  readonly body?: string
}

/** What the credential makes of it: where it is sent, and what header fields it gets besides its own. */
export interface CredentialledRequest {
  readonly url: string
  readonly headers: Record<string, string>
}

/** How a client of one authentication scheme works. */
export interface SchemeClient {
  readonly name: SchemeName
  /** Gets what the user needs; what comes back adds a credential to each request. */
  open(stack: Stack, username: string): Promise<(request: PlainRequest) => Promise<CredentialledRequest>>
}

/** The same client of another service, which demands that signatures name its audience. */
export const forAudience = (client: SchemeClient, audience: string): SchemeClient => ({
  name: client.name,
  open: async (stack, username) => {
    const add = await client.open(stack, username)
    return (request) => {
      const url = new URL(request.url)
      url.searchParams.append('audience', audience)
      return add({ ...request, url: url.href })
    }
  },
})
