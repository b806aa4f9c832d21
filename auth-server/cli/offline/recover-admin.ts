/**
 * `ops users recover-admin`: restores access when no administrator can log in. Works offline, on the database of the
 * auth server.
 */
import { eq } from 'drizzle-orm'
import type { IdSource } from '../../../shared/platform/ids.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { OperationError } from '../../../shared/platform/terminal/report.ts'
import { isAnonymous } from '../../../shared/protocol/principal/record.ts'
import type { PasswordHashing } from '../../passwords/password-hashing.ts'
import { changePrincipal } from '../../principals/principal-change.ts'
import { adminRole } from '../../principals/rights.ts'
import { deleteFactors } from '../../second-factors/change-factors.ts'
import { users } from '../../store/schema.ts'
import { insertUser } from '../../users/create-user.ts'
import { distinct, refuseProblems, usernameProblems } from '../../users/user.ts'
import { userRow } from '../../users/user-rows.ts'
import { duringOperation, type OperationRecordPorts, requireKeyOfLog } from './record-operation.ts'

/** Data and services for the recovery. */
export interface RecoverAdminPorts extends OperationRecordPorts {
  readonly ids: IdSource
  readonly hashing: Pick<PasswordHashing, 'hash'>
}

/** The recovered administrator. */
export interface RecoveredAdmin {
  readonly username: string
  readonly password: string
  /** False when the user existed before. */
  readonly created: boolean
}

/**
 * Creates the user, or enables it and gives it the role `admin` and a new password. All its logins are revoked, and
 * its second factors removed. Running auth servers publish the change at their next heartbeat, as every change.
 *
 * @throws OperationError, Unavailable
 */
export async function recoverAdmin(ports: RecoverAdminPorts, username: string): Promise<RecoveredAdmin> {
  refuseProblems(usernameProblems(username))
  if (isAnonymous(username))
    throw new OperationError(`${username} stands for callers without a user: it cannot be an administrator.`)
  await requireKeyOfLog(ports)
  const password = ports.ids.secret(18)
  const passwordHash = await ports.hashing.hash(password)
  const existing = await duringOperation(ports, async () => {
    const promoted = await promote(ports, username, passwordHash)
    const admin = { username, passwordHash, roles: [adminRole], rights: [], enabled: true }
    if (promoted === undefined) await insertUser(ports, { ...admin, action })
    return promoted
  })
  return { username: existing ?? username, password, created: existing === undefined }
}

const action = 'user.recovered'

/** The user's name as created; undefined when there is no such user. */
async function promote(
  { database, clock }: RecoverAdminPorts,
  username: string,
  passwordHash: string,
): Promise<string | undefined> {
  try {
    const { result } = await changePrincipal(database, username, async (transaction, { userId }) => {
      const before = await userRow(transaction, userId)
      const roles = distinct([...before.roles, adminRole])
      const updatedAt = new Date(clock.now())
      await transaction.update(users).set({ passwordHash, roles, enabled: true, updatedAt }).where(eq(users.id, userId))
      await deleteFactors(transaction, userId)
      const { username: target } = before
      const change = { raiseGeneration: { keptLogin: null }, endsLock: true }
      return { result: target, change, entries: [{ action, target }] }
    })
    return result
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'not-found') return undefined
    throw error
  }
}
