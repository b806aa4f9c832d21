import { describe, expect, it } from 'vitest'
import { feedMessageSchema } from '../../../../shared/protocol/principal/change-feed.ts'
import { parseStoredPrincipal } from '../../../../shared/protocol/principal/record.ts'

const record = {
  schema: 2,
  username: 'alice',
  userId: 'u-1',
  enabled: true,
  roles: ['viewer'],
  directRights: ['deal.hold'],
  generation: 1,
  keptLogin: null,
  revokedIds: [],
  version: 7,
}
const message = { after: 6, upTo: 7, ageMs: 1, keys: 'digest', changes: [{ username: 'alice', version: 7 }] }

describe('members that a later release adds (docs/releasing.md#rules-for-changes)', () => {
  it('are ignored in a principal record, whose layout must still be the known one', () => {
    expect(parseStoredPrincipal(JSON.stringify({ ...record, later: true }))).toEqual(record)
    expect(parseStoredPrincipal(JSON.stringify({ ...record, schema: 3 }))).toBeUndefined()
  })

  it('are ignored in a message of the change feed and in its changes', () => {
    const changes = message.changes.map((change) => ({ ...change, later: true }))
    expect(feedMessageSchema.parse({ ...message, changes, later: true })).toEqual(message)
  })
})
