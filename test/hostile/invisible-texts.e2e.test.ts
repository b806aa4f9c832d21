/** Texts that nobody can see, and lines that are two, in every text of a caller: names are links in the console. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isEverything } from '../support/campaign.ts'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { freeTask } from '../support/worlds/transition-table.ts'

const invisible = {
  'a zero width space': '\u200b\u200b',
  'a word joiner': '\u2060',
  'a soft hyphen': '\u00ad',
  'a mark of direction': '\u200e',
  'a blank of Braille': '\u2800',
  'a Hangul filler': '\u3164',
  'a variation selector': '\ufe0f',
  'letters of tags': '\u{e0041}\u{e0042}',
  'a mark without a letter': '\u0301',
  'blanks around one': ' \u200b\u00a0',
}
const twoLines = ['one\u2028two', 'one\u2029two', 'one\ntwo']
const visible = ['\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', '\u05e9\u05dc\u05d5\u05dd', 'a\u200cb', '\u2603\ufe0f', 'é']

/** Where a text goes: server, method and path, the body with it, and whether it may have several lines. */
type Place = readonly [server: 'auth' | 'deal', route: string, body: (text: string) => object, isLong?: boolean]

const command = (name: string, body: (text: string) => object, isLong = true): Place => [
  'deal',
  `POST /command/${name}/?validateOnly=true`,
  (text) => ({ ...(name === 'CreateDeal' ? {} : { id: 'ID' }), ...body(text) }),
  isLong,
]
const right = (text: string) => ({ name: 'invisible.read', description: text, readsOnly: true })

const places: readonly Place[] = [
  command('CreateDeal', (name) => ({ name, price: 1 }), false),
  command('CreateDeal', (description) => ({ name: 'a', price: 1, description })),
  command('RenameDeal', (newName) => ({ newName }), false),
  command('HoldDeal', (reason) => ({ reason })),
  command('CancelDeal', (reason) => ({ penaltyAmount: 0, reason })),
  command('ReopenDeal', (reason) => ({ reason })),
  command('ChangePrice', (reason) => ({ newPrice: 2, reason })),
  command('ChangeCompletionDate', (whyChanged) => ({ newDate: null, penaltyAmount: 0, whyChanged })),
  command('CompleteDeal', (comment) => ({ comment })),
  command('CompleteDeal', (documentNumber) => ({ documentNumber }), false),
  command('AddTask', (title) => ({ title }), false),
  command('UnassignTask', (reason) => ({ taskId: freeTask, reason })),
  command('CompleteTask', (result) => ({ taskId: freeTask, result })),
  ['deal', 'PATCH /rest/v1/deals/ID?validateOnly=true', (name) => ({ name })],
  ['deal', 'PATCH /rest/v1/deals/ID?validateOnly=true', (holdReason) => ({ held: true, holdReason }), true],
  ['deal', 'POST /rest/v1/webhooks', (description) => ({ url: 'https://receiver.example/', description })],
  ['auth', 'POST /api-keys', (name) => ({ kind: 'hmac', name })],
  ['auth', 'POST /roles', (description) => ({ name: `role-${randomUUID()}`, description, rights: [] })],
  ['auth', 'PUT /roles/viewer', (description) => ({ description, rights: ['deal.read', 'deal.history.read'] })],
  ['auth', 'POST /resource-servers', (name) => ({ id: 'invisible', audience: 'urn:a', name, rights: [] })],
  ['auth', 'POST /resource-servers', (text) => ({ id: 'i', audience: 'urn:a', name: 'a', rights: [right(text)] })],
  ['auth', 'PATCH /resource-servers/deals', (name) => ({ name })],
  ['auth', 'POST /services', (name) => ({ resourceServer: 'deals', name })],
  ['auth', 'POST /me/second-factors/totp/confirm', (name) => ({ challenge: 'a', code: '123456', name })],
]

describeOnce('a text of a caller', (openBackend) => {
  let stack: Stack
  let token: string
  let deal: string

  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    token = (await stack.logIn('admin')).access
    const made = await stack.deal.send('/rest/v1/deals', { token, json: { name: 'a', price: 1 } })
    deal = String(made.body.id)
    const task = { token, method: 'POST', json: { taskId: freeTask, title: 'a' } }
    expect((await stack.deal.send(`/rest/v1/deals/${deal}/tasks`, task)).status).toBe(201)
  })
  afterAll(() => stack.close())

  const send = ([server, route, body]: Place, text: string): Promise<Reply> => {
    const [method = '', path = ''] = route.split(' ')
    const json = JSON.parse(JSON.stringify(body(text)).replace('"ID"', `"${deal}"`)) as object
    return stack[server].send(path.replace('ID', deal), { method, token, json })
  }

  it.each(places.map((place, at) => [place[1], place, at] as const))(
    '%s needs a visible character',
    async (_, place, at) => {
      const [server, , , isLong = false] = place
      // One rule for all places: each text goes to two of ten.
      const ofPlace = Object.values(invisible).filter(
        (_, index, { length }) => isEverything || (index + at) % (length / 2) === 0,
      )
      const refused = [...ofPlace, ...(isLong ? [] : twoLines)]
      for (const text of refused) expectProblem(await send(place, text), 422, 'invalid-value')
      if (server === 'auth') return
      for (const text of [...visible, ...(isLong ? twoLines : [])]) {
        const reply = await send(place, text)
        expect(reply.body.errors, `${JSON.stringify(text)}: ${reply.text}`).toBeUndefined()
      }
    },
  )

  it('is refused alike in the rows of an import', async () => {
    const json = Object.values(invisible).map((name) => ({
      id: randomUUID(),
      action: 'CreateDeal',
      params: { name, price: 1 },
    }))
    const { text } = await stack.deal.send('/commands', { method: 'POST', token, json })
    expect(text.match(/"code":"invisible-text"/g)?.length).toBeGreaterThan(json.length - 2)
    expect(text).not.toContain('"status":201')
  })
})
