/** What an auth server does once, on an empty database: its first users, and what the demo needs. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { IdSource } from '../shared/platform/ids.ts'
import { OperatorError, withFilesOf } from '../shared/platform/operator-error.ts'
import { ProblemError } from '../shared/platform/problems/errors.ts'
import type { SettingProblem } from '../shared/platform/settings/settings.ts'
import { digestHa1 } from '../shared/protocol/authentication/digest/digest-response.ts'
import { isAnonymous } from '../shared/protocol/principal/record.ts'
import { isLoopbackHost } from '../shared/protocol/settings/common-settings.ts'
import type { ApiKeyKind } from './api-keys/api-key.ts'
import type { ApiKeys } from './api-keys/api-keys.ts'
import { type DigestSecrets, digestSecretBytes } from './users/digest-secrets.ts'
import type { Users } from './users/users.ts'

/** A user of the demo, as `data/demo.json` lists it for scripts. */
export interface DemoUser {
  readonly username: string
  readonly password: string
  readonly roles: readonly string[]
  /** For HTTP Digest. */
  readonly digestSecret: string
}

/** What the demo is told of its users; the passwords are part of the documentation. */
const demoRoles = { admin: ['admin'], alice: ['manager'], carol: ['agent'], bob: ['viewer'], dave: [] }

const demoUsernames = Object.keys(demoRoles)

/** The password of a demo user: published, so while they exist, no address but loopback is listened on. */
export const demoPassword = (username: string): string => `${username}-demo-password`

/** The Digest secret that earlier versions gave a demo user: published as well. */
const formerDigestSecret = (username: string): string => `${username}-demo-digest-secret`

/** The demo's users, each with a Digest secret of its own that nobody else knows. */
export const newDemoUsers = (ids: Pick<IdSource, 'secret'>): readonly DemoUser[] =>
  Object.entries(demoRoles).map(([username, roles]) => ({
    username,
    password: demoPassword(username),
    roles,
    digestSecret: ids.secret(digestSecretBytes),
  }))

/** Creates the demo's users; those that are there already, of a start that was cut off, get the Digest secrets of this one. */
export async function createDemoUsers(
  demoUsers: readonly DemoUser[],
  { users, digestSecrets }: { readonly users: Users; readonly digestSecrets: Pick<DigestSecrets, 'renew'> },
): Promise<void> {
  for (const { username, password, roles, digestSecret } of demoUsers) {
    await unlessThere(users.createForDemo({ username, password, roles }))
    await digestSecrets.renew(username, digestSecret)
  }
}

/** True when nobody is there but users of the demo, with its passwords: what a start left that was cut off while it made them. */
export async function holdsOnlyDemo(users: Pick<Users, 'list' | 'hasPassword'>): Promise<boolean> {
  const { items } = await users.list({ limit: demoUsernames.length + 2, after: undefined })
  for (const { username } of items) {
    if (isAnonymous(username)) continue
    if (!demoUsernames.includes(username)) return false
    if (!(await users.hasPassword(username, demoPassword(username)))) return false
  }
  return true
}

/** Where demo users may be. */
export const demoNeedsLoopback: SettingProblem = {
  variable: 'HOST',
  expected:
    'must be loopback while demo users exist: their passwords are no secret (npm start -- --no-demo makes none)',
}

/** What is asked about the users of a database. */
export interface DemoTraces {
  readonly users: Pick<Users, 'hasPassword' | 'findMadeByDemo'>
  readonly digestSecrets: Pick<DigestSecrets, 'find'>
}

/**
 * What is wrong when users of the demo exist on a server that others can reach, or in production: other passwords make them no others, since
 * their Digest secrets and API keys stand in a file. Their list may be gone, or in another folder.
 */
export async function demoUserProblems(
  { host, production }: { readonly host: string; readonly production: boolean },
  traces: DemoTraces,
): Promise<SettingProblem[]> {
  if (isLoopbackHost(host) && !production) return []
  const username = (await traces.users.findMadeByDemo()) ?? (await findFormerDemoUser(traces))
  if (username === undefined) return []
  const inProduction = { variable: 'AUTH_DATABASE_URL', expected: `must hold no demo user in production: ${username}` }
  return production ? [inProduction] : [demoNeedsLoopback]
}

