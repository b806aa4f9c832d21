/** What the servers may do in a Redis: an entry of its access control list (Redis 6.2 or newer). */
import { createHash } from 'node:crypto'

/**
 * The rights of the servers' user, as an ACL rule: keys and channels of Keyhold alone, no command that is for operators, and none that
 * shows names of other keys. INFO and TIME tell the scripts in which incarnation of Redis they run, CLUSTER SLOTS where keys are.
 */
export const redisRights = [
  'resetkeys ~{keyhold}:* resetchannels &{keyhold}:*',
  '-@all +@read +@write +@connection -@dangerous -scan -randomkey -dbsize',
  '+info +time +eval +evalsha +publish +subscribe +unsubscribe +cluster|slots',
].join(' ')

/** The whole list: the servers' user `keyhold`, and `operator`, who may everything; without a password, nothing. It holds hashes alone. */
export const redisAclFile = (passwords: { readonly keyhold: string; readonly operator: string }): string =>
  [
    'user default off resetpass resetkeys resetchannels -@all',
    `user keyhold on resetpass #${sha256(passwords.keyhold)} ${redisRights}`,
    `user operator on resetpass #${sha256(passwords.operator)} allkeys allchannels allcommands`,
    '',
  ].join('\n')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
