/**
 * `ops audit …`: reads the audit log over HTTP, and verifies its chain on the database of the auth server
 * (docs/contract/operators.md#audit-log).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { AuthComponents } from '../../../client/src/index.ts'
import { withProgress } from '../../../shared/platform/terminal/progress.ts'
import { OperationFailed, type Report, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import { changesInWords } from '../../../shared/protocol/entry-changes.ts'
import type { AuditHead } from '../../audit/audit.ts'
import { parseAuditHead, sentenceOf, verifyChain } from '../../audit/verify-chain.ts'
import { type AdminClient, allOf, type WithAdmin } from '../http/admin-client.ts'
import { asSentence } from '../http/errors.ts'
import type { OpenAuthData } from '../offline/auth-data.ts'
import { findEnd } from '../offline/log-end.ts'
import { settleAuditLog } from '../offline/record-operation.ts'
import { withExample, withText } from '../terminal/help.ts'
import { type AuditDropPorts, addAuditDrop } from './audit-drop.ts'
import { type AuditExportPorts, addAuditExport } from './audit-export.ts'

/** Services that the commands use. */
export interface AuditCommandPorts extends AuditExportPorts, AuditDropPorts {
  readonly withAdmin: WithAdmin
  /** Prints a result while the command runs, for scripts and for people. */
  print(json: unknown, text: string): void
}

type Entry = AuthComponents['schemas']['AuditPage']['items'][number]

const pageSize = 200
const pollMs = 1000

interface TailOptions {
  readonly limit: number
  readonly follow?: boolean
}

/** Adds the group to the program. */
export function addAuditCommands(program: Command, ports: AuditCommandPorts): void {
  const audit = program.command('audit').description('the audit log: read it, and verify that it was not changed')
  const tail = audit
    .command('tail')
    .description('the latest entries')
    .option('--limit <count>', 'how many', count, 20)
    .option('--follow', 'and then each new one as it comes, until Ctrl-C; with --json one value a line')
    .action(
      ports.report((options: TailOptions) =>
        ports.withAdmin((admin) => (options.follow ? follow(admin, options, ports) : latest(admin, options))),
      ),
    )
  withExample(tail, 'audit tail --limit 50', 'audit tail --follow')
  addVerification(audit, ports)
  addAuditExport(audit, ports)
  addAuditDrop(audit, ports)
}

function count(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a number from 1 to 99999.')
}

async function latest(admin: AdminClient, { limit }: TailOptions): Promise<Report> {
  const entries = await entriesBehind(admin, await startOf(admin, limit))
  return { json: entries, text: entries.length === 0 ? 'The audit log is empty.' : entries.map(lineOf).join('\n') }
}

async function follow(admin: AdminClient, { limit }: TailOptions, ports: AuditCommandPorts): Promise<Report> {
  const signal = ports.interrupted()
  let after = await startOf(admin, limit)
  while (!signal.aborted) {
    try {
      for (const entry of await entriesBehind(admin, after)) {
        ports.print(entry, lineOf(entry))
        after = entry.seq
      }
    } catch (error) {
      if (signal.aborted) break
      const failure = asSentence(error, admin.authUrl)
      if (!(failure instanceof OperationFailed)) throw error
      ports.warn(`${failure.message} Trying again.`)
    }
    await sleep(pollMs, undefined, { signal }).catch(() => undefined)
  }
  return { json: undefined, text: '' }
}

/** The number of the entry before the last `limit` ones. */
async function startOf({ auth }: AdminClient, limit: number): Promise<number> {
  const has = async (seq: number) => {
    const { data } = await auth.GET('/audit', { params: { query: { after: seq - 1, limit: 1 } } })
    return data.items.length > 0
  }
  return Math.max(0, (await findEnd(has)) - limit)
}

const entriesBehind = ({ auth }: AdminClient, after: number): Promise<Entry[]> =>
  allOf(auth.items('/audit', { params: { query: { after, limit: pageSize } } }))

const lineOf = ({ seq, at, actor, action, target, outcome, scheme, address, count: times, ...more }: Entry): string =>
  [
    seq,
    at,
    actor ?? '-',
    action,
    target ?? '-',
    outcome,
    scheme ?? '-',
    address ?? '-',
    ...[times > 1 && `${times} times`, more.reason, changesInWords(more.changes)].filter(Boolean),
  ].join('  ')

interface VerifyOptions {
  readonly head?: string
}

function addVerification(audit: Command, { openAuthData, report }: AuditCommandPorts): void {
  const verify = audit
    .command('verify')
    .description("check the log's chain, on the auth server's own database; servers may run")
    .option('--head <count:digest>', 'a head that a server logged, or that an earlier check printed')
    .action(report(({ head }: VerifyOptions) => verifyLog(openAuthData, knownHead(head))))
  withText(
    verify,
    'Each entry carries a MAC over the entry before it. So the check finds an entry that was changed, moved or\n' +
      'removed. It finds a missing end only with a head: servers log the head each minute ("auditHead"). Keep some\n' +
      'heads away from the database, and give the latest one.',
    'The check needs the key that an entry was written under. After a rotation of SECRETS_KEY keep the old key,\n' +
      'away from the servers, and give it to this check alone, in FORMER_SECRETS_KEYS, which holds any number of\n' +
      'keys. A thief of an old key could rewrite the entries under it. So always give a head that was logged after\n' +
      'the rotation: no rewritten log agrees with it.',
    'After `audit drop` the check begins behind the dropped entries.',
    'Reads AUTH_DATABASE_URL, or the database in DATA_DIR while no server has it open, and SECRETS_KEY.',
  )
  withExample(verify, 'audit verify', 'audit verify --head 1712:Vb3Jm0n9tY0h2dC7gqT5w0s1m8nFzqkXnKxw9pUu3aE')
}

function knownHead(text: string | undefined): AuditHead | undefined {
  const known = text === undefined ? undefined : parseAuditHead(text)
  if (text === undefined || known !== undefined) return known
  throw new WrongUsage('--head: expected a head as servers log it, count:digest.')
}

async function verifyLog(openAuthData: OpenAuthData, known: AuditHead | undefined): Promise<Report> {
  return openAuthData(async ({ database, secretsKeys, allSecretsKeys }) => {
    await settleAuditLog({ database, secretsKeys })
    const { sound, dropped, fault } = await withProgress('entries', (onProgress) =>
      verifyChain({ database, secretsKeys: allSecretsKeys, onProgress }, known),
    )
    const head = `${sound.count}:${sound.digest}`
    const before = dropped === undefined ? {} : { dropped }
    if (!fault) {
      const text = `In order: ${sound.count - (dropped?.count ?? 0)} entries. The head is ${head}`
      const others = dropped === undefined ? '' : `\nDropped before them, up to ${dropped.count}:${dropped.digest}`
      return { json: { ok: true, head: sound, ...before }, text: `${text}${others}` }
    }
    const text = `Wrong: ${sentenceOf(fault)}\nSound as far as ${head}`
    return { json: { ok: false, head: sound, ...before, fault }, text, exitCode: 1 }
  })
}
