import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { unixSeconds } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { audienceDigest, type TokenPasswordHash } from '../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { digestTokenPassword } from '../../shared/protocol/key-signed-token/token-password.ts'
import { anonymousUsername, foldUsername } from '../../shared/protocol/principal/record.ts'
import type { PasswordHashing } from '../passwords/password-hashing.ts'
import type { PasswordHolder } from '../second-factors/ask-at-login.ts'
import { p, u } from '../store/aliases.ts'
import { principals, users } from '../store/schema.ts'
import type { LoginSystems } from './login-systems.ts'
import { rehashPassword, verifyPassword } from './verify-password.ts'

/** The optional parts of a key-signed token, in the order of its layout. */
export const keySignedParts = ['username', 'ip', 'password'] as const

/** One of the optional parts. */
export type KeySignedPart = (typeof keySignedParts)[number]

/** A request for a key-signed token. */
export interface KeySignedLogin {
  readonly username: string
  readonly password: string
  /** Each part at most once. */
  readonly include: readonly KeySignedPart[]
  /** The audience of the token; null: that of the pair. */
  readonly audience: string | null
  /** The canonical form. */
  readonly clientAddress: string
  /** Called with the user's id when the token has been issued. */
  readonly proved?: (userId: string) => void
}

/** A new token, with the key that signed it and its expiry. */
export interface IssuedKeySignedToken {
  readonly token: string
  readonly kid: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** How often the login starts again because the user was changed during the check of the password. */
const maxAttempts = 3

/**
 * Issues a key-signed token for name and password.
 *
 * @throws ProblemError `invalid-credentials`, with the same content and after the same time, for an unknown user, a
 *   wrong password, a disabled user and a user without a password; `scheme-without-second-factor` for a user who needs
 *   a second factor, which such a token cannot carry
 * @throws Unavailable
 */
export function createKeySignedLogin(systems: LoginSystems) {
  return async function logInKeySigned(login: KeySignedLogin): Promise<IssuedKeySignedToken> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const holder = await verifyPassword(systems, login)
      if (!holder) break
      await refuseWithFactor(systems, holder)
      const sub = login.include.includes('username') ? holder.username : null
      const generation = await generationOf(systems.database, { holder, principal: sub ?? anonymousUsername })
      if (generation === undefined) continue
      const issued = await issue(systems, login, { sub, generation })
      login.proved?.(holder.userId)
      await rehashPassword(systems, holder, login.password)
      return issued
    }
    throw new ProblemError('invalid-credentials', 'The user name or the password is not right.')
  }
}

/** @throws ProblemError `scheme-without-second-factor` */
async function refuseWithFactor({ secondFactors }: LoginSystems, holder: PasswordHolder): Promise<void> {
  if (!(await secondFactors.isRequired(holder.userId))) return
  throw new ProblemError(
    'scheme-without-second-factor',
    'This user needs a second factor, which a key-signed token cannot carry. Log in with POST /login.',
  )
}

const holding = parameters({ userId: 'uuid', passwordHash: 'text', usernameFolded: 'text' })
const generationSql = holding.statement(sql`select ${p.generation} from ${users} ${u}, ${principals} ${p}
  where ${u.id} = ${holding.userId} and ${u.passwordHash} = ${holding.passwordHash} and ${u.enabled}
    and ${p.usernameFolded} = ${holding.usernameFolded} and (${p.userId} = ${u.id}
      or ${p.usernameFolded} = ${sql.raw(`'${anonymousUsername}'`)})`)

/**
 * The generation of the principal, if the proved password is still the user's; otherwise undefined. Each later change
 * raises the generation, and the token then has an old one.
 */
async function generationOf(
  database: Database,
  { holder, principal }: { readonly holder: PasswordHolder; readonly principal: string },
): Promise<number | undefined> {
  const { userId, passwordHash } = holder
  const usernameFolded = foldUsername(principal)
  const [row] = await database.query<{ generation: number }>(...generationSql({ userId, passwordHash, usernameFolded }))
  return row?.generation
}

async function issue(
  systems: LoginSystems,
  { include, password, clientAddress, audience }: KeySignedLogin,
  { sub, generation }: { readonly sub: string | null; readonly generation: number },
): Promise<IssuedKeySignedToken> {
  const passwordHash = include.includes('password') ? await hashAnew(systems.hashing, password) : null
  const iat = unixSeconds(systems.clock.now())
  const exp = iat + systems.settings.keySignedTokenTtlSeconds
  const address = include.includes('ip') ? clientAddress : null
  const issued = systems.issueKeySignedToken({
    iat,
    exp,
    jti: systems.ids.uuid(),
    gen: generation,
    sub,
    address,
    passwordHash,
    audience: audience === null ? null : audienceDigest(audience),
  })
  return { ...issued, expiresAt: exp }
}

/** Hashes with a new salt. Anyone can read a token, so it must never contain the stored hash or its salt. */
async function hashAnew({ parameters, withPermit }: PasswordHashing, password: string): Promise<TokenPasswordHash> {
  const unfilled = { ...parameters, salt: randomBytes(16) }
  return { ...unfilled, digest: await withPermit(() => digestTokenPassword(password, unfilled)) }
}
