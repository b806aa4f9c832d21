/** Events of a deal in words: what somebody did, and the details of it. */

import type { DealEventType } from '../../deal-server/domain/events.ts'
import { isDay } from '../deal-forms/deal-view.ts'
import type { Reader } from '../frame/reader.ts'
import { dealTexts } from '../texts/deal.ts'
import { eventTexts as texts } from '../texts/events.ts'

/** An event in words. */
export interface EventWords {
  /** After the name of who did it: `changed the price`. */
  readonly phrase: string
  /** Each stands on lines of its own. Texts of users are among them. */
  readonly details: readonly string[]
}

interface WordsContext {
  readonly reader: Reader
  /** Task id → title. */
  readonly titles: ReadonlyMap<string, string>
}

/** The data of an event with ways to read it. Members may be missing: old and purged events have fewer. */
interface Data {
  text(name: string): string
  money(name: string): string
  /** A day. */
  date(name: string): string
  /** The reason and code of a hold: in the data, or in a member of it. */
  hold(name?: string): string
  /** The title of the task. */
  task(): string
  raw(name: string): unknown
}

type Write = (data: Data, context: WordsContext) => readonly string[]

const { phrases, change } = texts
const labelled = (label: string, value: string): readonly string[] => (value === '' ? [] : [`${label}: ${value}`])
const changed = (old: string, now: string) => [change(old || texts.none, now || texts.none)]

const writers: Readonly<Record<DealEventType, readonly [phrase: string, write: Write]>> = {
  'deal.created': [phrases.created, (data) => [`${data.text('name')}, ${data.money('price')}`]],
  'deal.renamed': [phrases.renamed, (data) => changed(data.text('old'), data.text('new'))],
  'deal.price-changed': [
    phrases.priceChanged,
    (data) => [...changed(data.money('old'), data.money('new')), data.text('reason')],
  ],
  'deal.completion-date-changed': [
    phrases.dateChanged,
    (data) => [...changed(data.date('old'), data.date('new')), data.text('why')],
  ],
  'deal.penalty-charged': [
    phrases.penalty,
    (data) => [`${data.money('amount')} ${texts.causes[data.text('cause') as keyof typeof texts.causes] ?? ''}`],
  ],
  'deal.held': [phrases.held, (data) => [data.hold()]],
  'deal.hold-reason-changed': [phrases.holdReasonChanged, (data) => changed(data.hold('old'), data.hold('new'))],
  'deal.unheld': [
    phrases.unheld,
    (data, { reader }) => labelled(texts.heldFor, durationOf(Number(data.raw('heldForSeconds')), reader)),
  ],
  'deal.completed': [
    phrases.completed,
    (data) => [
      ...labelled(dealTexts.completedOn, data.date('completedOn')),
      ...labelled(dealTexts.finalPrice, data.money('finalPrice')),
      ...labelled(dealTexts.documentNumber, data.text('documentNumber')),
      data.text('comment'),
    ],
  ],
  'deal.cancelled': [
    phrases.cancelled,
    (data) => [data.text('reason'), data.raw('wasHeld') === true ? texts.wasHeld : ''],
  ],
  'deal.reopened': [phrases.reopened, (data) => [data.text('reason')]],
  'deal.owner-assigned': [phrases.ownerAssigned, (data) => changed(data.text('old'), data.text('new'))],
  'deal.task-added': [
    phrases.taskAdded,
    (data) => [
      data.text('title'),
      ...labelled(dealTexts.assignee, data.text('assigneeId')),
      ...labelled(dealTexts.dueDate, data.date('dueDate')),
    ],
  ],
  'deal.task-assigned': [phrases.taskAssigned, (data) => [data.task(), ...changed(data.text('old'), data.text('new'))]],
  'deal.task-unassigned': [
    phrases.taskUnassigned,
    (data) => [data.task(), ...labelled(dealTexts.assignee, data.text('old')), data.text('reason')],
  ],
  'deal.task-completed': [
    phrases.taskCompleted,
    (data) => [data.task(), ...labelled(dealTexts.result, data.text('result'))],
  ],
  'deal.task-dropped': [
    phrases.taskDropped,
    (data) => [data.task(), texts.dropCauses[data.text('cause') as keyof typeof texts.dropCauses] ?? ''],
  ],
  'deal.deleted': [
    phrases.deleted,
    (data, { reader }) => labelled(texts.purgeAt, data.text('purgeAt') && reader.time(data.text('purgeAt'))),
  ],
  'deal.restored': [phrases.restored, () => []],
}

/** An event in words. An event of a type that is not known here is shown by its type and its data. */
export function wordsOf(
  { type, data }: { readonly type: string; readonly data: Readonly<Record<string, unknown>> },
  context: WordsContext,
): EventWords {
  const [phrase, write] = Object.hasOwn(writers, type) ? writers[type as DealEventType] : [type, undefined]
  const isEmpty = Object.keys(data).length === 0
  if (isEmpty && type !== 'deal.restored') return { phrase, details: [texts.nothingKept] }
  const details = write ? write(dataOf(data, context), context) : Object.entries(data).map(describe)
  return { phrase, details: details.filter((detail) => detail !== '') }
}

const describe = ([name, value]: [string, unknown]): string =>
  `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`

function dataOf(data: Readonly<Record<string, unknown>>, { reader, titles }: WordsContext): Data {
  const textIn = (members: unknown, name: string): string => {
    const value = (members as Readonly<Record<string, unknown>> | null | undefined)?.[name]
    return typeof value === 'string' ? value : ''
  }
  return {
    text: (name) => textIn(data, name),
    money: (name) => {
      const amount = data[name]
      const currency = textIn(data, 'currency')
      return typeof amount === 'number' && currency !== '' ? reader.money(amount, currency) : ''
    },
    date: (name) => {
      const day = textIn(data, name)
      return isDay(day) ? reader.date(day) : day
    },
    hold: (name) => {
      const hold = name === undefined ? data : data[name]
      const code = textIn(hold, 'code')
      return textIn(hold, 'reason') + (code === '' ? '' : ` (${code})`)
    },
    task: () => titles.get(textIn(data, 'taskId')) ?? '',
    raw: (name) => data[name],
  }
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** A duration in its largest unit: `3 days`. */
function durationOf(seconds: number, reader: Pick<Reader, 'duration'>): string {
  if (!Number.isFinite(seconds)) return ''
  const [unit, length] = units.find(([, length]) => seconds >= length) ?? (['second', 1] as const)
  return reader.duration(Math.floor(seconds / length), unit)
}
