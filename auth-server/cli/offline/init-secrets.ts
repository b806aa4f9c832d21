/**
 * Creates the keys and secrets that servers in containers share, before they start: `node init-secrets.js FOLDER
 * DATABASE_HOST REDIS_HOST`. Each server, the database and Redis have their own folder in FOLDER, and see only this
 * one. Each file is a setting: its name is the variable, its content the value. Existing files stay unchanged, so the
 * next run completes a run that was interrupted.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../../shared/platform/clock.ts'
import { generatedSecret } from '../../../shared/platform/process/generated-secrets.ts'
import { beginServer, endWith } from '../../../shared/platform/process/process.ts'
import { createKeyRing } from '../../key-ring/create-key-ring.ts'
import { redisAclFile } from './redis-acl.ts'

beginServer()
const [folder, databaseHost, redisHost] = process.argv.slice(2)
if (folder === undefined || databaseHost === undefined || redisHost === undefined) {
  endWith(2, 'Usage: init-secrets FOLDER DATABASE_HOST REDIS_HOST')
}

const authFolder = join(folder, 'auth')
const dealFolder = join(folder, 'deal')
const databaseFolder = join(folder, 'database')
const redisFolder = join(folder, 'redis')

const made = await createKeyRing(join(authFolder, 'keys'), { bits: 2048, clock: systemClock })
await generatedSecret(authFolder, 'SECRETS_KEY')
const serviceSecret = await generatedSecret(authFolder, 'SERVICE_SECRET')
await writeOnce(join(dealFolder, 'SERVICE_SECRET'), serviceSecret)
await sharedSecret(databaseFolder, 'POSTGRES_PASSWORD')
await writeOnce(
  join(authFolder, 'AUTH_DATABASE_URL'),
  urlFor('auth', await sharedSecret(databaseFolder, 'AUTH_PASSWORD')),
)
await writeOnce(
  join(dealFolder, 'DEAL_DATABASE_URL'),
  urlFor('deals', await sharedSecret(databaseFolder, 'DEALS_PASSWORD')),
)
const redisPassword = await generatedSecret(join(authFolder, 'redis'), 'PASSWORD')
const redisUrl = `redis://keyhold:${redisPassword}@${redisHost}`
for (const own of [authFolder, dealFolder]) await writeOnce(join(own, 'REDIS_URL'), redisUrl)
const operator = await sharedSecret(redisFolder, 'OPERATOR_PASSWORD')
await writeOnce(join(redisFolder, 'users.acl'), redisAclFile({ keyhold: redisPassword, operator }), 0o444)
process.stdout.write(made ? 'Keys and secrets were made.\n' : 'Keys and secrets are there already.\n')

function urlFor(database: string, password: string): string {
  return `postgres://${database}:${password}@${databaseHost}/${database}`
}

/** The database and Redis run as other users. So all users that see their folder can read its files. */
async function sharedSecret(own: string, name: string): Promise<string> {
  const secret = await generatedSecret(own, name)
  await chmod(join(own, name), 0o444)
  return secret
}

async function writeOnce(path: string, text: string, mode = 0o600): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  try {
    await writeFile(path, text, { mode, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
