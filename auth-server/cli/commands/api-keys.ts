/** `ops api-keys …`: API keys (docs/contract/accounts.md#api-keys). Works over HTTP, as an administrator. */
import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import * as z from 'zod'
import type { AuthComponents } from '../../../client/src/index.ts'
import { type Clock, rfc3339 } from '../../../shared/platform/clock.ts'
import { list } from '../../../shared/platform/terminal/options.ts'
import { type Report, type ReportAction, table, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import { type AdminClient, allOf, segment, type WithAdmin } from '../http/admin-client.ts'
import { withExample, withText } from '../terminal/help.ts'
import { overlapSecondsOf } from '../terminal/overlap.ts'

/** Services that the commands use. */
export interface ApiKeyCommandPorts {
  readonly withAdmin: WithAdmin
  readonly clock: Clock
  readonly report: ReportAction
}

type Key = AuthComponents['schemas']['ApiKey']
type NewKey = AuthComponents['schemas']['NewApiKey']

interface CreationOptions {
  readonly kind: 'hmac' | 'rsa'
  readonly user?: string
  readonly name?: string
  readonly publicKey?: string
  readonly rights?: string[]
  readonly expires?: string
  /** False with `--no-body-hash`. */
  readonly bodyHash: boolean
}

/** Adds the group to the program. */
export function addApiKeyCommands(program: Command, ports: ApiKeyCommandPorts): void {
  const { withAdmin, report } = ports
  const keys = program.command('api-keys').description('API keys: what programs sign requests with')
  addCreation(keys, ports)
  const all = keys
    .command('list')
    .description('all keys that are not revoked')
    .option('--user <username>', 'of this user alone')
    .action(report(({ user }: { user?: string }) => withAdmin((admin) => listAll(admin, user))))
  withExample(all, 'api-keys list', 'api-keys list --user erin --json')
  addRotation(keys, ports)
  const revoke = keys
    .command('revoke <id>')
    .description('revoke a key: within a second no server accepts its signatures and its tokens')
    .action(report((id: string) => withAdmin((admin) => revokeKey(admin, id))))
  withExample(revoke, 'api-keys revoke 0199a2f0-5d1e-7c3a-9f00-2b6a1d9c4e11')
}

function addCreation(keys: Command, { withAdmin, clock, report }: ApiKeyCommandPorts): void {
  const command = keys
    .command('add')
    .description('make a key; its secret or private key is shown once')
    .addOption(
      new Option('--kind <kind>', 'hmac: a secret that both sides hold; rsa: only the client can sign')
        .choices(['hmac', 'rsa'])
        .makeOptionMandatory(),
    )
    .option('--user <username>', 'whose key; your own when left out')
    .option('--name <text>', 'what it is for')
    .option('--public-key <file>', 'for rsa: PEM file of the public half of a pair that the client has made itself')
    .option('--rights <rights>', 'all that the key may do of what its user may; may be repeated', list)
    .option('--expires <when>', 'a moment (2030-01-31T00:00:00Z), or a time from now (12h, 90d)')
    .option('--no-body-hash', 'accept signatures that do not bind the body; read below before you use it')
  command.action(
    report(async (options: CreationOptions) => {
      const body = await bodyOf(options, clock)
      return withAdmin((admin) => add(admin, body))
    }),
  )
  withText(
    command,
    'With --no-body-hash, an attacker who sees a signed request can send it with another body or method, while the\n' +
      'signature is valid (SIGNATURE_TTL) and unused. The option is for clients that cannot hash a body. Use it\n' +
      'over HTTPS only, best with --rights that only read.',
  )
  withExample(
    command,
    'api-keys add --kind hmac --user erin --name "night report" --rights deal.read --expires 90d',
    'api-keys add --kind rsa --user erin --public-key erin.pub.pem',
  )
}

interface RotationOptions {
  readonly overlap: string
  readonly publicKey?: string
  readonly expires?: string
}

function addRotation(keys: Command, { withAdmin, clock, report }: ApiKeyCommandPorts): void {
  const command = keys
    .command('rotate <id>')
    .description('give a key a new secret or key pair, which is shown once; the former one works on for a while')
    .option('--overlap <time>', 'how long the former one is accepted too (12h, 7d; 0h: not at all)', '1d')
    .option('--public-key <file>', 'for rsa: PEM file of the public half of a new pair that the client has made itself')
    .option('--expires <when>', 'a new expiry; the old one stays when left out')
  command.action(
    report(async (id: string, { overlap, publicKey, expires }: RotationOptions) => {
      const body = {
        overlapSeconds: overlapSecondsOf(overlap),
        ...(publicKey === undefined ? {} : { publicKeyPem: await readPem(publicKey) }),
        ...(expires === undefined ? {} : { expiresAt: expiryOf(expires, clock) }),
      }
      return withAdmin((admin) => rotate(admin, id, body))
    }),
  )
  withExample(command, 'api-keys rotate 0199a2f0-5d1e-7c3a-9f00-2b6a1d9c4e11 --overlap 7d --expires 90d')
}

interface Rotation {
  readonly overlapSeconds: number
  readonly publicKeyPem?: string
  readonly expiresAt?: string
}

async function rotate({ auth }: AdminClient, id: string, body: Rotation): Promise<Report> {
  const params = { path: { id: segment(id) } }
  const { data: key } = await auth.POST('/api-keys/{id}/rotate', { params, body })
  const former = key.formerUntil === null ? 'is refused from now on' : `is accepted until ${key.formerUntil}`
  const lines = [`The key ${key.id} of ${key.username} was rotated; the former one ${former}.`, ...shownOnce(key)]
  return { json: key, text: lines.join('\n') }
}

function shownOnce({ secret, privateKeyPem }: NewKey): string[] {
  return [
    ...(secret === undefined ? [] : [`Secret, shown only now: ${secret}`]),
    ...(privateKeyPem === undefined ? [] : ['Private key, shown only now:', privateKeyPem.trimEnd()]),
  ]
}

async function bodyOf(options: CreationOptions, clock: Clock) {
  const { kind, user, name, publicKey, rights, expires, bodyHash } = options
  return {
    kind,
    ...(user === undefined ? {} : { username: user }),
    ...(name === undefined ? {} : { name }),
    ...(publicKey === undefined ? {} : { publicKeyPem: await readPem(publicKey) }),
    ...(rights === undefined ? {} : { rights }),
    ...(expires === undefined ? {} : { expiresAt: expiryOf(expires, clock) }),
    requireBodyHash: bodyHash,
  }
}

async function readPem(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new WrongUsage(`--public-key: ${file} cannot be read (${error.code}).`)
  })
  if (/PRIVATE KEY/.test(text))
    throw new WrongUsage(`--public-key: ${file} holds a private key. It stays with its owner.`)
  return text
}

