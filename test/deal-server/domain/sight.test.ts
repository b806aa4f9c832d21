import { describe, expect, it } from 'vitest'
import { isForeign, onlyOwnerOf, sees, seesDeleted, sightOf } from '../../../deal-server/domain/sight.ts'
import { seenBy } from '../../../deal-server/events/own-events.ts'

const viewer = (...rights: string[]) => ({ username: 'sam', userId: 'sam-1', rights: new Set(rights) })
const dealOf = (ownerUserId: string) => ({ ownerId: 'sam', ownerUserId, createdAt: '2026-01-01T00:00:00.000Z' })
const [own, foreign] = [dealOf('sam-1'), dealOf('sam-of-before')]

describe('the sight of a user', () => {
  it.each([
    [['deal.read'], [true, true], undefined],
    [['deal.read:own'], [true, false], 'sam-1'],
    [['deal.read', 'deal.read:own'], [true, true], undefined],
    [[], [false, false], undefined],
  ])('with %j sees an own and a foreign deal: %j', (rights, seen, owner) => {
    const sight = sightOf(viewer(...rights))
    expect([sees(sight, own), sees(sight, foreign)]).toEqual(seen)
    expect(onlyOwnerOf(sight)?.userId).toBe(owner)
  })

  it.each([
    [['deal.history.read', 'deal.read:own'], 'own'],
    [['deal.history.read:own', 'deal.read'], 'own'],
    [['deal.history.read', 'deal.read'], 'all'],
    [['deal.history.read'], 'all'],
    [['deal.read'], undefined],
  ])('by deal.history.read, with %j, reaches %s deals', (rights, deals) => {
    expect(sightOf(viewer(...rights), ['deal.history.read']).deals).toBe(deals)
  })

  it('has what is the own in any deal where no right is needed', () => {
    expect(sightOf(viewer('deal.read:own'), []).deals).toBe('all')
  })

  it('has deleted deals by the right to restore them alone', () => {
    const has = (right: string) => [own, foreign].map((deal) => seesDeleted(sightOf(viewer(right)), deal))
    expect([has('deal.read'), has('deal.restore:own'), has('deal.restore')]).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ])
  })

  it('takes a deal of somebody else for one that never was, where a right is for own deals alone', () => {
    const ofHolder = (...rights: string[]) => isForeign(viewer(...rights), foreign, ['deal.hold'])
    expect(ofHolder('deal.read:own')).toBe(true)
    expect(ofHolder('deal.hold:own')).toBe(true)
    expect(ofHolder('deal.read', 'deal.hold:own')).toBe(false)
    expect(ofHolder('deal.hold')).toBe(false)
    expect(isForeign(viewer('deal.read:own'), own, ['deal.hold'])).toBe(false)
  })

  it('shows no event to who sees no deal', () => {
    const event = { type: 'deal.held', data: {}, owner: own } as never
    expect(seenBy(sightOf(viewer('deal.read:own')), event)).toBe(event)
    expect(seenBy(sightOf(viewer()), event)).toBeUndefined()
  })
})
