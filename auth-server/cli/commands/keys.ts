/** `ops keys …`: the key ring in KEYS_DIR (docs/contract/operators.md#key-ring), by its files, without a server. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { duration, type Report, type ReportAction } from '../../../shared/platform/terminal/report.ts'
import { columns } from '../../../shared/platform/terminal/tables.ts'
import { isVisible, lineBreaking } from '../../../shared/platform/visible-text.ts'
import { type KeyEntry, type KeyUse, keyRingFileName, keyUses } from '../../key-ring/keyring-file.ts'
import { nextSteps, type Step, stepFor } from '../../key-ring/life-cycle.ts'
import {
  generateKey,
  type KeyRingOperation,
  promoteKey,
  readKeyRing,
  retireKey,
  revokeKey,
  rotateKeys,
} from '../../key-ring/operate-key-ring.ts'
import { operatorText } from '../../key-ring/operator-notes.ts'
import { publishedDifferences } from '../http/published-keys.ts'
import type { OpsSystems } from '../offline/ops-systems.ts'
import { withExample, withText } from '../terminal/help.ts'

/** Adds the group to the program. */
export function addKeyCommands(program: Command, ports: OpsSystems): void {
  const { operation, report } = ports
  const keys = program.command('keys').description('the key ring: which key signs, which verify, what is due')
  withText(
    keys,
    'Works on the files in KEYS_DIR, with KEYS_PASSPHRASE where they are encrypted. Servers need not run. Running\n' +
      'servers follow within a second.\n' +
      'States: pending (published, does not sign yet), active (signs), retired (only verifies, until its last token\n' +
      'has expired), removed.',
    'Each change is noted in KEYS_DIR, with its time, KEYHOLD_OPERATOR (or the user of the operating system) and the\n' +
      'reason. A running server records it in the audit log at once, another one at its next start.',
    'KEY_MAX_AGE_DAYS, ACCESS_TOKEN_TTL and KEY_SIGNED_TOKEN_TTL decide when a key is due: give the tool the values\n' +
      'of the servers, from cron too.',
  )
  const status = keys.command('status').description('state, age and next step of every key')
  withExample(status.action(report(() => showStatus(operation))), 'keys status')
  const generate = keys
    .command('generate')
    .description('make a key; it is published at once and does not sign yet')
    .addOption(new Option('--use <use>', 'what the key is for').choices(keyUses).makeOptionMandatory())
    .addOption(reasonOption())
    .action(report(({ use, reason }: { use: KeyUse } & Reasoned) => generateNew({ ...operation, reason }, use)))
  withExample(generate, 'keys generate --use jwt')
  const promote = keys
    .command('promote <kid>')
    .description('let a pending key sign; the one before only verifies from then on')
    .option('--now', 'do not wait until it has been published for 10 minutes')
    .addOption(reasonOption())
    .action(
      report((kid: string, { now = false, reason }: { now?: boolean } & Reasoned) =>
        promoteNow({ ...operation, reason }, kid, now),
      ),
    )
  withExample(promote, `keys promote ${exampleKid}`)
  const rotate = keys
    .command('rotate')
    .description('do every step that is due, and nothing else: run it daily from cron')
    .addOption(reasonOption())
    .action(report(({ reason }: Reasoned) => rotateDue({ ...operation, reason })))
  withExample(rotate, 'keys rotate')
  addEndings(keys, operation, report)
  const verify = keys
    .command('verify')
    .description('check files, modes and pairs, and that the server publishes exactly this ring')
    .option('--offline', 'do not ask the server')
    .action(report(({ offline = false }: { offline?: boolean }) => verifyRing(ports, offline)))
  withExample(verify, 'keys verify', 'keys verify --offline')
}

interface Reasoned {
  readonly reason?: string
}

const reasonOption = (): Option => new Option('--reason <text>', 'why, for the audit log').argParser(reasonOf)

function reasonOf(text: string): string {
  if (operatorText.safeParse(text).success && !lineBreaking.test(text) && isVisible(text)) return text
  throw new InvalidArgumentError('Expected 1 to 500 characters on one line, at least one of them visible.')
}

const exampleKid = 'kid-as-keys-status-shows-it'

function addEndings(keys: Command, operation: KeyRingOperation, report: ReportAction): void {
  const retire = keys
    .command('retire <kid>')
    .description('give up a pending key: it will never sign')
    .addOption(reasonOption())
    .action(report((kid: string, { reason }: Reasoned) => retirePending({ ...operation, reason }, kid)))
  withExample(retire, `keys retire ${exampleKid}`)
  const revoke = keys
    .command('revoke <kid>')
    .description('for emergencies: within a second no server accepts a token of this key')
    .addOption(reasonOption().makeOptionMandatory())
    .action(report((kid: string, { reason }: Required<Reasoned>) => revokeNow({ ...operation, reason }, kid, reason)))
  withExample(revoke, `keys revoke ${exampleKid} --reason "found on a stolen laptop"`)
}

