/** `ops deals check`: whether deals are what their events say (docs/contract/operators.md#check-of-deals). */
import type { Command } from 'commander'
import { type Report, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { OpsSystems } from '../offline/ops-systems.ts'
import type { OperationRecordPorts } from '../offline/record-operation.ts'
import type { StoredData } from '../offline/stored-data.ts'
import { withExample, withText } from '../terminal/help.ts'

type Checking = Pick<OpsSystems, 'openStoredData' | 'readKeys' | 'clock' | 'operator' | 'report' | 'interrupted'>

/** Adds the group to the program. */
export function addDealCheckCommands(program: Command, ports: Checking): void {
  const check = program
    .command('deals')
    .description('the deals: compare them with their events')
    .command('check')
    .description('find deals that are not what their events say, and rebuild them from these; servers may run')
    .option('--dry-run', 'only find them')
    .action(
      ports.report(({ dryRun = false }: { dryRun?: boolean }) =>
        ports.openStoredData((data) => checkAll(ports, data, dryRun)),
      ),
    )
  withText(
    check,
    'The events of a deal are its history. A deal whose row is behind them, or is missing, gets what they say. A deal\n' +
      'without all of its events is only named. Reads about 20,000 events at a time, and locks nothing.',
    'Works on DEAL_DATABASE_URL, or on the database in DATA_DIR while no server has it open. What is rebuilt is\n' +
      'written into the audit log: then AUTH_DATABASE_URL and SECRETS_KEY are needed too.',
  )
  withExample(check, 'deals check', 'deals check --dry-run')
}

interface TornDeal {
  readonly id: string
  readonly mended: boolean
}

async function checkAll(ports: Checking, { auth, deals }: StoredData, dryRun: boolean): Promise<Report> {
  if (deals === undefined) throw new WrongUsage('Set DEAL_DATABASE_URL to that of the deal servers.')
  const { checkDeals, mendDeal } = await import('../../../deal-server/retention/torn-deals.ts')
  const mend = async (id: string): Promise<boolean> => {
    const record = await recordOf(ports, auth)
    const isMended = await mendDeal(deals, id)
    if (isMended) await record({ action: 'deal.mended', target: id })
    return isMended
  }
  let count = 0
  const torn: TornDeal[] = []
  for await (const checked of checkDeals(deals, { signal: ports.interrupted() })) {
    count += checked.count
    for (const id of checked.torn) torn.push({ id, mended: !dryRun && (await mend(id)) })
  }
  return reportOf(count, torn)
}

/** Requires what an entry needs before anything is changed. */
async function recordOf({ readKeys, clock, operator }: Checking, database: StoredData['auth']) {
  if (database === undefined) {
    throw new WrongUsage('Set AUTH_DATABASE_URL too, for the audit log. `--dry-run` finds deals without it.')
  }
  const { recordOperation, requireKeyOfLog } = await import('../offline/record-operation.ts')
  const record: OperationRecordPorts = { ...(await readKeys()), database, clock, operator }
  await requireKeyOfLog(record)
  return (entry: Parameters<typeof recordOperation>[1]) => recordOperation(record, entry)
}

function reportOf(deals: number, torn: readonly TornDeal[]): Report {
  const ok = torn.every(({ mended }) => mended)
  const lines = torn.map(({ id, mended }) => `${mended ? 'Rebuilt' : 'Not what its events say'}: ${id}`)
  const rest = torn.length === 0 ? 'Each is what its events say.' : `Not so were ${torn.length}.`
  const text = [...lines, `Deals, purged ones too: ${deals}. ${rest}`].join('\n')
  return { json: { ok, deals, torn }, text, exitCode: ok ? 0 : 1 }
}
