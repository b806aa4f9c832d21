import { createDuring } from '../../../auth-server/audit/change-entries.ts'
import type { Pending } from '../../../auth-server/audit/journal.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import type { Database } from '../../../shared/platform/database/database.ts'

/** Work with an entry that no change of the test has. */
const nobody = { actor: null, scheme: null, address: null, requestId: null }

/** Runs work, and reads the audit entries that its changes stored: action, target and outcome of each. */
export async function entriesDuring(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  work: () => Promise<unknown>,
): Promise<(string | null)[][]> {
  const never = async () => {
    throw new Error('no entry is recorded apart from a change')
  }
  const during = createDuring({ clock, check: () => undefined, record: never, recordRefusal: never, stored: () => {} })
  const read = () =>
    database.query<{ entry: Pending }>('select entry from auth.audit_journal where entry is not null order by position')
  const before = (await read()).length
  await during(nobody, undefined, work)
  return (await read()).slice(before).map(({ entry }) => [entry.action, entry.target, entry.outcome])
}
