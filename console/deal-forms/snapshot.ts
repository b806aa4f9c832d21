/**
 * The facts of a deal as the reader saw them when a form was opened. The form carries them: when somebody has changed
 * the deal since, the page shows both.
 */

import { labelledFields } from '../../deal-server/domain/deal-fields.ts'
import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import type { Reader } from '../frame/reader.ts'
import { dealTexts as texts } from '../texts/deal.ts'
import { fieldPartsOf } from './command-form.tsx'
import { type DealState, type DealView, isDay, stateOf } from './deal-view.ts'
import { fieldsOf } from './form-fields.ts'

/** Fact → its text. Facts of `facts` are as the API writes them. */
type Snapshot = Readonly<Record<string, string>>

interface Fact {
  readonly label: string
  read(deal: DealView): string | null
  /** For readers. */
  show?(text: string, parts: { readonly reader: Reader; readonly currency: string }): string
}

const money: Fact['show'] = (text, { reader, currency }) => (isAmount(text) ? reader.money(text, currency) : text)
const date: Fact['show'] = (text, { reader }) => (isDay(text) ? reader.date(text) : text)
const time: Fact['show'] = (text, { reader }) => (Number.isNaN(Date.parse(text)) ? text : reader.time(text))
const isAmount = (text: string) => /^\d{1,12}(\.\d{1,3})?$/.test(text)

/** An amount of 0 is a fact of every deal, so that a first one is seen. */
const ofFields: Readonly<Record<string, Fact>> = Object.fromEntries(
  labelledFields.map(({ name, kind, label }): [string, Fact] => {
    const read = ({ [name]: value }: DealView) => (value === null ? null : String(value))
    const show = kind === 'amount' ? money : kind === 'date' ? date : kind === 'time' ? time : undefined
    return [name, show ? { label, read, show } : { label, read }]
  }),
)

/** By the attribute that commands name: `Command.attributes`. */
const facts: Readonly<Record<string, Fact>> = {
  state: {
    label: 'State',
    read: stateOf,
    show: (text) => texts.states[text as DealState] ?? text,
  },
  name: { label: 'Name', read: ({ name }) => name },
  price: { label: 'Price', read: ({ priceText }) => priceText, show: money },
  ...ofFields,
  tasks: {
    label: 'Tasks',
    read: ({ tasks }) => `${tasks.filter(({ status }) => status === 'open').length}/${tasks.length}`,
    show: (text) => texts.openTasksOf(...(text.split('/') as [string, string])),
  },
  task: { label: 'Task', read: () => null },
}

/** Longer texts are cut in a form. */
const longest = 200

const cut = (text: string): string => {
  const characters = [...text]
  return characters.length > longest ? `${characters.slice(0, longest).join('')}…` : text
}

/** The facts of a deal, and those of one of its tasks. */
function factsOf(deal: DealView, taskId: string | undefined): Snapshot {
  const task = deal.tasks.find(({ id }) => id === taskId)
  const ofTask = task && `${task.title}, ${texts.taskStatuses[task.status]}, ${task.assigneeId ?? 'nobody'}`
  return Object.fromEntries(
    Object.entries(facts).map(([key, { read }]) => [key, cut((key === 'task' ? ofTask : read(deal)) ?? '')]),
  )
}

/** The facts of a deal as text for a form. Empty facts are left out. */
export const snapshotOf = (deal: DealView, taskId?: string): string =>
  JSON.stringify(Object.fromEntries(Object.entries(factsOf(deal, taskId)).filter(([, text]) => text !== '')))

/** The facts that a form carries; none when somebody has changed that text. */
function readSnapshot(text: string | undefined): Snapshot {
  try {
    const value: unknown = JSON.parse(text ?? '')
    if (typeof value !== 'object' || value === null) return {}
    return Object.fromEntries(Object.entries(value).filter(([, fact]) => typeof fact === 'string'))
  } catch {
    return {}
  }
}

/** A fact before and now, and what the reader wants it to be. Undefined: the form does not say. */
export interface ComparedFact {
  readonly label: string
  readonly seen: string
  readonly now: string
  readonly wanted: string
  readonly isChanged: boolean
}

interface Compared {
  readonly command: Command
  readonly form: ReadonlyMap<string, string>
  readonly seen: string | undefined
  readonly deal: DealView
  readonly reader: Reader
}

/** The facts that have changed since the form was opened, and those that the form sets. */
export function compareFacts({ command, form, seen, deal, reader }: Compared): readonly ComparedFact[] {
  const [before, now] = [readSnapshot(seen), factsOf(deal, form.get('taskId'))]
  const { currency } = deal
  const wanted = wantedOf(command, form)
  const show = (fact: Fact, text: string) => (text === '' ? '–' : (fact.show?.(text, { reader, currency }) ?? text))
  const rows = Object.entries(facts).flatMap(([key, fact]): ComparedFact[] => {
    const [old, current, wish] = [before[key] ?? '', now[key] ?? '', wanted.get(key)]
    const isChanged = seen !== undefined && old !== current
    if (!isChanged && wish === undefined) return []
    const shown = wish === undefined ? '' : show(fact, wish)
    return [{ label: fact.label, seen: show(fact, old), now: show(fact, current), wanted: shown, isChanged }]
  })
  return [...rows, ...otherWishes(command, form, currency)]
}

/** Fact → the text of the field that sets it. */
const wantedOf = ({ attributes = {} }: Command, form: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(attributes).flatMap(([parameter, attribute = '']): [string, string][] =>
      attribute in facts ? [[attribute, form.get(parameter) ?? '']] : [],
    ),
  )

/** What the reader has entered in other fields. */
function otherWishes(command: Command, form: ReadonlyMap<string, string>, currency: string): readonly ComparedFact[] {
  const { attributes = {} } = command
  const isOther = (name: string) => !(attributes[name] !== undefined && attributes[name] in facts) && name !== 'taskId'
  const shown = fieldPartsOf({ command, values: form, currency })
  return shown
    .filter(({ name, value }) => isOther(name) && value)
    .map(({ label, value = '' }) => ({ label, seen: '', now: '', wanted: value, isChanged: false }))
}

/** Attributes that say why something was done, or at what price: each change needs its own. */
const ofOneChange = /^(?!hold).*(Reason|Penalty)$/

/** What the fields of a form begin with: what the deal has now. */
export function initialValues(command: Command, deal: DealView, taskId?: string): ReadonlyMap<string, string> {
  const { attributes = {} } = command
  const values = fieldsOf(command).flatMap(({ name }): [string, string][] => {
    if (name === 'taskId') return taskId === undefined ? [] : [[name, taskId]]
    const attribute = attributes[name] ?? ''
    const value = ofOneChange.test(attribute) ? null : attribute in facts ? facts[attribute]?.read(deal) : null
    return value == null ? [] : [[name, value]]
  })
  return new Map(values)
}
