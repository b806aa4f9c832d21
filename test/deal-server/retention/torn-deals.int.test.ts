import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { addDealCheckCommands } from '../../../auth-server/cli/commands/deals.ts'
import { parseSecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import { proposalMade } from '../../../deal-server/domain/proposals.ts'
import { isRefusal } from '../../../deal-server/domain/refusal.ts'
import { checkDeals } from '../../../deal-server/retention/torn-deals.ts'
import { createDealRepository } from '../../../deal-server/store/deals.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import { applyEvents } from '../../../deal-server/use-cases/apply-events.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfSuite } from '../../support/stores/own-database.ts'
import { decidePure } from '../../support/worlds/pure-deals.ts'

const secretsKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))
const { signal } = new AbortController()
type Step = readonly [useCase: string, params: Readonly<Record<string, unknown>>]

const create: Step = ['CreateDeal', { name: 'deal123', price: 12.5 }]
const addTask: Step = ['AddTask', { taskId: '11111111-1111-4111-8111-111111111111', title: 'Call' }]
const addAnother: Step = ['AddTask', { taskId: '22222222-2222-4222-8222-222222222222', title: 'Write' }]
/** No command: its event leaves the version of the deal. */
const propose: Step = ['a proposal', {}]
const complete: Step = ['CompleteDeal', { finalPrice: 13, openTasks: 'drop', completedOn: '2030-03-30' }]
const cancel: Step = ['CancelDeal', { penaltyAmount: 5, reason: 'late' }]

/** What a deal went through; the last command wrote its events, and lost the row and perhaps the tasks. */
const lost: Readonly<Record<string, { steps: readonly Step[]; withTasks?: true }>> = {
  'its creation': { steps: [create] },
  'a change': { steps: [create, ['ChangePrice', { newPrice: 14, reason: 'more work' }]] },
  'one of many changes': { steps: [create, ['HoldDeal', { reason: 'ill' }], ['UnholdDeal', {}], cancel] },
  'its first task': { steps: [create, addTask] },
  'a proposal': { steps: [create, propose] },
  'a task more': { steps: [create, addTask, addAnother] },
  'a task more, and its row': { steps: [create, addTask, addAnother], withTasks: true },
  'the end of its tasks': { steps: [create, addTask, addAnother, complete], withTasks: true },
  'its deletion': { steps: [create, ['DeleteDeal', {}]] },
}

