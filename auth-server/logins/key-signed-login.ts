import { randomBytes } from 'node:crypto'
import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { TokenPasswordHash } from '../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { digestTokenPassword } from '../../shared/protocol/key-signed-token/token-password.ts'
import { anonymousUsername, foldUsername } from '../../shared/protocol/principal/record.ts'
import type { PasswordHashing } from '../passwords/password-hashing.ts'
import type { IssueKeySignedToken } from '../tokens/key-signed-tokens.ts'
import { type PasswordHolder, rehashPassword, type VerifyPasswordPorts, verifyPassword } from './verify-password.ts'

/** What a key-signed token may hold, in the order of its layout. */
export const keySignedParts = ['username', 'ip', 'password'] as const

/** One of these. */
export type KeySignedPart = (typeof keySignedParts)[number]

/** A login for a key-signed token as it arrives. */
export interface KeySignedLogin {
  readonly username: string
  readonly password: string
  /** Each part at most once. */
  readonly include: readonly KeySignedPart[]
  /** Canonical. */
  readonly clientAddress: string
  /** Told who it is once the token is issued. */
  readonly proved?: (userId: string) => void
}

/** A token and what is told of it. */
export interface IssuedKeySignedToken {
  readonly token: string
  readonly kid: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** What it needs. */
export interface KeySignedLoginPorts extends VerifyPasswordPorts {
  readonly hashing: PasswordHashing
  readonly issueKeySignedToken: IssueKeySignedToken
  readonly keySignedTokenTtlSeconds: number
  readonly clock: Clock
  readonly ids: IdSource
}

/**
 * Issues a key-signed token for name and password.
 *
 * @throws ProblemError `invalid-credentials`, the same in content and time, for an unknown user, a wrong password, a disabled user and one
 *   without a password
 * @throws Unavailable
 */
export type LogInKeySigned = (login: KeySignedLogin) => Promise<IssuedKeySignedToken>

/** How often it starts over because the user was changed while the password was being checked. */
const maxAttempts = 3

/** Issuing over these ports. */
export function createKeySignedLogin(ports: KeySignedLoginPorts): LogInKeySigned {
  return async (login) => {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const holder = await verifyPassword(ports, login)
      if (!holder) break
      const sub = login.include.includes('username') ? holder.username : null
      const generation = await generationOf(ports.database, { holder, principal: sub ?? anonymousUsername })
      if (generation === undefined) continue
      const issued = await issue(ports, login, { sub, generation })
      login.proved?.(holder.userId)
      await rehashPassword(ports, holder, login.password)
      return issued
    }
    throw new ProblemError('invalid-credentials', 'the user name or the password is not right')
  }
}

const generationSql = `select p.generation from auth.users u, auth.principals p
  where u.id = $1::text::uuid and u.password_hash = $2::text and u.enabled
    and p.username_folded = $3::text and (p.user_id = u.id or p.username_folded = '${anonymousUsername}')`

/**
 * The generation of the principal while the proved password still is the user's; undefined when it is no longer. Whatever changes from
 * then on raises a number that the token will not have.
 */
async function generationOf(
  database: Pick<Database, 'query'>,
  { holder, principal }: { readonly holder: PasswordHolder; readonly principal: string },
): Promise<number | undefined> {
  const parameters = [holder.userId, holder.passwordHash, foldUsername(principal)]
  const [row] = await database.query<{ generation: number }>(generationSql, parameters)
  return row?.generation
}

async function issue(
  ports: KeySignedLoginPorts,
  { include, password, clientAddress }: KeySignedLogin,
  { sub, generation }: { readonly sub: string | null; readonly generation: number },
): Promise<IssuedKeySignedToken> {
  const passwordHash = include.includes('password') ? await hashAnew(ports.hashing, password) : null
  const iat = unixSeconds(ports.clock.now())
  const exp = iat + ports.keySignedTokenTtlSeconds
  const address = include.includes('ip') ? clientAddress : null
  const issued = ports.issueKeySignedToken({
    iat,
    exp,
    jti: ports.ids.uuid(),
    gen: generation,
    sub,
    address,
    passwordHash,
  })
  return { ...issued, expiresAt: exp }
}

/** Everybody can read what is in a token: the stored hash may never be in one, nor its salt. */
async function hashAnew({ parameters, withPermit }: PasswordHashing, password: string): Promise<TokenPasswordHash> {
  const unfilled = { ...parameters, salt: randomBytes(16) }
  return { ...unfilled, digest: await withPermit(() => digestTokenPassword(password, unfilled)) }
}
