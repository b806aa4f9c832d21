import { describe, expect, it } from 'vitest'
import type { DealReader } from '../../../deal-server/queries/ports.ts'
import { createReplicaReads } from '../../../deal-server/replicas/caller-reads.ts'
import type { ReadPlace } from '../../../deal-server/replicas/count-reads.ts'
import { isPosition } from '../../../shared/platform/history/position.ts'
import type { Replica } from '../../../shared/platform/postgres/replicas.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'

const seen = '00000002.0000000000000001.aaaaaaaa'
const query = { filter: {}, sort: { by: 'createdAt', descending: true }, page: { limit: 1, after: undefined } } as const

/** The reads of a caller over one replica, at which every read fails. */
function openOver(error: Error) {
  if (!isPosition(seen)) throw new Error('unreachable')
  const page = { items: [], next: undefined }
  const replica: Replica = {
    name: 'replica',
    read: () => Promise.reject(error),
    check: async () => {},
    close: async () => {},
  }
  const places: ReadPlace[] = []
  const begin = createReplicaReads({
    database: { followPositions: (note) => note(seen), ping: async () => {} },
    primary: { list: async () => page } as unknown as DealReader,
    replicas: [replica],
    count: (place) => places.push(place),
  })
  return { ...begin(seen), page, places }
}

describe('the reads of a caller', () => {
  it('ask the primary whether a cursor is outdated that is so on a replica', async () => {
    const { reader, page, places } = openOver(new ProblemError('outdated-cursor', 'Begin again.'))
    expect(await reader.list(query)).toBe(page)
    expect(places).toEqual([['primary', 'timeline']])
  })

  it('are refused as on the primary for any other reason', async () => {
    const { reader } = openOver(new ProblemError('query-too-slow', 'Too many deals.'))
    await expect(reader.list(query)).rejects.toThrow('Too many deals.')
  })
})
