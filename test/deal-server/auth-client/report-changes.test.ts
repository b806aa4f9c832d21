import { expect, it } from 'vitest'
import { createChangeReports } from '../../../deal-server/auth-client/report-changes.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { ReportedChange } from '../../../shared/protocol/internal-api/webhook-changes.ts'

const change = (n: number): ReportedChange => ({
  action: 'webhook.changed',
  target: `00000000-0000-4000-8000-00000000000${n}`,
  actor: 'admin',
  scheme: 'session',
  address: null,
  requestId: '00000000-0000-7000-8000-000000000000',
})

/** An auth server that is away, does not know the route, or stores what it is told. */
function world(state: { is: 'away' | 'old' | 'there' }) {
  const stored: string[] = []
  const lines: string[] = []
  const ask = async ({ body }: { body: { changes: readonly ReportedChange[] } }) => {
    if (state.is === 'away') throw new Unavailable('auth-server')
    if (state.is === 'old') return { status: 404 }
    stored.push(...body.changes.map(({ target }) => target.slice(-1)))
    return { status: 204 }
  }
  const note = (_: object, message: string) => void lines.push(message)
  const log = { warn: note, error: note }
  return { stored, lines, reports: createChangeReports({ authClient: { ask }, log } as never, 5) }
}

it('reports changes in order, while no request waits', async () => {
  const { stored, reports } = world({ is: 'there' })
  reports.note(change(1))
  reports.note(change(2))
  await expect.poll(() => stored).toEqual(['1', '2'])
  await reports.stop()
})

it.each(['away', 'old'] as const)(
  'keeps changes while the auth server is %s, and reports them in order',
  async (is) => {
    const state: { is: 'away' | 'old' | 'there' } = { is }
    const { stored, lines, reports } = world(state)
    reports.note(change(1))
    reports.note(change(2))
    await expect.poll(() => String(lines[0])).toMatch(/wait for the audit log/)
    expect(stored).toEqual([])
    state.is = 'there'
    await expect.poll(() => stored).toEqual(['1', '2'])
    await reports.stop()
    expect(stored).toEqual(['1', '2'])
  },
)

it('tries a last time at the end, and logs what is lost', async () => {
  const state: { is: 'away' | 'old' | 'there' } = { is: 'away' }
  const { stored, lines, reports } = world(state)
  reports.note(change(1))
  await reports.stop()
  expect(stored).toEqual([])
  expect(lines.at(-1)).toMatch(/is not in the audit log/)
})
