/** Deals in a state, made by commands through sockets; all deals of one state are twins. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Reply } from '../clients/http-client.ts'
import { type StyleClient, type StyleRequest, styleClients } from '../clients/style-clients.ts'
import { callTool, toolPath } from '../clients/tool-calls.ts'
import type { TestServer } from './stack.ts'
import { type DealState, waysInto } from './transition-table.ts'

export interface Twin {
  readonly dealId: string
  readonly path: string
  /** As its client read it last, before it was deleted. */
  readonly read: Readonly<Record<string, unknown>>
}

export type SendRequest = (request: StyleRequest) => Promise<Reply>

/** Sends to one server as one user. */
export const sendAs =
  (server: TestServer, token: string): SendRequest =>
  ({ path, sent }) =>
    path.startsWith(toolPath) ? callTool(server, token, { path, sent }) : server.send(path, { token, ...sent })

/** What somebody who has never read the deal would send. */
const neverRead = { name: 'deal', price: 1, completionDate: null, ownerId: 'alice', status: 'open', held: false }

/** A deal in a state. */
export async function makeTwin(send: SendRequest, state: DealState): Promise<Twin> {
  const dealId = randomUUID()
  const path = `/rest/v1/deals/${dealId}`
  const readDeal = async () => (await send({ path, sent: {} })).body
  let read: Twin['read'] = neverRead
  for (const [useCase, params] of waysInto[state]) {
    if (useCase === 'DeleteDeal') read = await readDeal()
    const { status, text } = await send({ path: `/command/${useCase}/`, sent: { json: { id: dealId, ...params } } })
    expect({ useCase, status, text }).toEqual({ useCase, status: 200, text: '' })
  }
  return { dealId, path, read: state === 'ABSENT' || state === 'DELETED' ? read : await readDeal() }
}

/** A style by its title. @throws TypeError */
export function styleCalled(title: string): StyleClient {
  const found = styleClients.find((client) => client.title === title)
  if (!found) throw new TypeError(`no style ${title}`)
  return found
}
