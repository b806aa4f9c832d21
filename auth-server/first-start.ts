/** What an auth server does once, on an empty database: its first users. */
import { Refused } from '../shared/errors.ts'
import type { IdSource } from '../shared/ids.ts'
import type { Users } from './users/users.ts'

/** A user of the demo, as `data/demo.json` lists it for scripts. */
export interface DemoUser {
  readonly username: string
  readonly password: string
  readonly roles: readonly string[]
  /** For HTTP Digest; null as long as the user has none. */
  readonly digestSecret: string | null
}

const demoRoles = { admin: ['admin'], alice: ['manager'], carol: ['agent'], bob: ['viewer'], dave: [] }

/** The demo's users. Their passwords are no secret: while they exist, no address but loopback is listened on. */
export const demoUsers: readonly DemoUser[] = Object.entries(demoRoles).map(([username, roles]) => ({
  username,
  password: `${username}-demo-password`,
  roles,
  digestSecret: null,
}))

/** Creates the demo's users. */
export async function createDemoUsers(users: Users): Promise<void> {
  for (const { username, password, roles } of demoUsers) await createUnlessThere(users, { username, password, roles })
}

/** Creates the user `admin` with a generated password and gives the password; undefined when another instance was faster. */
export async function createFirstAdmin(users: Users, ids: IdSource): Promise<string | undefined> {
  const password = ids.secret(18)
  return (await createUnlessThere(users, { username: 'admin', password, roles: ['admin'] })) ? password : undefined
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
