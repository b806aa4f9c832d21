/**
 * The login of a profile: one file of mode 0600 in a folder of its own. It is written whole or not at all, and one
 * process at a time changes it.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod'
import type { TokenStore } from '../../client/src/index.ts'
import { placeOf, writeTextWhole } from '../../shared/platform/files/whole-file.ts'
import { FolderLocked, lockFolder } from '../../shared/platform/process/folder-lock.ts'
import { OperationError, OperationFailed } from '../../shared/platform/terminal/report.ts'

const loginSchema = z.object({
  authUrl: z.string(),
  dealUrl: z.string(),
  username: z.string(),
  /** The client that the tokens are of; undefined: a login with a password. */
  clientId: z.string().optional(),
  tokens: z.object({
    accessToken: z.string(),
    refreshToken: z.string(),
    expiresAt: z.number(),
    refreshExpiresAt: z.number(),
  }),
})

type KeptLogin = z.infer<typeof loginSchema>

/** The file of one profile. */
export interface LoginFile {
  /** The login; undefined when there is none. @throws OperationFailed for a file that cannot be read */
  read(): Promise<KeptLogin | undefined>
  write(login: KeptLogin | undefined): Promise<void>
  /** Runs work while no other process does. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>
}

/** How often a lock that another process holds is tried again; each time takes up to half a second. */
const lockAttempts = 240
const lockPauseMs = 25

/** Opens the file of a profile, which need not exist. */
export function openLoginFile(folder: string, profile: string): LoginFile {
  const own = join(folder, profile)
  const file = join(own, 'login.json')
  return {
    read: () => readLogin(file),
    write: async (login) => {
      if (login === undefined) await rm(file, { force: true })
      else await writeLogin(await placeOf(file), `${JSON.stringify(login, null, 2)}\n`)
    },
    exclusively: async (work) => {
      const release = await lock(own)
      try {
        return await work()
      } finally {
        await release()
      }
    },
  }
}

async function readLogin(file: string): Promise<KeptLogin | undefined> {
  try {
    return loginSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new OperationFailed(`${file} cannot be used. Log in again: keyhold login`)
  }
}

/** The mode is that of a new file: a login is for its owner, whatever was there. */
async function writeLogin(file: string, text: string): Promise<void> {
  const folder = dirname(file)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = join(folder, `draft.${randomUUID()}`)
  await writeTextWhole(file, text, { mode: 0o600, draft, isAlwaysNew: true })
}

async function lock(folder: string): Promise<() => Promise<void>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await lockFolder(folder)
    } catch (error) {
      if (!(error instanceof FolderLocked) || attempt === lockAttempts) throw error
      await pause(lockPauseMs)
    }
  }
}

/**
 * The tokens of a login, as the typed client keeps them. While a command runs, somebody may log in at other servers, or
 * as somebody else: the tokens of that login are not its own.
 */
export function tokenStoreOf(file: LoginFile, { authUrl, dealUrl, username, clientId }: KeptLogin): TokenStore {
  const read = async () => {
    const login = await file.read()
    const isSame = login?.authUrl === authUrl && login.dealUrl === dealUrl && login.username === username
    return isSame && login.clientId === clientId ? login : undefined
  }
  return {
    read: async () => (await read())?.tokens,
    write: async (tokens) => {
      const login = await read()
      if (login) await file.write(tokens && { ...login, tokens })
    },
    exclusively: (work) => file.exclusively(work),
  }
}

/** Refusals after which only another login helps. */
export const endedLogin = ['invalid_grant', 'login-ended', 'principal-disabled', 'invalid-token']

/** Nobody is logged in: exit code 3. */
export class NoLogin extends OperationError {
  constructor() {
    super('You are not logged in. Log in first: keyhold login')
  }
}
