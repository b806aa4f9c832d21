import { expect, it } from 'vitest'
import type { AuditEvent } from '../../../auth-server/audit/audit.ts'
import { createBeginning, createDuring, entriesUnderWay } from '../../../auth-server/audit/change-entries.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'

const origin = { actor: null, scheme: null, address: '203.0.113.7', requestId: 'r' }
const entry = { actor: 'alice', action: 'login.started', target: 'alice' }

/** What the log would store: entries of changes, and those that are recorded apart. */
const recording = (fails = false) => {
  const recorded: AuditEvent[] = []
  const stored: unknown[] = []
  const record = async (event: AuditEvent) => {
    if (fails) throw new Unavailable('database')
    recorded.push(event)
  }
  let calls = 0
  const noted = () => {
    calls += 1
  }
  const ports = { clock: systemClock, check: () => undefined, record, recordRefusal: record, stored: noted }
  const change = async (own?: Parameters<ReturnType<typeof entriesUnderWay>>[0], succeeds = true) => {
    const noteOf = entriesUnderWay()
    await Promise.resolve()
    const of = noteOf(own)
    if (!succeeds) return
    stored.push(...of.entries.map(({ action, actor, target, outcome }) => [action, actor, target, outcome]))
    of.stored()
  }
  return {
    during: createDuring(ports),
    beginning: createBeginning(ports),
    change,
    recorded,
    stored,
    noted: () => calls,
  }
}

const main = ['login.started', 'alice', 'alice', 'succeeded']

it('gives the entry of the work to its first change, and to no other', async () => {
  const { during, change, recorded, stored, noted } = recording()
  const work = async () => {
    await change(undefined, false)
    await change()
    await change()
    return 'token'
  }
  expect(await during(origin, entry, work)).toBe('token')
  expect(stored).toEqual([main])
  expect(recorded).toEqual([])
  expect(noted()).toBe(1)
})

it('leaves the entry of the work to a later change when a change has entries of its own, or none', async () => {
  const { during, change, stored } = recording()
  await during(origin, entry, async () => {
    await change([{ actor: 'alice', action: 'second-factor.added', target: 'alice' }])
    await change([])
    await change()
    await change([{ action: 'login.ended', target: 'l', outcome: 'displaced' }])
  })
  const [added, ended] = [
    ['second-factor.added', 'alice', 'alice', 'succeeded'],
    ['login.ended', null, 'l', 'displaced'],
  ]
  expect(stored).toEqual([added, main, ended])
})

it('takes an entry of the action of the work for its entry', async () => {
  const { during, change, recorded, stored } = recording()
  const reset = { action: 'user.password-reset' }
  await during(origin, reset, () => change([{ ...reset, actor: 'carol', target: 'carol' }]))
  expect(stored).toEqual([['user.password-reset', 'carol', 'carol', 'succeeded']])
  expect(recorded).toEqual([])
})

it('records an entry before it gives the result when nothing changed', async () => {
  const { during, recorded } = recording()
  expect(await during(origin, entry, async () => 'token')).toBe('token')
  expect(recorded).toEqual([{ ...origin, ...entry, outcome: 'succeeded' }])
})

it('records the code of a refusal, and gives the refusal', async () => {
  const { during, recorded } = recording()
  const refused = new ProblemError('invalid-credentials', 'no')
  await expect(during(origin, entry, () => Promise.reject(refused))).rejects.toBe(refused)
  expect(recorded.map(({ outcome }) => outcome)).toEqual(['invalid-credentials'])
})

it('records nothing of what was not decided, nor anything apart from changes of work without an entry', async () => {
  const { during, recorded } = recording()
  const away = new Unavailable('hashing')
  await expect(during(origin, entry, () => Promise.reject(away))).rejects.toBe(away)
  const refused = new ProblemError('invalid-token', 'no')
  await expect(during(origin, undefined, () => Promise.reject(refused))).rejects.toBe(refused)
  await during(origin, undefined, async () => undefined)
  expect(recorded).toEqual([])
})

it('gives nothing out when an entry without a change cannot be stored, neither a result nor a refusal', async () => {
  const { during } = recording(true)
  await expect(during(origin, entry, async () => 'token')).rejects.toBeInstanceOf(Unavailable)
  const refused = () => Promise.reject(new ProblemError('invalid-credentials', 'no'))
  await expect(during(origin, entry, refused)).rejects.toBeInstanceOf(Unavailable)
})

it('keeps works that run at the same time apart, and those within another', async () => {
  const { during, change, stored } = recording()
  const each = (target: string) => during(origin, { action: 'user.changed', target }, () => change())
  await Promise.all([each('a'), each('b'), during(origin, undefined, () => change())])
  await during(origin, { action: 'outer' }, async () => {
    await each('inner')
    await change()
  })
  await change()
  const targets = stored.map((one) => (one as string[])[2])
  expect(targets.slice(0, 2).sort()).toEqual(['a', 'b'])
  expect(targets.slice(2)).toEqual(['inner', null])
})

it('gives its entries to what a work begins with, and to nothing later or beside it', async () => {
  const { beginning, change, stored, noted } = recording()
  const own = [{ action: 'token.issued', target: 'k' }]
  const later = async () => {
    await change(own)
    await change([{ action: 'later' }])
    return 'token'
  }
  const answers = Promise.all([beginning(origin, later), change([{ action: 'beside' }])])
  expect((await answers)[0]).toBe('token')
  expect(stored).toEqual([['token.issued', null, 'k', 'succeeded']])
  expect(noted()).toBe(1)
})

it('does not take the entries of another work within it, nor go on after an error', async () => {
  const { beginning, during, change, stored, noted } = recording()
  await beginning(origin, () => during({ ...origin, actor: 'alice' }, undefined, () => change([{ action: 'inner' }])))
  expect(stored).toEqual([['inner', 'alice', null, 'succeeded']])
  const failing = () => {
    throw new Error('at once')
  }
  await expect(beginning(origin, failing)).rejects.toThrow('at once')
  await change([{ action: 'outside' }])
  expect(stored).toHaveLength(1)
  expect(noted()).toBe(1)
})
