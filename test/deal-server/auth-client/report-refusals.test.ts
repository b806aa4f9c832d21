import { expect, it, vi } from 'vitest'
import { createRefusalReports } from '../../../deal-server/auth-client/report-refusals.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { LimitRefusal } from '../../../shared/protocol/internal-api/limit-refusals.ts'
import type { InternalQuestion } from '../../../verify/src/auth-client/auth-client.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeSystems } from '../../support/fake-systems.ts'

const refusalOf = (name: string, address = '203.0.113.7'): LimitRefusal => ({
  scheme: 'digest',
  actor: name,
  target: name,
  address,
  count: 1,
})

/** Reports to an auth server that answers so. */
function open(answer: () => number | Promise<number>, waitsMs: readonly number[] = [1, 1]) {
  const told: string[][] = []
  let count = 0
  const ask = vi.fn(async ({ body }: InternalQuestion) => {
    const status = await answer()
    if (status === 204) {
      const { refusals } = body as { refusals: LimitRefusal[] }
      told.push(refusals.map(({ actor }) => String(actor)))
      count += refusals.reduce((sum, refusal) => sum + refusal.count, 0)
    }
    return { status, headers: new Headers(), body: undefined }
  })
  const lost: object[] = []
  const log = {
    warn: (content: object) => void lost.push(content),
    error: (content: object) => void lost.push(content),
  }
  const clock = { now: () => 0, monotonic: () => 0 }
  const reports = createRefusalReports(fakeSystems({ authClient: { ask }, clock, log }), waitsMs)
  return { reports, ask, told, lost, counted: () => count }
}

it('reports a refusal once a minute, and at the end the number of the others', async () => {
  const { reports, ask, told } = open(() => 204)
  for (let time = 0; time < 5; time += 1) reports.note(refusalOf('alice'))
  await expect.poll(() => told).toEqual([['alice']])
  await reports.stop()
  const asked = (count: number) => [
    { method: 'POST', target: '/limit-refusals', body: { refusals: [{ ...refusalOf('alice'), count }] } },
  ]
  expect(ask.mock.calls).toEqual([asked(1), asked(4)])
})

it('reports refusals during a request together', async () => {
  const { reports, told } = open(() => 204)
  for (const name of ['alice', 'bob', 'carol']) reports.note(refusalOf(name))
  await reports.stop()
  expect(told).toEqual([['alice'], ['bob', 'carol']])
})

it('tries again during a short outage of the auth server', async () => {
  let tries = 0
  const { reports, told, lost } = open(() => {
    tries += 1
    if (tries === 1) throw new Unavailable('auth-server')
    return tries === 2 ? 503 : 204
  })
  reports.note(refusalOf('alice'))
  await expect.poll(() => told).toEqual([['alice']])
  expect(lost).toEqual([])
})

it('logs that it gave up, without names, and reports the next refusal', async () => {
  let isAway = true
  const { reports, told, lost } = open(() => (isAway ? 503 : 204))
  reports.note(refusalOf('alice'))
  await expect.poll(() => lost).toEqual([{ refusals: 1 }])
  isAway = false
  await eventually(() => {
    reports.note(refusalOf('alice'))
    expect(told).toEqual([['alice']])
  })
})

it('keeps few reports in memory while the auth server does not respond', async () => {
  let answer: (status: number) => void = () => undefined
  const answered = new Promise<number>((resolve) => {
    answer = resolve
  })
  const { reports, told, counted } = open(() => answered)
  for (let at = 0; at < 5_000; at += 1) reports.note(refusalOf(`user-${at}`, `203.0.${at >> 8}.${at & 255}`))
  answer(204)
  await reports.stop()
  expect(told.flat().length).toBe(2_001)
  expect(counted()).toBe(5_000)
  expect(Math.max(...told.map(({ length }) => length))).toBe(200)
})

it('gives up at once at the end without the auth server, with any number of reports', async () => {
  const { reports, ask } = open(() => 503, [3_600_000])
  for (let at = 0; at < 1_000; at += 1) reports.note(refusalOf(`user-${at}`, `203.0.${at >> 8}.${at & 255}`))
  await reports.stop()
  expect(ask).toHaveBeenCalledTimes(1)
})

it('does not wait when it stops', async () => {
  const { reports, lost } = open(() => 503, [3_600_000])
  reports.note(refusalOf('alice'))
  await reports.stop()
  expect(lost).toEqual([{ refusals: 1 }])
})
