/** Use cases, styles and schemes, each cell one call: all pairs of the three registries, or their product. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../../deal-server/use-cases/index.ts'
import { schemeNames } from '../../shared/protocol/authentication/scheme.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import { openSender, type SendWith } from '../support/clients/scheme-clients/send-with.ts'
import { attributeUseCases, covers, type StyleClient, styleClients } from '../support/clients/style-clients.ts'
import { matrixForm, matrixOf } from '../support/matrix.ts'
import { describeOnce } from '../support/stores/backends.ts'
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

const matrix = matrixOf(
  { scheme: schemeClients, style: styleClients, row: transitionTable },
  // Tools take access tokens alone.
  ({ scheme, style, row }) => covers(style, row.useCase) && (style.style !== 'mcp' || scheme.name === 'bearer'),
)

/** What a style makes of a command. */
async function runCell(row: TableRow, client: StyleClient, sendWith: SendWith): Promise<void> {
  const twin = await makeTwin(sendAs(stack.deal, alice), fittingState(row))
  const request = client.request({ useCase: row.useCase, params: row.params, ...twin })
  if (!request) throw new TypeError(`${client.title} has no form of ${row.useCase}`)
  const before = (await stored.load(twin.dealId))?.version ?? 0
  const reply = await sendWith(stack.deal, request)
  expect([200, 201, 204], `${client.title}: ${reply.status} ${reply.text}`).toContain(reply.status)
  const deal = await stored.load(twin.dealId)
  expect(deal?.version, client.title).toBe(before + 1)
  const history = await stored.history(twin.dealId)
  expect(history.at(-1)).toMatchObject({ actor: 'alice', useCase: row.useCase, style: client.style })
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

describeOnce(`use cases, styles and schemes: ${matrixForm}`, (openBackend) => {
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

  it('has the sub-resources, collections and controllers of every use case, and attributes where they can express it', () => {
    for (const { useCase } of transitionTable) {
      const styles = styleClients.filter((style) => covers(style, useCase))
      expect(styles.length, useCase).toBeGreaterThanOrEqual(attributeUseCases.includes(useCase) ? 9 : 7)
    }
  })

  describe.each(schemeClients.map((client) => [client.name, client] as const))('%s', (name, client) => {
    let sendWith: SendWith

    beforeAll(async () => {
      sendWith = await openSender(client, stack, 'alice')
    })

    it.each(transitionTable.map((row) => [row.useCase, row] as const))('%s', async (_useCase, row) => {
      const ofCell = matrix.filter((one) => one.scheme === client && one.row === row)
      expect(ofCell.length).toBeGreaterThan(0)
      for (const { style } of ofCell) {
        await runCell(row, style, sendWith)
        count(name)
      }
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
