import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { DigestPorts, DigestSecret } from '../../shared/protocol/authentication/digest/digest.ts'
import { digestHa1, digestUserhash } from '../../shared/protocol/authentication/digest/digest-response.ts'
import { foldUsername, isAnonymous, isUsername } from '../../shared/protocol/principal/record.ts'
import { changePrincipal } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { p, u } from '../store/aliases.ts'
import { digestSecrets, principals, users } from '../store/schema.ts'
import type { Sealing } from '../store/sealing.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Grantor, requireMayAccess } from './granting-rights.ts'
import { userRow } from './user-rows.ts'

/** The Digest secrets of users. */
export type DigestSecrets = ReturnType<typeof createDigestSecrets>

/** The length of a secret in bytes, before its encoding. */
export const digestSecretBytes = 24

const d = alias(digestSecrets, 'd')

const readSql = (condition: SQL) =>
  sql`select ${u.username}, ${u.id}::text as "userId", ${d.ha1Sealed} as "ha1Sealed",
  ${p.principalVersion}::text as version
  from ${digestSecrets} ${d} join ${users} ${u} on ${u.id} = ${d.userId}
  join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} where ${condition}`
const named = parameters({ usernameFolded: 'text', username: 'text' })
const byNameSql = named.statement(
  readSql(sql`${u.usernameFolded} = ${named.usernameFolded} and ${u.username} = ${named.username}`),
)
const hashed = parameters({ userhash: 'text' })
const byHashSql = hashed.statement(readSql(sql`${d.userhash} = ${hashed.userhash}`))

interface SecretRow {
  readonly username: string
  readonly userId: string
  readonly ha1Sealed: string
  readonly version: string
}

/** The associated data of the encrypted H(A1) of this user. */
export const digestSecretData = (userId: string) => ({ purpose: 'digest-ha1', row: userId })

/** Creates the Digest secrets over these systems. All throw Unavailable. */
export function createDigestSecrets(systems: AuthSystems) {
  const { database, ids, sealing, publisher } = systems
  /**
   * Makes a new secret, which is shown once, and with the user name as created: HTTP Digest works with this spelling
   * only. When this resolves, the former secret works on no server.
   * @throws ProblemError `not-found`, `reserved-user`, `missing-right` when the user has a right that `grantor` lacks
   */
  const renew = async (username: string, secret: string, grantor?: Grantor) => {
    if (isAnonymous(username)) throw new ProblemError('reserved-user', 'The reserved user has no secret.')
    return { username: await whenPublished(publisher, store(systems, username, { secret, grantor })), secret }
  }
  return {
    /** `secret` is given only for demo users. */
    renew: (username: string, secret = ids.secret(digestSecretBytes)) => renew(username, secret),
    /** The same for a caller. */
    renewFor: (username: string, grantor: Grantor) => renew(username, ids.secret(digestSecretBytes), grantor),
    /** Finds the secret of a user name or a userhash. */
    find: async (user: Parameters<DigestPorts['find']>[0]): ReturnType<DigestPorts['find']> => {
      const rows = await ('userhash' in user
        ? database.query<SecretRow>(...byHashSql({ userhash: user.userhash }))
        : findByName(database, user.username))
      return rows[0] && toSecret(rows[0], sealing)
    },
  }
}

const findByName = async (database: Database, username: string): Promise<SecretRow[]> =>
  isUsername(username)
    ? database.query<SecretRow>(...byNameSql({ usernameFolded: foldUsername(username), username }))
    : []

const toSecret = ({ ha1Sealed, version, ...row }: SecretRow, sealing: Sealing): DigestSecret => ({
  ...row,
  version: Number(version),
  ha1: sealing.open(ha1Sealed, digestSecretData(row.userId)),
})

/** Stores a secret. The result is the user name as created. */
const store = (
  { database, clock, sealing }: AuthSystems,
  username: string,
  { secret, grantor }: { secret: string; grantor: Grantor | undefined },
) =>
  changePrincipal(database, username, async (transaction, principal) => {
    const user = await userRow(transaction, principal.userId)
    const stored = {
      ha1Sealed: sealing.seal(digestHa1(user.username, secret), digestSecretData(user.id)),
      userhash: digestUserhash(user.username),
      updatedAt: new Date(clock.now()),
    }
    await transaction
      .insert(digestSecrets)
      .values({ userId: user.id, usernameFolded: user.usernameFolded, ...stored })
      .onConflictDoUpdate({ target: digestSecrets.userId, set: stored })
    const verify = (source: Drizzle) => requireMayAccess(source, grantor, user)
    const entries = [{ action: 'user.digest-secret-made', target: user.username }]
    return { result: user.username, change: { verify }, entries }
  })
