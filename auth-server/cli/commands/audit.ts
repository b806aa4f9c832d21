/**
 * `ops audit …`: verifies the chain of the audit log on the database of the auth server
 * (docs/contract/operators.md#audit-log).
 */
import type { Command } from 'commander'
import { withProgress } from '../../../shared/platform/terminal/progress.ts'
import { type Report, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { AuditHead } from '../../audit/audit.ts'
import { parseAuditHead, sentenceOf, verifyChain } from '../../audit/verify-chain.ts'
import type { OpenAuthData } from '../offline/auth-data.ts'
import { settleAuditLog } from '../offline/record-operation.ts'
import { withExample, withText } from '../terminal/help.ts'
import { type AuditCommandSystems, addAuditDrop } from './audit-drop.ts'

/** Adds the group to the program. */
export function addAuditCommands(program: Command, ports: AuditCommandSystems): void {
  const audit = program
    .command('audit')
    .description('the audit log: verify that it was not changed, and drop old entries')
  addVerification(audit, ports)
  addAuditDrop(audit, ports)
}

interface VerifyOptions {
  readonly head?: string
}

function addVerification(audit: Command, { openAuthData, report }: AuditCommandSystems): void {
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
