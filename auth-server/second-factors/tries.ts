/**
 * Bounds wrong one-time codes of a user, beside the login throttle: somebody who knows the password must not guess one
 * of a million codes, from however many addresses. Each try is counted before the check, so concurrent tries are too.
 */
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { build, namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { secondFactorFailures } from '../store/second-factor-tables.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'

/** This many wrong codes in a row cost nothing. Each further one doubles the wait, from 30 seconds to an hour. */
export const freeTries = 5

const f = alias(secondFactorFailures, 'f')
const excluded = alias(secondFactorFailures, 'excluded')

const waitSql = sql`least(3600, 30 * power(2, least(${f.failures}, 20) - 5))`

const tried = parameters({ userId: 'uuid', now: 'timestamptz' })
const beginSql = tried.statement(sql`insert into ${secondFactorFailures} as ${f}
    (${namesOf(secondFactorFailures, 'userId', 'failures', 'failedAt')})
  values (${tried.userId}, 1, ${tried.now})
  on conflict (${namesOf(secondFactorFailures, 'userId')}) do update
    set (${namesOf(secondFactorFailures, 'failures', 'failedAt')}) = (${f.failures} + 1, ${excluded.failedAt})
  where ${f.failures} < ${sql.raw(String(freeTries))}
    or ${f.failedAt} + make_interval(secs => ${waitSql}) <= ${excluded.failedAt}
  returning ${f.failures}`)

const untilSql = tried.statement(sql`select ceil(extract(epoch from ${f.failedAt} + make_interval(secs => ${waitSql})
    - ${tried.now}))::int as seconds
  from ${secondFactorFailures} ${f} where ${f.userId} = ${tried.userId}`)

const ended = parameters({ userId: 'uuid' })
const endSql = ended.statement(
  build
    .delete(secondFactorFailures)
    .where(sql`${secondFactorFailures.userId} = ${ended.userId}`)
    .returning({ deleted: secondFactorFailures.userId }),
)

/**
 * Runs `check` unless there were too many wrong codes. A right one, which is not undefined, forgets the wrong ones.
 * @throws ProblemError `too-many-attempts`; Unavailable
 */
export async function boundTries<Result>(
  { database, clock }: AuthSystems,
  userId: string,
  check: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const now = rfc3339(clock.now())
  if ((await database.write(...beginSql({ userId, now }))).length === 0) {
    const [row] = await database.query<{ seconds: number }>(...untilSql({ userId, now }))
    throw new ProblemError('too-many-attempts', 'Too many wrong codes of this user.', {
      retryAfterSeconds: Math.max(1, row?.seconds ?? 1),
    })
  }
  const result = await check()
  if (result !== undefined) await database.write(...endSql({ userId }))
  return result
}
