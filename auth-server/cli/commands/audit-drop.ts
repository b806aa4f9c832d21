/** `ops audit drop` (docs/contract/operators.md#audit-log). */
import { type Command, InvalidArgumentError } from 'commander'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { withProgress } from '../../../shared/platform/terminal/progress.ts'
import { type Report, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { OpsSystems } from '../offline/ops-systems.ts'
import { duringOperation, requireKeyOfLog, settleAuditLog } from '../offline/record-operation.ts'
import { withExample, withText } from '../terminal/help.ts'

/** What the commands of the group use. */
export type AuditCommandSystems = Pick<OpsSystems, 'openAuthData' | 'clock' | 'operator' | 'report' | 'interrupted'>

/** Adds the command to the group. */
export function addAuditDrop(audit: Command, ports: AuditCommandSystems): void {
  const command = audit
    .command('drop')
    .description('verify the entries before a date, and remove them from the database for good; servers may run')
    .requiredOption('--before <date>', 'the first day whose entries stay, in UTC: 2026-01-01', date)
    .action(ports.report(({ before }: { before: string }) => drop(ports, before)))
  withText(
    command,
    'All entries before the first one of this day or later go. Nothing goes while one of them is not\n' +
      'what was written. GET /audit and `audit verify` then begin behind them, and the numbers go on: the log keeps the\n' +
      'number and the MAC of the last one, sealed under SECRETS_KEY. An entry audit.dropped says what was done.',
    'Export what you want to keep first. An interrupted run leaves a sound log, and can be repeated.',
    'Works on AUTH_DATABASE_URL, or on the database in DATA_DIR while no server has it open. Needs SECRETS_KEY (and\n' +
      'FORMER_SECRETS_KEYS for older entries).',
  )
  withExample(command, 'audit drop --before 2026-01-01')
}

function date(text: string): string {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  // 30 February would be 2 March.
  if (!Number.isNaN(time) && rfc3339(time).startsWith(text)) return text
  throw new InvalidArgumentError('Expected a date such as 2026-01-01.')
}

async function drop(ports: AuditCommandSystems, before: string): Promise<Report> {
  if (Date.parse(before) > ports.clock.now()) throw new WrongUsage('--before: this day has not come yet.')
  return ports.openAuthData(async (data) => {
    await requireKeyOfLog(data)
    await settleAuditLog(data)
    const { dropEntries } = await import('../../audit/drop-entries.ts')
    const { entries, head } = await withProgress('entries', (onProgress) => {
      const dropping = { ...data, signal: ports.interrupted(), onVerified: onProgress, onProgress }
      return duringOperation({ ...ports, ...data }, () => dropEntries(dropping, before))
    })
    const json = { dropped: entries, head }
    if (entries === 0) return { json, text: 'There is nothing to drop.' }
    return { json, text: `Dropped: ${entries} entries, up to ${head.count}:${head.digest}` }
  })
}
