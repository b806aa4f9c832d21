import { and, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../shared/clock.ts'
import type { Database } from '../../shared/database/database.ts'
import { loginFamilies } from '../store/schema.ts'
import { changePrincipal } from '../users/principal-change.ts'
import type { PrincipalPublisher } from '../users/principal-publisher.ts'

/** Why a login ended before its time. */
export type EndReason = NonNullable<(typeof loginFamilies.$inferSelect)['endedReason']>

/** What ending a login needs. */
export interface EndLoginPorts {
  readonly database: Database
  readonly publisher: Pick<PrincipalPublisher, 'settle'>
  readonly clock: Clock
}

/**
 * Ends a login: its refresh tokens at once, its access tokens wherever the principal record is known, which is settled before
 * this resolves. Ending one that has ended is no change. @throws Unavailable
 */
export async function endLogin(
  { database, publisher, clock }: EndLoginPorts,
  login: { readonly id: string; readonly username: string; readonly reason: EndReason },
): Promise<void> {
  const { changeNumber } = await changePrincipal(database, login.username, async (transaction) => {
    const ended = await transaction
      .update(loginFamilies)
      .set({ endedAt: new Date(clock.now()), endedReason: login.reason, rotatedAt: null, successorSealed: null })
      .where(and(eq(loginFamilies.id, login.id), isNull(loginFamilies.endedAt)))
      .returning({ id: loginFamilies.id })
    return { result: undefined, ...(ended.length > 0 && { change: {} }) }
  })
  await publisher.settle(changeNumber)
}
