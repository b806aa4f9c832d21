/** `ops secrets …`: SERVICE_SECRET and SECRETS_KEY, and their rotation (docs/contract/operators.md#secrets). */
import { Argument, type Command } from 'commander'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import type { IdSource } from '../../../shared/platform/ids.ts'
import { withProgress } from '../../../shared/platform/terminal/progress.ts'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import { columns } from '../../../shared/platform/terminal/tables.ts'
import type { AuthData } from '../offline/auth-data.ts'
import type { OpsSystems } from '../offline/ops-systems.ts'
import { withExample, withText } from '../terminal/help.ts'

const variables = ['SERVICE_SECRET', 'SECRETS_KEY'] as const

const secretBytes = 32

const rotation =
  'A secret is rotated in three rounds. In each round, restart the servers one after the other, in any order:\n' +
  '  1. SECRET=old,new on every server: each accepts the new one before any server uses it;\n' +
  '  2. SECRET=new,old on every server: the new one is used, what the old one made is still accepted;\n' +
  '  3. SECRET=new on every server, when nothing that the old one made is needed any more.\n' +
  'SERVICE_SECRET belongs to auth servers and deal servers. Between rounds 2 and 3 wait 15 minutes\n' +
  '(LOGIN_FAILURES_PER_ACCOUNT, Digest nonces).\n' +
  'SECRETS_KEY belongs to auth servers alone. Between rounds 2 and 3 run `secrets reencrypt`, and wait until the\n' +
  'time that it prints.'

/** Adds the group to the program. */
export function addSecretCommands(program: Command, ports: OpsSystems): void {
  const { openAuthData, ids, report } = ports
  const secrets = program.command('secrets').description('SERVICE_SECRET and SECRETS_KEY: new values, and rotation')
  withText(secrets, rotation)
  const generate = secrets
    .command('generate')
    .description('print a fresh value; nothing is stored')
    .addArgument(new Argument('[variable]', 'which one; both when left out').choices(variables))
    .action(report(async (variable?: (typeof variables)[number]) => fresh(variable ? [variable] : variables, ids)))
  withExample(generate, 'secrets generate', 'secrets generate SECRETS_KEY')
  const again = secrets
    .command('reencrypt')
    .description('re-encrypt under the first SECRETS_KEY what is encrypted under the second; servers may run')
    .action(report(() => openAuthData((data) => reencryptAll(data, ports))))
  withText(
    again,
    'Run it when every auth server uses the new key first (round 2), with the same SECRETS_KEY=new,old. An\n' +
      'interrupted run can be repeated.',
    rotation,
    'The audit log is not rewritten: `audit verify --help` says what happens to the old key.',
    'Works on AUTH_DATABASE_URL, or on the database in DATA_DIR while no server has it open.',
  )
  withExample(again, 'secrets reencrypt')
}

async function fresh(names: readonly string[], ids: IdSource): Promise<Report> {
  const values = Object.fromEntries(names.map((name) => [name, ids.secret(secretBytes)]))
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}`)
  return { json: values, text: lines.join('\n') }
}

async function reencryptAll(data: AuthData, { clock, operator }: OpsSystems): Promise<Report> {
  const { lastRefreshExpiry, reencrypt } = await import('../offline/reencrypt.ts')
  const { recordReencryption } = await import('../offline/record-operation.ts')
  const done = await withProgress('values', (onProgress) => reencrypt(data, { onProgress }))
  await recordReencryption({ ...data, clock, operator })
  const rows = Object.entries(done).map(([name, { resealed, unreadable, left }]) => [
    name,
    ...[resealed, unreadable, left].map(String),
  ])
  const isComplete = Object.values(done).every(({ left }) => left === 0)
  const neededUntil = isComplete ? rfc3339(await lastRefreshExpiry(data, clock)) : null
  const verdict = isComplete
    ? `Nothing is sealed under another key than the first. Refresh tokens signed under the old one live until\n` +
      `${neededUntil}: if every auth server uses the new key first by now, drop the old one from SECRETS_KEY then.\n` +
      '`audit verify` goes on needing it: see its --help.'
    : 'Some are still sealed under another key than the first: use the new key first on every auth server, then run\n' +
      'this again. Unreadable ones were sealed under a key that SECRETS_KEY does not hold: put it second, or let\n' +
      'their owners replace them.'
  const text = `${columns(['SEALED', 'RESEALED', 'UNREADABLE', 'LEFT'], rows)}\n${verdict}`
  return { json: { done, complete: isComplete, neededUntil }, text, exitCode: isComplete ? 0 : 1 }
}