async function showStatus(operation: KeyRingOperation): Promise<Report> {
  const ring = await readKeyRing(operation)
  const now = operation.clock.now()
  const steps = nextSteps(ring, operation.rules)
  const shown = ring.keys.filter(({ state }) => state !== 'removed')
  const rows = shown.map((key) => [key.use, key.state, key.kid, ageOf(key, now), stepOf(key, steps, now)])
  const json = ring.keys.map(({ file: _file, ...key }) => ({ ...key, next: stepFor(key, steps) ?? null }))
  return { json, text: columns(['USE', 'STATE', 'KID', 'SINCE', 'NEXT STEP'], rows) }
}

const ageOf = (key: KeyEntry, now: number): string =>
  duration(now - Date.parse(key.retiredAt ?? key.activatedAt ?? key.publishedAt ?? key.createdAt))

function stepOf(key: KeyEntry, steps: readonly Step[], now: number): string {
  const step = stepFor(key, steps)
  return step ? `${describe(step)} ${whenOf(step, now)}` : '-'
}

const describe = (step: Step): string => (step.do === 'generate' ? `generate a ${step.use} key` : step.do)

const nameOf = (step: Step): string =>
  step.do === 'generate' ? describe(step) : `${step.do} the ${step.use} key ${step.kid}`

const whenOf = ({ dueAt }: Step, now: number): string =>
  dueAt <= now ? '(due)' : `in ${duration(dueAt - now)} (${rfc3339(dueAt)})`

async function generateNew(operation: KeyRingOperation, use: KeyUse): Promise<Report> {
  const { kid, publishedAt } = await generateKey(operation, use)
  return { json: { kid, use, publishedAt }, text: `The ${use} key ${kid} is pending: published, not signing yet.` }
}

async function promoteNow(operation: KeyRingOperation, kid: string, early: boolean): Promise<Report> {
  await promoteKey(operation, kid, { early })
  return { json: { kid, state: 'active' }, text: `The key ${kid} signs; the one before only verifies.` }
}

async function retirePending(operation: KeyRingOperation, kid: string): Promise<Report> {
  await retireKey(operation, kid)
  return { json: { kid, state: 'retired' }, text: `The key ${kid} will never sign.` }
}

async function revokeNow(operation: KeyRingOperation, kid: string, reason: string): Promise<Report> {
  const successor = await revokeKey(operation, kid, reason)
  const next = successor ? ` The key ${successor.kid} signs in its place.` : ''
  return {
    json: { kid, state: 'removed', successor: successor?.kid ?? null },
    text: `The key ${kid} is gone: within a second no server accepts a token of it.${next}`,
  }
}

async function rotateDue(operation: KeyRingOperation): Promise<Report> {
  const { done, next } = await rotateKeys(operation)
  const now = operation.clock.now()
  const lines = done.map((step) => `Done: ${nameOf(step)}.`)
  const upcoming = next.map((step) => `Next: ${nameOf(step)} ${whenOf(step, now)}.`)
  return { json: { done, next }, text: [...(lines.length > 0 ? lines : ['Nothing is due.']), ...upcoming].join('\n') }
}

async function verifyRing({ operation, authUrl, fetch }: OpsSystems, offline: boolean): Promise<Report> {
  const ring = await readKeyRing(operation)
  const problems = [...(await openToOthers(operation)), ...(await strayFiles(operation, ring.keys))]
  if (!offline) problems.push(...(await publishedDifferences(ring.keys, { authUrl, fetch })))
  const checked = `files, modes and pairs${offline ? '' : `, and what ${authUrl} publishes`}`
  const text =
    problems.length === 0 ? `In order: ${checked}.` : problems.map((problem) => `Wrong: ${problem}`).join('\n')
  return { json: { ok: problems.length === 0, problems }, text, exitCode: problems.length === 0 ? 0 : 1 }
}

/** Finds files and folders that all users of the machine can write: any of them could add a key. */
async function openToOthers({ directory }: KeyRingOperation): Promise<string[]> {
  const problems: string[] = []
  for (const path of [directory, join(directory, keyRingFileName)]) {
    const { mode } = await stat(path)
    if (process.platform !== 'win32' && (mode & 0o002) !== 0)
      problems.push(`${path} can be written by everybody (mode ${(mode & 0o777).toString(8)})`)
  }
  return problems
}

/** Finds key files that no entry names: they come from an interrupted step, or are copies. */
async function strayFiles({ directory }: KeyRingOperation, keys: readonly KeyEntry[]): Promise<string[]> {
  const named = new Set(keys.filter(({ state }) => state !== 'removed').map(({ file }) => file))
  const stray = (await readdir(directory)).filter((name) => name.endsWith('.pem') && !named.has(name))
  return stray.map((name) => `${name} belongs to no key of the ring; if it is not needed, delete it`)
}
