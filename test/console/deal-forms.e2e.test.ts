/** Every form of every use case, with good and with bad values; and that of a use case made up here. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type FormField, fieldsOf } from '../../console/deal-forms/form-fields.ts'
import { type Command, defineDealCommand } from '../../deal-server/use-cases/define-use-case.ts'
import { commands } from '../../deal-server/use-cases/index.ts'
import { amount, calendarDate, nameText, reasonText } from '../../deal-server/use-cases/parameters.ts'
import { unescaped } from '../support/clients/pages/page-text.ts'
import { type ConsoleWorld, expectPage, openConsole, type PageReader } from '../support/worlds/console-world.ts'
import { makeDeal, runCommand } from '../support/worlds/deals-of-the-table.ts'
import { dealStates, freeTask, takenTask, transitionTable } from '../support/worlds/transition-table.ts'

/** A use case that the console has never heard of, with a parameter of every kind. */
const labelDeal = defineDealCommand({
  name: 'LabelDeal',
  summary: 'Stick labels on a deal',
  right: { name: 'deal.rename', description: 'Rename deals', own: 'Rename own deals' },
  words: { title: 'Stick labels on a deal', done: 'The deal has its labels.' },
  events: [],
  verb: 'label',
  stateName: 'labelled',
  refusals: [],
  params: z.strictObject({
    boxTitle: nameText,
    longWords: reasonText.optional(),
    deposit: amount.optional(),
    numberOfBoxes: z.int().min(1).max(9),
    share: z.number().optional(),
    isFragile: z.boolean(),
    isUrgent: z.boolean().nullable().optional(),
    colour: z.enum(['red', 'blue']).nullable(),
    sidesUp: z.array(z.enum(['top', 'left'])).optional(),
    returnBy: calendarDate.nullable(),
    extra: z.record(z.string(), z.unknown()).optional(),
  }),
  decide: (deal, params) => [{ type: 'deal.renamed', data: { old: deal.name, new: JSON.stringify(params) } }],
})

const everyCommand = [...commands, labelDeal]

let world: ConsoleWorld
let reader: PageReader
let token: string

/** The registry of use cases, in which servers find all of them when they start. */
const registry = commands as Command[]

beforeAll(async () => {
  registry.push(labelDeal)
  world = await openConsole()
  reader = await world.readAs('alice')
  token = (await world.stack.logIn('alice')).access
})
afterAll(async () => {
  registry.pop()
  await world.close()
})

/** A state of a deal in which the command changes something. */
function fittingState({ name }: Command) {
  const { cells } = transitionTable.find(({ useCase }) => useCase === name) ?? {}
  return dealStates.find((state) => cells && dealStates.includes(cells[state] as 'OPEN')) ?? 'OPEN'
}

const goodByName: Readonly<Record<string, string>> = {
  taskId: freeTask,
  employeeId: 'carol',
  ownerId: 'carol',
  assigneeId: 'carol',
  currency: 'EUR',
  reasonCode: 'some-code',
  completedOn: '2024-02-29',
  openTasks: 'drop',
  extra: '{"depth": {"of": [1, null]}}',
}
const goodByKind: Readonly<Record<FormField['kind'], string>> = {
  text: 'a word & <more>',
  multiline: 'two\r\nlines',
  amount: '12.50',
  integer: '3',
  number: '0.25',
  date: '2030-06-30',
  boolean: 'true',
  choice: 'blue',
  list: 'top\r\nleft',
  json: '{}',
}
const goodValue = ({ name, kind }: FormField): string => goodByName[name] ?? goodByKind[kind]

/** Values that the API refuses at the field. */
function badValue({ kind, maxLength }: FormField): string {
  if (kind === 'multiline' || kind === 'text') return maxLength === undefined ? 'no good' : 'x'.repeat(maxLength + 1)
  return kind === 'list' ? 'top\nbottom' : 'no good'
}

const shownFields = (command: Command): readonly FormField[] =>
  fieldsOf(command).filter(({ name }) => name !== command.makes && !(command.target === 'collection' && name === 'id'))

const goodForm = (command: Command): Record<string, string> => ({
  ...Object.fromEntries(shownFields(command).map((field) => [field.name, goodValue(field)])),
  ...(command.name === 'UnassignTask' && { taskId: takenTask }),
})

interface Form {
  readonly path: string
  readonly hidden: Readonly<Record<string, string>>
}

