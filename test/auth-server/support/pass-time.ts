import type { Database } from '../../../shared/platform/database/database.ts'
import type { TestClock } from './test-clock.ts'

/** Lets time pass for the server and for PostgreSQL, whose clock judges the window for repeating a refresh. */
export async function passTime(
  { clock, database }: { readonly clock: Pick<TestClock, 'advance'>; readonly database: Pick<Database, 'write'> },
  milliseconds: number,
): Promise<void> {
  clock.advance(milliseconds)
  const ago = "$1::text::float8 * interval '1 millisecond'"
  await database.write(
    `update auth.login_families set rotated_at = rotated_at - ${ago}, former_rotated_at = former_rotated_at - ${ago}
      returning id::text as id`,
    [String(milliseconds)],
  )
}
