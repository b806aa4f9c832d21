import { expect, it } from 'vitest'
import type { AuditEvent } from '../../../auth-server/audit/audit.ts'
import { audited } from '../../../auth-server/http/pipeline/audited.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'

const request = { peer: { address: '203.0.113.7', mayCarryCredentials: true }, requestId: 'r' } as never
const about = { request, actor: 'alice', action: 'login.started', target: 'alice' }

const recording = (fails = false) => {
  const events: AuditEvent[] = []
  const record = async (event: AuditEvent) => {
    if (fails) throw new Unavailable('database')
    events.push(event)
  }
  return { events, check: () => undefined, record, recordRefusal: record }
}

it('writes an entry before it gives the result', async () => {
  const audit = recording()
  const result = audited(audit, about, async () => 'token')
  expect(await result).toBe('token')
  expect(audit.events).toEqual([
    {
      actor: 'alice',
      action: 'login.started',
      target: 'alice',
      outcome: 'succeeded',
      scheme: null,
      address: '203.0.113.7',
      requestId: 'r',
    },
  ])
})

it('writes the code of a refusal, and gives the refusal', async () => {
  const audit = recording()
  const refused = new ProblemError('invalid-credentials', 'no')
  await expect(audited(audit, about, () => Promise.reject(refused))).rejects.toBe(refused)
  expect(audit.events.map(({ outcome }) => outcome)).toEqual(['invalid-credentials'])
})

it('writes nothing of what was not decided', async () => {
  const audit = recording()
  const away = new Unavailable('hashing')
  await expect(audited(audit, about, () => Promise.reject(away))).rejects.toBe(away)
  expect(audit.events).toEqual([])
})

it('gives nothing out when the entry cannot be written, neither a result nor a refusal', async () => {
  await expect(audited(recording(true), about, async () => 'token')).rejects.toBeInstanceOf(Unavailable)
  const refused = () => Promise.reject(new ProblemError('invalid-credentials', 'no'))
  await expect(audited(recording(true), about, refused)).rejects.toBeInstanceOf(Unavailable)
})
