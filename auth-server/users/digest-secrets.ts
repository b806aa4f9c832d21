import type { Clock } from '../../shared/platform/clock.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { DigestPorts, DigestSecret } from '../../shared/protocol/authentication/digest/digest.ts'
import { digestHa1, digestUserhash } from '../../shared/protocol/authentication/digest/digest-response.ts'
import { foldUsername, isAnonymous } from '../../shared/protocol/principal/record.ts'
import { digestSecrets } from '../store/schema.ts'
import type { Sealing } from '../store/sealing.ts'
import { type Giver, requireToHandOver } from './gifts.ts'
import { changePrincipal } from './principal-change.ts'
import { type PrincipalPublisher, whenPublished } from './principal-publisher.ts'
import { isUsername } from './user.ts'
import { userRow } from './user-rows.ts'

/** A Digest secret in the clear: shown once, when it is made. */
export interface NewDigestSecret {
  /** As created: the only spelling that HTTP Digest works with. */
  readonly username: string
  readonly secret: string
}

/** Users' secrets for HTTP Digest. */
export interface DigestSecrets {
  /**
   * Makes one, in place of any other; that one no longer works anywhere when this resolves. `secret` only for the demo's users.
   * @throws ProblemError `not-found`, `reserved-user`; Unavailable
   */
  renew(username: string, secret?: string): Promise<NewDigestSecret>
  /** The same for a caller. @throws ProblemError also `missing-right` when the user may do more than `giver` */
  renewFor(username: string, giver: Giver): Promise<NewDigestSecret>
  readonly find: DigestPorts['find']
}

export interface DigestSecretsPorts {
  readonly database: Database
  readonly clock: Clock
  readonly ids: IdSource
  readonly sealing: Sealing
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished'>
}

/** The length of a secret, before its encoding. */
export const digestSecretBytes = 24

const readSql = (condition: string) => `select u.username, u.id::text as "userId", d.ha1_sealed as "ha1Sealed",
  p.change_number::text as version
  from auth.digest_secrets d join auth.users u on u.id = d.user_id
  join auth.principals p on p.username_folded = u.username_folded where ${condition}`
const byNameSql = readSql('u.username_folded = $1 and u.username = $2')
const byHashSql = readSql('d.userhash = $1')

interface SecretRow {
  readonly username: string
  readonly userId: string
  readonly ha1Sealed: string
  readonly version: string
}

/** Where the sealed H(A1) of this user belongs. */
export const digestSecretPlace = (userId: string) => ({ purpose: 'digest-ha1', row: userId })

/** Digest secrets in this database. */
export function createDigestSecrets(ports: DigestSecretsPorts): DigestSecrets {
  const { database, ids, sealing, publisher } = ports
  const renew = async (username: string, secret: string, giver?: Giver) => {
    if (isAnonymous(username)) throw new ProblemError('reserved-user', 'the reserved user has no secret')
    return { username: await whenPublished(publisher, store(ports, username, { secret, giver })), secret }
  }
  return {
    renew: (username, secret = ids.secret(digestSecretBytes)) => renew(username, secret),
    renewFor: (username, giver) => renew(username, ids.secret(digestSecretBytes), giver),
    find: async (user) => {
      const rows = await ('userhash' in user
        ? database.query<SecretRow>(byHashSql, [user.userhash])
        : findByName(database, user.username))
      return rows[0] && toSecret(rows[0], sealing)
    },
  }
}

const findByName = async (database: Database, username: string): Promise<SecretRow[]> =>
  isUsername(username) ? database.query<SecretRow>(byNameSql, [foldUsername(username), username]) : []

const toSecret = ({ ha1Sealed, version, ...row }: SecretRow, sealing: Sealing): DigestSecret => ({
  ...row,
  version: Number(version),
  ha1: sealing.open(ha1Sealed, digestSecretPlace(row.userId)),
})

/** The name as created, with the number of the change. */
const store = (
  { database, clock, sealing }: DigestSecretsPorts,
  username: string,
  { secret, giver }: { secret: string; giver: Giver | undefined },
) =>
  changePrincipal(database, username, async (transaction, principal) => {
    const user = await userRow(transaction, principal.userId)
    const stored = {
      ha1Sealed: sealing.seal(digestHa1(user.username, secret), digestSecretPlace(user.id)),
      userhash: digestUserhash(user.username),
      updatedAt: new Date(clock.now()),
    }
    await transaction
      .insert(digestSecrets)
      .values({ userId: user.id, usernameFolded: user.usernameFolded, ...stored })
      .onConflictDoUpdate({ target: digestSecrets.userId, set: stored })
    const verify = (source: Drizzle) => requireToHandOver(source, giver, user)
    return { result: user.username, change: { verify } }
  })
