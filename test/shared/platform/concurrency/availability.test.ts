import { expect, it } from 'vitest'
import { Availability } from '../../../../shared/platform/concurrency/availability.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { eventually } from '../../../support/eventually.ts'

it('refuses during an outage with the reason of now, until a probe is answered', async () => {
  const because = (reason: string) => new Unavailable('database', { cause: new Error(reason) })
  let state: Error | undefined = because('it is a standby')
  const availability = new Availability({
    probe: async () => {
      if (state) throw state
    },
    probeIntervalMs: 1,
  })
  const reason = () => {
    try {
      availability.check()
      return undefined
    } catch (error) {
      return String((error as Unavailable).cause)
    }
  }
  expect(reason()).toBeUndefined()
  availability.suspend(because('it was closed'))
  expect(reason()).toBe('Error: it was closed')
  await eventually(() => expect(reason()).toBe('Error: it is a standby'))
  state = new Error('an error of the driver')
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(reason()).toBe('Error: it is a standby')
  state = undefined
  await eventually(() => expect(reason()).toBeUndefined())
})
