/** The access control list of Redis (6.2 or newer): the rights of the servers and of the operator. */
import { createHash } from 'node:crypto'

/**
 * The rights of the servers' user as an ACL rule: only keys and channels of Keyhold, no commands for operators, and no
 * commands that show names of other keys. Scripts need INFO and TIME to find out the cache run.
 */
export const redisRights = [
  'resetkeys ~{keyhold:*}:* resetchannels &{keyhold:*}:*',
  '-@all +@read +@write +@connection -@dangerous -scan -randomkey -dbsize',
  '+info +time +eval +evalsha +@pubsub -pubsub -psubscribe',
].join(' ')

/**
 * The whole list. The servers' user `keyhold` has the rights above, `operator` has all rights, a client without a
 * password has none. The list contains only hashes of passwords.
 */
export const redisAclFile = (passwords: { readonly keyhold: string; readonly operator: string }): string =>
  [
    'user default off resetpass resetkeys resetchannels -@all',
    `user keyhold on resetpass #${sha256(passwords.keyhold)} ${redisRights}`,
    `user operator on resetpass #${sha256(passwords.operator)} allkeys allchannels allcommands`,
    '',
  ].join('\n')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
