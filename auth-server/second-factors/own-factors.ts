/** Users change their own factors, administrators those of others (docs/contract/logins.md#second-factor). */
import { sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { gatherRows } from '../../shared/platform/database/gather-statements.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { s } from '../store/aliases.ts'
import { sessions } from '../store/schema.ts'
import type { Grantor } from '../users/granting-rights.ts'
import { defaultTotpName, type FactorSystems, newTotp, passkeyOf } from './ask-at-login.ts'
import type { Challenge, ChallengePurpose } from './challenges.ts'
import {
  addFactor,
  type FactorOwner,
  notConfirmed,
  removeFactor,
  replaceRecoveryCodes,
  resetFactors,
} from './change-factors.ts'
import { type FactorState, factorState } from './factor-state.ts'
import { creationOptions, registeredPasskey } from './passkeys.ts'
import { newRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import { newTotpSecret, totpStep, totpUri } from './totp.ts'
import { boundTries } from './tries.ts'

/** The user who acts. */
export type Owner = Omit<FactorOwner, 'login'>

/** The proof that ends a set-up. */
export interface SetUpAnswer {
  /** The challenge that the set-up began with. */
  readonly challenge: string
  /** How the user calls the factor. */
  readonly name?: string | undefined
}

/** The factors of a user. */
export type OwnFactors = ReturnType<typeof createOwnFactors>

const asked = parameters({ ids: 'json' })
/** The ids of sessions. */
const methodsSql = asked.statement(sql`select ${s.id}, ${s.secondFactor} as method
  from json_array_elements_text(${asked.ids}) as n(id) join ${sessions} ${s} on ${s.id} = n.id::uuid`)

/** Creates these over the systems of the second factor at a login. Every asynchronous function throws Unavailable. */
export function createOwnFactors(systems: FactorSystems) {
  const { database, publisher } = systems
  const readMethod = gatherRows(
    (ids) => database.query<{ id: string; method: string | null }>(...methodsSql({ ids })),
    ({ id }) => id,
  )
  return {
    /** @throws ProblemError `not-found` */
    read: (owner: Owner) => stateOf(systems, owner),
    /** Begins to set one-time codes up. Nothing is stored. */
    beginTotp: (owner: Owner) => {
      const secret = newTotpSecret()
      const uri = totpUri(secret, { issuer: 'Keyhold', username: owner.username })
      return { secret, uri, challenge: seal(systems, 'totp', owner, { totp: secret }) }
    },
    /** @throws ProblemError `second-factor-not-confirmed`, `too-many-attempts`, `too-many-second-factors` */
    confirmTotp: (owner: FactorOwner, answer: SetUpAnswer & { readonly code: string }) =>
      confirmTotp(systems, owner, answer),
    /** Begins to set a passkey up. Nothing is stored. @throws ProblemError `not-found` */
    beginPasskey: (owner: Owner) => beginPasskey(systems, owner),
    /** @throws ProblemError `second-factor-not-confirmed`, `too-many-second-factors` */
    confirmPasskey: (owner: FactorOwner, answer: SetUpAnswer & { readonly passkey: unknown }) =>
      confirmPasskey(systems, owner, answer),
    async remove(owner: Owner, id: string): Promise<void> {
      if (!isUuid(id)) throw new ProblemError('not-found', 'You have no such second factor.')
      await whenPublished(publisher, removeFactor(systems, owner, id))
    },
    /** Makes new recovery codes; those before no longer work. @throws ProblemError `second-factor-missing` */
    async renewRecoveryCodes(owner: Owner): Promise<readonly string[]> {
      const codes = newRecoveryCodes()
      const hashes = codes.map((code) => recoveryCodeHash(owner.userId, code))
      await whenPublished(publisher, replaceRecoveryCodes(systems, owner, hashes))
      return codes
    },
    async reset(username: string, grantor: Grantor): Promise<void> {
      await whenPublished(publisher, resetFactors(systems, username, grantor))
    },
    /** The RFC 8176 value of the factor of a session; null: it had none. Undefined: there is no such session. */
    async methodOf(sessionId: string): Promise<string | null | undefined> {
      return isUuid(sessionId) ? (await readMethod(sessionId.toLowerCase()))?.method : undefined
    },
  }
}

async function stateOf({ database }: FactorSystems, { userId }: Owner): Promise<FactorState> {
  const state = await factorState(database, userId)
  if (state) return state
  throw new ProblemError('not-found', 'There is no such user.')
}

const seal = (
  { challenges, ids }: FactorSystems,
  purpose: ChallengePurpose,
  { userId, username }: Owner,
  content: Pick<Challenge, 'totp' | 'webauthn'>,
): string => challenges.seal(purpose, { id: ids.uuid(), userId, username, ...content })

/** @throws ProblemError `second-factor-not-confirmed` */
function open(systems: FactorSystems, purpose: ChallengePurpose, { userId }: Owner, text: string): Challenge {
  const challenge = systems.challenges.open(purpose, text)
  if (challenge?.userId === userId) return challenge
  throw notConfirmed('The challenge is not one of this set-up of yours, or has expired. Begin again.')
}

async function confirmTotp(
  systems: FactorSystems,
  owner: FactorOwner,
  { challenge, code, name = defaultTotpName }: SetUpAnswer & { readonly code: string },
): Promise<FactorState> {
  const { userId } = owner
  const { totp: secret = '' } = open(systems, 'totp', owner, challenge)
  const check = async () => totpStep(secret, code.replace(/\s/g, ''), systems.clock.now())
  const step = await boundTries(systems, userId, check)
  if (step === undefined) throw notConfirmed('The code is not one of the last minute of this secret.')
  const factor = newTotp(systems, { userId, secret, step, name })
  await whenPublished(systems.publisher, addFactor(systems, owner, { factor, method: 'otp' }))
  return stateOf(systems, owner)
}

async function beginPasskey(systems: FactorSystems, owner: Owner) {
  const { username, userId, factors } = await stateOf(systems, owner)
  const passkeys = factors.filter(({ kind }) => kind === 'passkey').map(passkeyOf)
  const publicKey = await creationOptions(systems.relyingParty, { username, userId, passkeys })
  return { publicKey, challenge: seal(systems, 'passkey', owner, { webauthn: publicKey.challenge }) }
}

async function confirmPasskey(
  systems: FactorSystems,
  owner: FactorOwner,
  { challenge, passkey, name = 'Passkey' }: SetUpAnswer & { readonly passkey: unknown },
): Promise<FactorState> {
  const { webauthn = '' } = open(systems, 'passkey', owner, challenge)
  const registered = await registeredPasskey(systems.relyingParty, passkey, webauthn)
  if (!registered) throw notConfirmed('The passkey does not answer this challenge from a page of this server.')
  const { transports, ...material } = registered
  const factor = {
    id: systems.ids.uuid(),
    userId: owner.userId,
    kind: 'passkey' as const,
    name,
    ...material,
    transports: [...transports],
    createdAt: new Date(systems.clock.now()),
  }
  await whenPublished(systems.publisher, addFactor(systems, owner, { factor, method: 'hwk' }))
  return stateOf(systems, owner)
}