/** The hidden fields of the form on a page. */
function hiddenIn(html: string): Record<string, string> {
  const found = html.matchAll(/<input type="hidden" name="(_\w+)" value="([^"]*)"/g)
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, unescaped(value)]))
}

async function openForm(command: Command): Promise<Form> {
  const id = command.target === 'deal' ? await makeDeal(world.stack, token, fittingState(command)) : ''
  const path = id === '' ? '/console/deals/new' : `/console/deals/${id}/commands/${command.verb}`
  const page = await reader.get(command.onDeleted ? `/console/deals/${id}` : path)
  expectPage(page, 200, '<form method="post"')
  return { path, hidden: hiddenIn(page.text.slice(page.text.indexOf('<main'))) }
}

const isInvalid = (html: string, name: string): boolean =>
  new RegExp(`<(input|select|textarea) id="${name}" name="${name}"[^>]*aria-invalid="true"`).test(html)

describe.each(everyCommand.map((command) => ({ command, name: command.name })))('the form of $name', ({ command }) => {
  it('does it, once, however often it is sent', async () => {
    const { path, hidden } = await openForm(command)
    const sent = { ...hidden, ...goodForm(command) }
    let id = ''
    for (let time = 0; time < 2; time++) {
      const reply = await reader.post(path, sent)
      expect(reply.status, reply.text).toBe(303)
      const target = reply.headers.get('location') ?? ''
      expect(target).toMatch(new RegExp(`^/console/deals/[0-9a-f-]{36}\\?done=${command.verb}$`))
      id = target.slice('/console/deals/'.length, target.indexOf('?'))
      if (time === 0) expectPage(await reader.get(target), 200, 'role="status"')
    }
    const { body } = await world.stack.deal.send(`/rest/v1/deals/${id}/history?limit=200`, { token })
    const runs = (body.items as { commandid: string }[]).filter(({ commandid }) => commandid === hidden._command)
    expect(new Set(runs.map((event) => JSON.stringify(event))).size).toBe(runs.length)
    expect(runs.length).toBeGreaterThan(0)
  })

  it('says at the field what is wrong, and keeps what was entered', async () => {
    const fields = shownFields(command)
    if (fields.length === 0) return
    const { path, hidden } = await openForm(command)
    for (const field of fields) {
      const bad = badValue(field)
      const reply = await reader.post(path, { ...hidden, ...goodForm(command), [field.name]: bad })
      expect([400, 422], `${field.name}: ${reply.text}`).toContain(reply.status)
      expectPage(reply, reply.status, 'There is a problem', `href="#${field.name}"`)
      expect(isInvalid(reply.text, field.name), `${field.name}: ${reply.text}`).toBe(true)
      const isKept = ['text', 'multiline', 'amount', 'list', 'json'].includes(field.kind) && field.name !== 'taskId'
      if (isKept) expect(reply.text).toContain(bad)
      for (const other of fields)
        if (other.kind === 'amount' && other !== field) expect(reply.text).toContain(`value="${goodValue(other)}"`)
    }
  })
})

it('offers a task in the form of what is done to tasks, by its title', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  const page = await reader.get(`/console/deals/${id}/commands/assign-task?taskId=${takenTask}`)
  expectPage(page, 200, `<option value="${takenTask}" selected="">read</option>`)
})

it('makes parameters of each kind from a form', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  const path = `/console/deals/${id}/commands/label`
  const page = await reader.get(path)
  expectPage(page, 200, 'Stick labels on a deal', 'Number of boxes', 'type="checkbox"', 'Deposit (EUR)')
  const hidden = hiddenIn(page.text.slice(page.text.indexOf('<main')))
  const fields = { boxTitle: 'box', numberOfBoxes: '3', deposit: ' 0.10 ', sidesUp: 'left\r\n\r\ntop', extra: '[1' }
  const refused = await reader.post(path, { ...hidden, ...fields })
  expectPage(refused, 400, 'This value does not have the right form.')
  expect(isInvalid(refused.text, 'extra')).toBe(true)
  const reply = await reader.post(path, { ...hiddenIn(refused.text), ...fields, extra: '{"a":[1]}' })
  expect(reply.headers.get('location')).toBe(`/console/deals/${id}?done=label`)
  const { body } = await world.stack.deal.send(`/rest/v1/deals/${id}`, { token })
  const absent = { colour: null, returnBy: null, isFragile: false }
  expect(JSON.parse(String(body.name))).toEqual({
    ...absent,
    boxTitle: 'box',
    numberOfBoxes: 3,
    deposit: '0.10',
    sidesUp: ['left', 'top'],
    extra: { a: [1] },
  })
  expectPage(await reader.get(`/console/deals/${id}?done=label`), 200, 'The deal has its labels.', 'fold-label')
})

