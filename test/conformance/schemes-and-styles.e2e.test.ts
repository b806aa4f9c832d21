/** Every use case in every style under every scheme, each cell one call: the product of the three registries. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../../deal-server/use-cases/index.ts'
import { schemeNames } from '../../shared/protocol/authentication/scheme.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import { openSender, type SendWith } from '../support/clients/scheme-clients/send-with.ts'
import { attributeUseCases, styleClients } from '../support/clients/style-clients.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { storedDeals } from '../support/stores/stored-deals.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { dealStates, isProblemCode, type TableRow, transitionTable } from '../support/worlds/transition-table.ts'
import { makeTwin, sendAs } from '../support/worlds/twins.ts'

let stack: Stack
let stored: ReturnType<typeof storedDeals>
let alice: string
const cells = new Map<string, number>()

const count = (scheme: string) => cells.set(scheme, (cells.get(scheme) ?? 0) + 1)

/** The first state in which the command changes something. */
function fittingState({ useCase, cells: ofRow }: TableRow) {
  const state = dealStates.find((one) => !isProblemCode(ofRow[one]) && ofRow[one] !== 'unchanged')
  if (!state) throw new TypeError(`${useCase} never changes anything`)
  return state
}

/** What each style makes of one command; as many as cover it. */
async function runRow(row: TableRow, sendWith: SendWith): Promise<number> {
  const state = fittingState(row)
  let sent = 0
  for (const client of styleClients) {
    const twin = await makeTwin(sendAs(stack.deal, alice), state)
    const request = client.request({ useCase: row.useCase, params: row.params, ...twin })
    if (!request) continue
    const before = (await stored.load(twin.dealId))?.version ?? 0
    const reply = await sendWith(stack.deal, request)
    expect([200, 201, 204], `${client.title}: ${reply.status} ${reply.text}`).toContain(reply.status)
    const deal = await stored.load(twin.dealId)
    expect(deal?.version, client.title).toBe(before + 1)
    const history = await stored.history(twin.dealId)
    expect(history.at(-1)).toMatchObject({ actor: 'alice', useCase: row.useCase, style: client.style })
    sent += 1
  }
  return sent
}

const queries = (dealId: string): readonly string[] => [
  `/rest/v1/deals/${dealId}`,
  '/rest/v1/deals?limit=1',
  `/rest/v1/deals/${dealId}/history`,
  `/query/Deal/${dealId}`,
  '/query/Deals/open',
  '/query/AssignedTask/alice',
  `/query/DealHistory/${dealId}`,
]

describeBackends('every use case in every style under every scheme', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    stored = storedDeals(stack.database)
    alice = (await stack.logIn('alice')).access
    cells.clear()
  })
  afterAll(async () => {
    const total = [...cells.values()].reduce((sum, one) => sum + one, 0)
    const counts = [...cells].map(([scheme, one]) => `${scheme}: ${one}`).join(', ')
    process.stdout.write(`schemes and styles, ${total} cells (${counts})\n`)
    await stack.close()
  })

  it('has a client for every scheme and a row for every use case', () => {
    expect(schemeClients.map(({ name }) => name)).toEqual(schemeNames)
    expect(transitionTable.map(({ useCase }) => useCase).sort()).toEqual(commands.map(({ name }) => name).sort())
  })

  describe.each(schemeClients.map((client) => [client.name, client] as const))('%s', (name, client) => {
    let sendWith: SendWith

    beforeAll(async () => {
      sendWith = await openSender(client, stack, 'alice')
    })

    it.each(transitionTable.map((row) => [row.useCase, row] as const))('%s', async (useCase, row) => {
      const sent = await runRow(row, sendWith)
      // All the sub-resources, collections and controllers; attributes where they can express it.
      expect(sent).toBeGreaterThanOrEqual(attributeUseCases.includes(useCase) ? 9 : 7)
      for (let one = 0; one < sent; one += 1) count(name)
    })

    it('queries', async () => {
      const { dealId } = await makeTwin(sendAs(stack.deal, alice), 'OPEN')
      for (const path of queries(dealId)) {
        const { status, text } = await sendWith(stack.deal, { path, sent: {} })
        expect(status, `${path}: ${text}`).toBe(200)
        count(name)
      }
    })
  })
})
