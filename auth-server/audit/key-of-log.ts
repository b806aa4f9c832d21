import type { Database } from '../../shared/platform/database/database.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'

interface KeyOfLogPorts {
  readonly database: Pick<Database, 'query'>
  readonly secretsKeys: SecretsKeys
}

/** Whether SECRETS_KEY holds the key that the last entry was written under; an empty log may be anybody's. @throws Unavailable */
export async function holdsKeyOfLog({ database, secretsKeys }: KeyOfLogPorts): Promise<boolean> {
  const [last] = await database.query<{ keyId: string }>(
    'select key_id as "keyId" from auth.audit_entries order by seq desc limit 1',
  )
  return !last || secretsKeys.some(({ id }) => id === last.keyId)
}
