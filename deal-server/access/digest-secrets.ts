import type { Clock } from '../../shared/clock.ts'
import { Unavailable } from '../../shared/errors.ts'
import type { Traced } from '../../shared/http/trace.ts'
import { openInternally } from '../../shared/internal-sealing.ts'
import { holdCredentials } from '../../shared/principals/held-credentials.ts'
import type { Principals } from '../../shared/schemes/authenticate.ts'
import type { DigestPorts, DigestSecret } from '../../shared/schemes/digest.ts'
import { digestSecretPurpose, internalDigestSecretSchema } from '../../shared/schemes/internal-digest-secrets.ts'
import type { AuthClient } from './auth-client.ts'

export interface DigestSecretsPorts {
  readonly authClient: Pick<AuthClient, 'ask'>
  readonly principals: Principals
  readonly clock: Clock
  /** SERVICE_SECRET. */
  readonly serviceSecret: string
}

/** What a user's name or its hash can be. */
const possible = /^[A-Za-z0-9._@-]{1,64}$/

/** What deal servers know of Digest secrets: in memory what was asked for, else the auth server. Nothing is held of those there are not. */
export function followDigestSecrets(ports: DigestSecretsPorts): DigestPorts['find'] {
  const held = holdCredentials<DigestSecret>({ ...ports, maxEntries: 10_000, maxBytes: 8_000_000, unknownForMs: 0 })
  return (user, onBehalfOf) => {
    const [name, value] = 'username' in user ? ['username', user.username] : ['userhash', user.userhash]
    if (!possible.test(value)) return undefined
    const target = `/digest-secrets?${name}=${encodeURIComponent(value)}`
    return held.peek(target, onBehalfOf) ?? held.get(target, () => ask(ports, target, onBehalfOf), onBehalfOf)
  }
}

async function ask(
  { authClient, serviceSecret }: DigestSecretsPorts,
  target: string,
  onBehalfOf: Traced | undefined,
): Promise<DigestSecret | undefined> {
  const { status, body } = await authClient.ask({ method: 'GET', target, onBehalfOf })
  if (status === 404) return undefined
  const answer = status === 200 ? internalDigestSecretSchema.safeParse(body).data : undefined
  const purpose = digestSecretPurpose(answer?.userId ?? '')
  const ha1 = answer && openInternally(answer.ha1Sealed, { secrets: [serviceSecret], purpose })
  if (!answer || ha1 === undefined) {
    throw new Unavailable('auth-server', { cause: new Error(`/internal/digest-secrets answered ${status}`) })
  }
  const { username, userId, version } = answer
  return { username, userId, version, ha1 }
}
