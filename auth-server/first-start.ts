/** What an auth server does once, on an empty database: its first users, and what the demo needs. */
import { isLoopbackHost } from '../shared/common-settings.ts'
import { Refused } from '../shared/errors.ts'
import type { IdSource } from '../shared/ids.ts'
import { isAnonymous } from '../shared/principals/record.ts'
import type { SettingProblem } from '../shared/settings.ts'
import type { ApiKeyKind } from './api-keys/api-key.ts'
import type { ApiKeys } from './api-keys/api-keys.ts'
import type { DigestSecrets } from './users/digest-secrets.ts'
import type { Users } from './users/users.ts'

/** A user of the demo, as `data/demo.json` lists it for scripts. */
export interface DemoUser {
  readonly username: string
  readonly password: string
  readonly roles: readonly string[]
  /** For HTTP Digest. */
  readonly digestSecret: string
}

const demoRoles = { admin: ['admin'], alice: ['manager'], carol: ['agent'], bob: ['viewer'], dave: [] }

/** The demo's users. Their passwords and Digest secrets are no secret: while they exist, no address but loopback is listened on. */
export const demoUsers: readonly DemoUser[] = Object.entries(demoRoles).map(([username, roles]) => ({
  username,
  password: `${username}-demo-password`,
  roles,
  digestSecret: `${username}-demo-digest-secret`,
}))

/** Creates the demo's users; those that are there already, of a start that was cut off, are left. */
export async function createDemoUsers(users: Users, digestSecrets: Pick<DigestSecrets, 'renew'>): Promise<void> {
  for (const { username, password, roles, digestSecret } of demoUsers) {
    await createUnlessThere(users, { username, password, roles })
    await digestSecrets.renew(username, digestSecret)
  }
}

/** True when nobody is there but users of the demo, with its passwords: what a start left that was cut off while it made them. */
export async function holdsOnlyDemo(users: Pick<Users, 'list' | 'hasPassword'>): Promise<boolean> {
  const { items } = await users.list({ limit: demoUsers.length + 2, after: undefined })
  for (const { username } of items) {
    if (isAnonymous(username)) continue
    const demoUser = demoUsers.find((user) => user.username === username)
    if (!demoUser || !(await users.hasPassword(username, demoUser.password))) return false
  }
  return true
}

/** Where demo users may be. */
export const demoNeedsLoopback: SettingProblem = {
  variable: 'HOST',
  expected:
    'must be loopback while demo users exist: their passwords are no secret (npm start -- --no-demo makes none)',
}

/**
 * What is wrong when users of the demo still have its passwords, on a server that others can reach or in production; nothing when there
 * are none. Their list may be gone, or in another folder.
 */
export async function demoUserProblems(
  { host, production }: { readonly host: string; readonly production: boolean },
  users: Pick<Users, 'hasPassword'>,
): Promise<SettingProblem[]> {
  if (isLoopbackHost(host) && !production) return []
  for (const { username, password } of demoUsers) {
    if (!(await users.hasPassword(username, password))) continue
    const inProduction = {
      variable: 'AUTH_DATABASE_URL',
      expected: `must hold no demo user in production: ${username}`,
    }
    return production ? [inProduction] : [demoNeedsLoopback]
  }
  return []
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

/**
 * Creates the user `admin` and prints the generated password; nothing when another instance was faster. At once, since it can never be
 * shown again, whatever becomes of this start; and not by the log: logs are kept.
 */
export async function createFirstAdmin(users: Users, ids: IdSource): Promise<void> {
  const password = ids.secret(18)
  if (!(await createUnlessThere(users, { username: 'admin', password, roles: ['admin'] }))) return
  process.stdout.write(`The user admin was created. Its password, shown only now: ${password}\n`)
}

async function createUnlessThere(users: Users, request: Parameters<Users['create']>[0]): Promise<boolean> {
  try {
    await users.create(request)
    return true
  } catch (error) {
    if (error instanceof Refused && error.code === 'user-exists') return false
    throw error
  }
}