it('creates one deal, also when a form is sent again after it was corrected', async () => {
  const { path, hidden } = await openForm(commands[0] as Command)
  const name = `once ${randomUUID()}`
  expect((await reader.post(path, { ...hidden, name, price: '-1' })).status).toBe(422)
  const first = await reader.post(path, { ...hidden, name, price: '0.01' })
  const second = await reader.post(path, { ...hidden, name, price: '0.01' })
  expect(second.headers.get('location')).toBe(first.headers.get('location'))
  const other = await reader.post(path, { ...hidden, name, price: '0.02' })
  expectPage(other, 422, 'This form was sent before, with other content.')
  const { body } = await world.stack.deal.send(`/rest/v1/deals?q=${encodeURIComponent(name)}`, { token })
  expect((body.items as unknown[]).length).toBe(1)
})

it('keeps a form that was sent after the session had ended', async () => {
  const reply = await world.stack.deal.send(`/console/deals/${randomUUID()}/commands/hold`, {
    method: 'POST',
    body: new URLSearchParams({ _version: '1', reason: 'I <waited>', reasonCode: 'late' }).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'text/html',
      'sec-fetch-site': 'same-origin',
    },
  })
  const kept = ['name="reason" value="I &lt;waited&gt;"', 'name="reasonCode" value="late"']
  expectPage(reply, 401, 'Send the form again', ...kept)
})

it('clears what may be empty, and loses no digit of an amount', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  const path = `/console/deals/${id}/commands/change-completion-date`
  const page = await reader.get(path)
  expectPage(page, 200, 'value="2030-06-30"')
  const hidden = hiddenIn(page.text.slice(page.text.indexOf('<main')))
  const reply = await reader.post(path, {
    ...hidden,
    newDate: '',
    penaltyAmount: '99999999999.99',
    whyChanged: 'open end',
  })
  expect(reply.status).toBe(303)
  const { body } = await world.stack.deal.send(`/rest/v1/deals/${id}`, { token })
  expect([body.completionDate, body.completionDatePenalty]).toEqual([null, 99999999999.99])
})

it('shows a comparison also for facts that no deal can have', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  for (const odd of ['2030-99-99', '1e999', '999999999999999999999999', '/', '{', '[]', 'null', '"x"']) {
    const facts = { completionDate: odd, price: odd, tasks: odd, state: odd, penaltyTotal: odd, toString: odd }
    for (const _seen of [JSON.stringify(facts), odd]) {
      const reply = await reader.post(`/console/deals/${id}/commands/change-completion-date`, {
        _seen,
        _version: odd,
        newDate: odd,
        penaltyAmount: odd,
        whyChanged: 'x',
      })
      expect([400, 412, 422], reply.text).toContain(reply.status)
    }
  }
})

it('refuses a form without the version that the reader saw', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  const reply = await reader.post(`/console/deals/${id}/commands/hold`, { reason: 'blind' })
  expectPage(reply, 412, 'Somebody changed the deal after you opened this form.', '>blind</textarea>')
})

it('shows what has changed since the form was opened beside what is wanted, and does it on the new version', async () => {
  const id = await makeDeal(world.stack, token, 'OPEN')
  const path = `/console/deals/${id}/commands/change-price`
  const page = await reader.get(path)
  const sent = { ...hiddenIn(page.text.slice(page.text.indexOf('<main'))), newPrice: '77.70', reason: 'my <words>' }
  await runCommand(world.stack, token, 'ChangePrice', { id, newPrice: 55.5, reason: 'quicker' })
  const refused = await reader.post(path, sent)
  const [seen, now, wanted] = ['€1,234.50', '€55.50', '€77.70']
  expectPage(
    refused,
    412,
    'You saw version 3; now it is version 4.',
    seen,
    now,
    wanted,
    'my &lt;words&gt;',
    'Do it all the same',
  )
  const main = refused.text.slice(refused.text.indexOf('<main'))
  const again = await reader.post(path, { ...hiddenIn(main), newPrice: '77.70', reason: 'my <words>' })
  expect(again.headers.get('location')).toBe(`/console/deals/${id}?done=change-price`)
  const { body } = await world.stack.deal.send(`/rest/v1/deals/${id}`, { token })
  expect([body.price, body.priceReason]).toEqual([77.7, 'my <words>'])
})
