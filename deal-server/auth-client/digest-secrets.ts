import { openInternally } from '../../shared/platform/crypto/internal-sealing.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Traced } from '../../shared/platform/trace-context.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import { createCredentialCache } from '../../shared/protocol/authentication/credential-cache.ts'
import type { DigestPorts, DigestSecret } from '../../shared/protocol/authentication/digest/digest.ts'
import type { DigestCredential } from '../../shared/protocol/authentication/digest/digest-credential.ts'
import { digestSecretExchange, digestSecretPurpose } from '../../shared/protocol/internal-api/digest-secret.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { isUsername } from '../../shared/protocol/principal/record.ts'
import type { AskingSystems } from './asking-systems.ts'

/**
 * The Digest secrets of a deal server: from memory, else from the auth server. Unknown users are not cached. `find`
 * always asks the auth server, so that a wrong Digest response takes the same time for known and unknown users. `held`
 * does not: known users go on while no auth server answers.
 */
export function followDigestSecrets(
  systems: AskingSystems,
  principals: Principals,
): Pick<DigestPorts, 'held' | 'find'> {
  const held = createCredentialCache<DigestSecret>({
    clock: systems.clock,
    principals,
    maxEntries: 10_000,
    maxBytes: 8_000_000,
    unknownForMs: 0,
  })
  return {
    held: (user, traceContext) =>
      held.peek(keyOf(user), traceContext) ?? held.get(keyOf(user), async () => undefined, traceContext),
    find: async (user, traceContext) => {
      const [name, value] = namedBy(user)
      if (!isUsername(value)) return undefined
      const { target } = questionOf(digestSecretExchange, { path: {}, query: { [name]: value }, body: undefined })
      return held.renew(keyOf(user), () => ask(systems, target, traceContext), traceContext)
    },
  }
}

/** The parameter that names the user in a question to the auth server, and its value. */
const namedBy = (user: DigestCredential['user']): readonly ['username' | 'userhash', string] =>
  'username' in user ? ['username', user.username] : ['userhash', user.userhash]

const keyOf = (user: DigestCredential['user']): string => namedBy(user).join(' ')

async function ask(
  { authClient, serviceSecret }: AskingSystems,
  target: string,
  traceContext: Traced | undefined,
): Promise<DigestSecret | undefined> {
  const { status, body } = await authClient.ask({ method: digestSecretExchange.method, target, traceContext })
  if (status === 404) return undefined
  const answer = status === 200 ? digestSecretExchange.responseBody.safeParse(body).data : undefined
  const purpose = digestSecretPurpose(answer?.userId ?? '')
  const ha1 = answer && openInternally(answer.ha1Sealed, { secrets: [serviceSecret], purpose })
  if (!answer || ha1 === undefined) {
    throw new Unavailable('auth-server', { cause: new Error(`/internal/digest-secrets answered ${status}`) })
  }
  const { username, userId, version } = answer
  return { username, userId, version, ha1 }
}