/** Earlier versions did not mark what their demo made: its users are known by what is published of them. */
async function findFormerDemoUser({ users, digestSecrets }: DemoTraces): Promise<string | undefined> {
  for (const username of demoUsernames) {
    if (await users.hasPassword(username, demoPassword(username))) return username
    const ha1 = (await digestSecrets.find({ username }))?.ha1
    if (ha1 === digestHa1(username, formerDigestSecret(username))) return username
  }
  return undefined
}

/** An API key of the demo, as `data/demo.json` lists it. */
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

/** One key of each kind, one of the specification's plain form, and one of a user who only reads. */
const demoApiKeys = [
  { kind: 'hmac', username: 'alice', requireBodyHash: true },
  { kind: 'hmac', username: 'alice', requireBodyHash: false },
  { kind: 'rsa', username: 'alice', requireBodyHash: true },
  { kind: 'hmac', username: 'bob', requireBodyHash: true },
  { kind: 'hmac', username: 'admin', requireBodyHash: true },
] as const

/** Creates the demo's API keys, for users that are there. */
export async function createDemoApiKeys(apiKeys: Pick<ApiKeys, 'create'>): Promise<DemoApiKey[]> {
  const made: DemoApiKey[] = []
  for (const request of demoApiKeys) {
    const { key, ...shownOnce } = await apiKeys.create({ ...request, name: 'demo' })
    const { id, kind, username, requireBodyHash } = key
    made.push({ id, kind, ...shownOnce, username, requireBodyHash })
  }
  return made
}

/** What making the first user needs. */
export interface FirstAdminPorts {
  readonly users: Pick<Users, 'create'>
  readonly ids: Pick<IdSource, 'secret'>
  readonly config: { readonly production: boolean; readonly firstPasswordFile: string | undefined }
}

/**
 * Creates the user `admin` with a generated password; nothing when another instance was faster. The password is in the file before the user
 * exists, or is printed at once, since it can never be shown again, whatever becomes of this start. Not by the log, and in production not
 * on the output either: both are kept. @throws OperatorError when it can be left nowhere
 */
export async function createFirstAdmin({ users, ids, config }: FirstAdminPorts): Promise<void> {
  const password = ids.secret(18)
  const create = () => unlessThere(users.create({ username: 'admin', password, roles: ['admin'] }))
  const { production, firstPasswordFile: file } = config
  if (file === undefined) {
    if (production) throw new OperatorError(firstPasswordNeedsFile)
    if (!(await create())) return
    process.stdout.write(`The user admin was created. Its password, shown only now: ${password}\n`)
  } else if (await withFirstPassword(file, `${password}\n`, create)) {
    process.stdout.write(`The user admin was created. Its password is in ${file}: replace it, then delete the file\n`)
  }
}

const firstPasswordNeedsFile =
  'FIRST_PASSWORD_FILE: must be set in production while there is no user: the password of the first one is written there'

/**
 * Leaves the password in the file, readable by its owner alone, when `create` has made the user it is for; beside it, with the process id
 * behind the name, when `create` fails and the user may exist.
 */
async function withFirstPassword(file: string, text: string, create: () => Promise<boolean>): Promise<boolean> {
  const draft = `${file}.${process.pid}`
  await withFilesOf('FIRST_PASSWORD_FILE', file, async () => {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await rm(draft, { force: true })
    await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  })
  const isMade = await create()
  await withFilesOf('FIRST_PASSWORD_FILE', file, () => (isMade ? rename(draft, file) : rm(draft)))
  return isMade
}

/** True when the user was created, false when there was one of that name. */
async function unlessThere(creation: Promise<unknown>): Promise<boolean> {
  try {
    await creation
    return true
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'user-exists') return false
    throw error
  }
}
