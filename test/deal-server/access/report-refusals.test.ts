import { expect, it, vi } from 'vitest'
import type { InternalQuestion } from '../../../deal-server/access/auth-client.ts'
import { createRefusalReports } from '../../../deal-server/access/report-refusals.ts'
import { Unavailable } from '../../../shared/errors.ts'
import type { LimitRefusal } from '../../../shared/limits/limit-refusals.ts'
import { eventually } from '../../support/eventually.ts'

const refusalOf = (name: string, address = '203.0.113.7'): LimitRefusal => ({
  ...{ scheme: 'digest', actor: name, target: name, address },
})

/** Reports to an auth server that answers so. */
function open(answer: () => number | Promise<number>, waitsMs: readonly number[] = [1, 1]) {
  const told: string[][] = []
  const ask = vi.fn(async ({ body }: InternalQuestion) => {
    const status = await answer()
    if (status === 204) told.push((body as { refusals: LimitRefusal[] }).refusals.map(({ actor }) => String(actor)))
    return { status, headers: new Headers(), body: undefined }
  })
  const lost: object[] = []
  const log = {
    warn: (content: object) => void lost.push(content),
    error: (content: object) => void lost.push(content),
  }
  const clock = { now: () => 0, monotonic: () => 0 }
  const reports = createRefusalReports({ authClient: { ask }, clock, log: log as never, waitsMs })
  return { reports, ask, told, lost }
}

it('tells of a refusal once a minute', async () => {
  const { reports, ask } = open(() => 204)
  for (let time = 0; time < 5; time += 1) reports.note(refusalOf('alice'))
  await reports.stop()
  const body = { refusals: [refusalOf('alice')] }
  expect(ask).toHaveBeenCalledExactlyOnceWith({ method: 'POST', target: '/limit-refusals', body })
})

it('tells of those that come meanwhile together', async () => {
  const { reports, told } = open(() => 204)
  for (const name of ['alice', 'bob', 'carol']) reports.note(refusalOf(name))
  await reports.stop()
  expect(told).toEqual([['alice'], ['bob', 'carol']])
})

it('tries again while the auth server is away for a moment', async () => {
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

it('says in its log that it gave up, names nobody, and tells of the next one', async () => {
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

it('holds few in memory while the auth server does not answer', async () => {
  let answer: (status: number) => void = () => undefined
  const answered = new Promise<number>((resolve) => {
    answer = resolve
  })
  const { reports, told } = open(() => answered)
  for (let at = 0; at < 3_000; at += 1) reports.note(refusalOf(`user-${at}`, `203.0.${at >> 8}.${at & 255}`))
  answer(204)
  await reports.stop()
  expect(told.flat().length).toBe(1_001)
  expect(Math.max(...told.map(({ length }) => length))).toBe(200)
})

it('waits for nobody when it stops', async () => {
  const { reports, lost } = open(() => 503, [3_600_000])
  reports.note(refusalOf('alice'))
  await reports.stop()
  expect(lost).toEqual([{ refusals: 1 }])
})
