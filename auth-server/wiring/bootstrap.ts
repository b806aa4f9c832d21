/** Creates the first users on an empty database: the first administrator, or the users and API keys of the demo. */
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { placeOf } from '../../shared/platform/files/whole-file.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { OperatorError, withFilesOf } from '../../shared/platform/operator-error.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { SettingProblem } from '../../shared/platform/settings/settings.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { isLoopbackHost } from '../../shared/server/settings/common-settings.ts'
import type { ApiKeyKind } from '../api-keys/api-key.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import { type DigestSecrets, digestSecretBytes } from '../users/digest-secrets.ts'
import type { Users } from '../users/users.ts'

/** A demo user, as `data/demo.json` lists it for scripts. */
export interface DemoUser {
  readonly username: string
  readonly password: string
  readonly roles: readonly string[]
  /** For HTTP Digest. */
  readonly digestSecret: string
}

/** Roles of the demo users. */
const demoRoles = { admin: ['admin'], alice: ['manager'], carol: ['agent'], bob: ['viewer'], dave: [] }

const demoUsernames = Object.keys(demoRoles)

/** The password of a demo user. It is published, so while demo users exist the server listens on loopback alone. */
export const demoPassword = (username: string): string => `${username}-demo-password`

/** Makes the list of demo users, each with a random Digest secret. */
export const newDemoUsers = (ids: Pick<IdSource, 'secret'>): readonly DemoUser[] =>
  Object.entries(demoRoles).map(([username, roles]) => ({
    username,
    password: demoPassword(username),
    roles,
    digestSecret: ids.secret(digestSecretBytes),
  }))

/**
 * Creates the demo users. A start that was interrupted may have created some of them: these get the Digest secrets of
 * this start.
 */
export async function createDemoUsers(
  demoUsers: readonly DemoUser[],
  { users, digestSecrets }: { readonly users: Users; readonly digestSecrets: Pick<DigestSecrets, 'renew'> },
): Promise<void> {
  for (const { username, password, roles, digestSecret } of demoUsers) {
    await unlessThere(users.createForDemo({ username, password, roles }))
    await digestSecrets.renew(username, digestSecret)
  }
}

/**
 * True when the database holds only demo users with the demo passwords. A start that was interrupted leaves such a
 * database.
 */
export async function holdsOnlyDemo(users: Pick<Users, 'list' | 'hasPassword'>): Promise<boolean> {
  const { items } = await users.list({ limit: demoUsernames.length + 2, after: undefined })
  for (const { username } of items) {
    if (isAnonymous(username)) continue
    if (!demoUsernames.includes(username)) return false
    if (!(await users.hasPassword(username, demoPassword(username)))) return false
  }
  return true
}

/** The problem of a server that has demo users and that other machines can reach. */
export const demoNeedsLoopback: SettingProblem = {
  variable: 'HOST',
  expected:
    'must be loopback while demo users exist: their passwords are no secret (npm start -- --no-demo makes none)',
}

/**
 * Reports demo users on a server that other machines can reach, or in production. A changed password does not make a
 * demo user safe: its Digest secret and API keys are in a file. The check needs no list of demo users, because that
 * file may be lost or in another folder.
 */
export async function demoUserProblems(
  { host, production }: { readonly host: string; readonly production: boolean },
  { users }: { readonly users: Pick<Users, 'findMadeByDemo'> },
): Promise<SettingProblem[]> {
  if (isLoopbackHost(host) && !production) return []
  const username = await users.findMadeByDemo()
  if (username === undefined) return []
  const inProduction = { variable: 'AUTH_DATABASE_URL', expected: `must hold no demo user in production: ${username}` }
  return production ? [inProduction] : [demoNeedsLoopback]
}

/** A demo API key, as `data/demo.json` lists it. */
export interface DemoApiKey {
  readonly id: string
  readonly kind: ApiKeyKind
  /** Of kind `hmac`. */
  readonly secret?: string
  /** Of kind `rsa`. */
  readonly privateKeyPem?: string
  readonly username: string
  readonly requireBodyHash: boolean
}

