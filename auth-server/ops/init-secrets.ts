/**
 * Makes once what servers in containers share, before any of them starts: `node init-secrets.js FOLDER DATABASE_HOST`. Each server and the
 * database has a folder of its own in FOLDER, which is all that it gets to see; a file there is a setting, its name the variable and its
 * content the value. What exists is left as it is, so a run that was cut off is completed by the next.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../shared/clock.ts'
import { generatedSecret } from '../../shared/generated-secrets.ts'
import { beginServer, endWith } from '../../shared/process.ts'
import { createKeyRing } from '../key-ring/create-key-ring.ts'

beginServer()
const [folder, databaseHost] = process.argv.slice(2)
if (folder === undefined || databaseHost === undefined) endWith(2, 'Usage: init-secrets FOLDER DATABASE_HOST')

const authFolder = join(folder, 'auth')
const dealFolder = join(folder, 'deal')
const databaseFolder = join(folder, 'database')

const made = await createKeyRing(join(authFolder, 'keys'), { bits: 2048, clock: systemClock })
await generatedSecret(authFolder, 'SECRETS_KEY')
const serviceSecret = await generatedSecret(authFolder, 'SERVICE_SECRET')
await writeOnce(join(dealFolder, 'SERVICE_SECRET'), serviceSecret)
await databasePassword('POSTGRES_PASSWORD')
await writeOnce(join(authFolder, 'AUTH_DATABASE_URL'), urlFor('auth', await databasePassword('AUTH_PASSWORD')))
await writeOnce(join(dealFolder, 'DEAL_DATABASE_URL'), urlFor('deals', await databasePassword('DEALS_PASSWORD')))
process.stdout.write(made ? 'Keys and secrets were made.\n' : 'Keys and secrets are there already.\n')

function urlFor(database: string, password: string): string {
  return `postgres://${database}:${password}@${databaseHost}/${database}`
}

/** The database's programs run as a user of their own, so the files of its folder are for whoever gets to see the folder. */
async function databasePassword(name: string): Promise<string> {
  const password = await generatedSecret(databaseFolder, name)
  await chmod(join(databaseFolder, name), 0o444)
  return password
}

async function writeOnce(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  try {
    await writeFile(path, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
