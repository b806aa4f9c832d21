import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { AuthClient } from '../../verify/src/auth-client/auth-client.ts'

/** The systems of a deal server that asks the auth server. */
export interface AskingSystems extends Systems {
  readonly authClient: AuthClient
  /** SERVICE_SECRET: secrets are encrypted with it on their way. */
  readonly serviceSecret: string
}