/** One key of each kind, one for the specification's plain form, one of a read-only user, one of an administrator. */
const demoApiKeys = [
  { kind: 'hmac', username: 'alice', requireBodyHash: true },
  { kind: 'hmac', username: 'alice', requireBodyHash: false },
  { kind: 'rsa', username: 'alice', requireBodyHash: true },
  { kind: 'hmac', username: 'bob', requireBodyHash: true },
  { kind: 'hmac', username: 'admin', requireBodyHash: true },
] as const

/** Creates the demo API keys. Their users must exist. */
export async function createDemoApiKeys(apiKeys: Pick<ApiKeys, 'create'>): Promise<DemoApiKey[]> {
  const made: DemoApiKey[] = []
  for (const request of demoApiKeys) {
    const { key, ...shownOnce } = await apiKeys.create({ ...request, name: 'demo' })
    const { id, kind, username, requireBodyHash } = key
    made.push({ id, kind, ...shownOnce, username, requireBodyHash })
  }
  return made
}

/** Services and settings for the first administrator. */
export interface FirstAdminPorts {
  readonly users: Pick<Users, 'create'>
  readonly ids: Pick<IdSource, 'secret'>
  readonly config: { readonly production: boolean; readonly firstPasswordFile: string | undefined }
}

/**
 * Creates the user `admin` with a generated password. Does nothing when another process created it first. The password
 * can never be shown again: it is written to the file before the user exists, or printed at once. It never goes to the
 * log, and in production not to the output, because both are stored.
 *
 * @returns whether it was created
 * @throws OperatorError in production without FIRST_PASSWORD_FILE, and when the file cannot be written
 */
export async function createFirstAdmin({ users, ids, config }: FirstAdminPorts): Promise<boolean> {
  const password = ids.secret(18)
  const create = () => unlessThere(users.create({ username: 'admin', password, roles: ['admin'] }))
  const { production, firstPasswordFile: file } = config
  if (file === undefined) {
    if (production) throw new OperatorError(firstPasswordNeedsFile)
    if (!(await create())) return false
    process.stdout.write(`The user admin was created. Its password, shown only now: ${password}\n`)
    return true
  }
  if (!(await withFirstPassword(file, `${password}\n`, create))) return false
  process.stdout.write(`The user admin was created. Its password is in ${file}: replace it, then delete the file\n`)
  return true
}

const firstPasswordNeedsFile =
  'FIRST_PASSWORD_FILE: must be set in production while there is no user: ' +
  'the password of the first one is written there'

/**
 * Writes the password to a draft, `<file>.<process id>`, which only its owner can read, and then creates the user. The
 * draft becomes the file when the user was created. It stays when `create` fails, because the user may exist then.
 * It is deleted when the name was taken.
 */
async function withFirstPassword(file: string, text: string, create: () => Promise<boolean>): Promise<boolean> {
  const place = await placeOf(file)
  const draft = `${place}.${process.pid}`
  await withFilesOf('FIRST_PASSWORD_FILE', file, async () => {
    await mkdir(dirname(place), { recursive: true, mode: 0o700 })
    const found = await stat(place).catch(() => undefined)
    // A terminal or a pipe, such as `/dev/stdout`, shows it to others or keeps it in a log.
    if (found?.isFile() === false) throw new OperatorError(`FIRST_PASSWORD_FILE: ${file} is no file`)
    await rm(draft, { force: true })
    await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  })
  const isMade = await create()
  await withFilesOf('FIRST_PASSWORD_FILE', file, () => (isMade ? rename(draft, place) : rm(draft)))
  return isMade
}

/** True when the user was created, false when the name was taken. */
async function unlessThere(creation: Promise<unknown>): Promise<boolean> {
  try {
    await creation
    return true
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'user-exists') return false
    throw error
  }
}