describeDealStores('the check of deals', (open) => {
  const { database } = databaseOfSuite(open)
  const store = createDealRepository(database)

  const run = async (dealId: string, [useCase, params]: Step): Promise<Deal> => {
    const { deal: before } = await store.load(dealId, undefined)
    const isProposal = useCase === propose[0]
    const made = [proposalMade({ proposalId: randomUUID(), useCase: 'HoldDeal' })]
    const events = isProposal ? made : decidePure([useCase, params], before, { dealId })
    if (isRefusal(events)) throw events
    const at = new Date().toISOString()
    const context = { key: undefined, actor: 'alice', actorUserId: 'id of alice', style: 'resource', at }
    const proposedOn = before && { ...before, sequence: before.sequence + 1 }
    const deal = isProposal && proposedOn ? proposedOn : applyEvents(before, events, context)
    const tasks = deal.tasks.filter((task) => !before?.tasks.includes(task))
    const numbered = events.map((event, index) => {
      return { id: randomUUID(), sequence: (before?.sequence ?? 0) + index + 1, useCase, event: event as never }
    })
    const commit = { before, deal, tasks, events: numbered, command: undefined }
    expect(await store.commit({ ...commit, context: { ...context, requestId: randomUUID() } })).toBe('committed')
    return deal
  }
  const here = 'where bucket = $1::text::smallint and $2::text::uuid'
  const rowsOf = async (table: string, key: string, id: string) => {
    const text = `select to_json(t) as row from deals.${table} t ${here} = ${key}`
    return (await database.query<{ row: object }>(text, [bucketOf(id), id])).map(({ row }) => row)
  }
  const putBack = async (table: string, key: string, { id, rows }: { id: string; rows: readonly object[] }) => {
    await database.write(`delete from deals.${table} ${here} = ${key}`, [bucketOf(id), id])
    const text = `insert into deals.${table} select * from json_populate_record(null::deals.${table}, $1::text::json)`
    for (const row of rows) await database.write(text, [JSON.stringify(row)])
  }
  /** A deal after these commands, of which the last one lost its row. */
  const tear = async (steps: readonly Step[], withTasks = false): Promise<Deal> => {
    const id = randomUUID()
    for (const step of steps.slice(0, -1)) await run(id, step)
    const [row, tasks] = [await rowsOf('deals', 'id', id), await rowsOf('tasks', 'deal_id', id)]
    const deal = await run(id, steps.at(-1) ?? create)
    await putBack('deals', 'id', { id, rows: row })
    if (withTasks) await putBack('tasks', 'deal_id', { id, rows: tasks })
    return deal
  }
  const ops = async (parameters: readonly string[] = [], { auth = true } = {}) => {
    const reports: Report[] = []
    const program = new Command('ops').exitOverride().configureOutput({ writeErr: () => undefined })
    addDealCheckCommands(program, {
      openStoredData: (work) => work({ auth: auth ? database : undefined, deals: database }),
      readKeys: async () => ({ secretsKeys, allSecretsKeys: secretsKeys }),
      clock: systemClock,
      operator: 'erin',
      interrupted: () => signal,
      report:
        (work) =>
        async (...given) =>
          void reports.push(await work(...given)),
    })
    await program.parseAsync(['deals', 'check', ...parameters], { from: 'user' })
    return reports[0]
  }

  it('finds those whose last command lost the row, makes them again from their events, and leaves all others', async () => {
    const whole = [await run(randomUUID(), create), await tear([create, ['DeleteDeal', {}]])]
    const [sound, purged] = whole.map(({ id }) => id)
    await putBack('deals', 'id', { id: purged ?? '', rows: [] })
    const torn: Deal[] = []
    for (const { steps, withTasks } of Object.values(lost)) torn.push(await tear(steps, withTasks))
    const ids = torn.map(({ id }) => id).sort()
    const present = () => Promise.all(torn.map(async ({ id }) => (await store.load(id, undefined)).deal))
    const before = await present()

    const found: string[] = []
    let count = 0
    for await (const checked of checkDeals(database, { signal, window: 4 })) {
      count += checked.count
      found.push(...checked.torn)
    }
    expect([count, found.sort()]).toEqual([torn.length + whole.length, ids])
    expect(await ops(['--dry-run'])).toMatchObject({ json: { ok: false, deals: count }, exitCode: 1 })
    await expect(ops([], { auth: false })).rejects.toThrow('AUTH_DATABASE_URL')
    expect(await present()).toEqual(before)

    const mended = await ops()
    expect(mended).toMatchObject({ json: { ok: true, deals: count }, exitCode: 0 })
    expect(mended?.text).toContain(`Rebuilt: ${ids[0]}`)
    expect(await present()).toEqual(torn)
    expect(await ops()).toMatchObject({ json: { ok: true, torn: [] }, exitCode: 0 })
    expect((await store.load(purged ?? '', undefined)).deal).toBeUndefined()
    expect((await store.load(sound ?? '', undefined)).deal).toEqual(whole[0])
    const entries = await database.query<{ target: string; actor: string; scheme: string }>(
      `select target, actor, scheme from auth.audit_entries where action = 'deal.mended' order by target`,
    )
    expect(entries).toEqual(ids.map((target) => ({ target, actor: 'erin', scheme: 'ops' })))
    // Commands go on.
    const priced = torn[1]
    expect((await run(priced?.id ?? '', ['RenameDeal', { newName: 'another' }])).sequence).toBe(3)
  })

  it('only names a deal without all of its events, and one that is ahead of them', async () => {
    const incomplete = await tear([create, ['HoldDeal', { reason: 'ill' }]])
    await database.write(`delete from deals.events ${here} = deal_id and sequence = 1`, [
      bucketOf(incomplete.id),
      incomplete.id,
    ])
    const ahead = await run(randomUUID(), create)
    await database.write(`update deals.deals set version = 2, sequence = 2 ${here} = id`, [
      bucketOf(ahead.id),
      ahead.id,
    ])
    const torn = [incomplete.id, ahead.id].sort().map((id) => ({ id, mended: false }))
    expect(await ops()).toMatchObject({ json: { ok: false, torn }, exitCode: 1 })
  })
})