const unitMs = { h: 3_600_000, d: 86_400_000 }

function expiryOf(text: string, clock: Clock): string {
  const [, count, unit] = /^([1-9]\d{0,4})([hd])$/.exec(text) ?? []
  if (count !== undefined) return rfc3339(clock.now() + Number(count) * unitMs[unit === 'h' ? 'h' : 'd'])
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return text
  throw new WrongUsage('--expires: expected a moment such as 2030-01-31T00:00:00Z, or a time such as 12h or 90d.')
}

async function add({ auth }: AdminClient, body: Awaited<ReturnType<typeof bodyOf>>): Promise<Report> {
  const { data: key } = await auth.POST('/api-keys', { body })
  const lines = [`The key ${key.id} of ${key.username} was made.`, ...shownOnce(key)]
  if (!key.requireBodyHash) lines.push('Its signatures need not bind the body: use it over HTTPS only.')
  return { json: key, text: lines.join('\n') }
}

async function listAll({ auth }: AdminClient, username: string | undefined): Promise<Report> {
  const query = { limit: 200, ...(username !== undefined && { username }) }
  const keys = await allOf(auth.items('/api-keys', { params: { query } }))
  return { json: keys, text: table(titles, keys.map(rowOf)) }
}

const titles = ['ID', 'KIND', 'USER', 'NAME', 'RIGHTS', 'BODY HASH', 'EXPIRES', 'LAST USED']

const rowOf = (key: Key): string[] => {
  const { id, kind, username, name, rights, requireBodyHash, expiresAt, expiresSoon, lastUsedAt, suspended } = key
  return [
    id,
    kind,
    username,
    name ?? '-',
    rights?.join(',') ?? 'all of the user',
    requireBodyHash ? 'required' : 'not required',
    expiresAt === null ? 'never' : `${expiresAt}${expiresSoon ? ', soon' : ''}`,
    suspended ? 'suspended' : (lastUsedAt ?? '-'),
  ]
}

async function revokeKey({ auth }: AdminClient, id: string): Promise<Report> {
  await auth.DELETE('/api-keys/{id}', { params: { path: { id: segment(id) } } })
  return { json: { id, revoked: true }, text: `The key ${id} is revoked.` }
}
