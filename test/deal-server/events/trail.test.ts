import { describe, expect, it, vi } from 'vitest'
import { Trail } from '../../../deal-server/events/trail.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

const place = { position: 1, id: 'a', history: 'old' }
const found = { position: 1, id: 'a', history: 'new' }

/** A trail of the history `old`, and the read that finds its last common place. */
function setUp() {
  const findLast = vi.fn().mockResolvedValue(found)
  const trail = new Trail({ findLast } as never, 2)
  trail.add([place])
  return { trail, findLast }
}

describe('a trail of events', () => {
  it('is compared with another log by one read, for all who ask at the same time and later', async () => {
    const { trail, findLast } = setUp()
    const forks = await Promise.all([1, 2, 3].map(() => trail.forkTo('new')))
    trail.add([{ position: 2, id: 'b', history: 'new' }])
    forks.push(await trail.forkTo('new'))
    expect(forks).toEqual(Array(4).fill({ from: 'old', to: 'new', common: found }))
    expect(findLast).toHaveBeenCalledTimes(1)
  })

  it('is compared again after an outage, by one read again', async () => {
    const { trail, findLast } = setUp()
    findLast.mockRejectedValueOnce(new Unavailable('database'))
    const outcomes = await Promise.allSettled([trail.forkTo('new'), trail.forkTo('new')])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const forks = await Promise.all([trail.forkTo('new'), trail.forkTo('new')])
    expect(forks.map(({ common }) => common)).toEqual([found, found])
    expect(findLast).toHaveBeenCalledTimes(2)
  })

  it('has no common place with a log that took over from another one meanwhile', async () => {
    const { trail, findLast } = setUp()
    findLast.mockResolvedValueOnce({ ...found, history: 'newer' })
    expect(await trail.forkTo('new')).toEqual({ from: 'old', to: 'new', common: undefined })
    expect(await trail.forkTo('newer')).toMatchObject({ to: 'newer' })
  })

  it('remembers the last places alone', async () => {
    const { trail, findLast } = setUp()
    const later = [2, 3, 4].map((position) => ({ position, id: String(position) }))
    trail.add(later.map((one) => ({ ...one, history: 'old' })))
    await trail.forkTo('new')
    expect(findLast).toHaveBeenCalledWith(later.slice(-2))
  })
})
