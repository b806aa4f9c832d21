/** Events of a deal in words: what somebody did, and the details of it. */

import type { EventFacts } from '../../deal-server/domain/events.ts'
import { eventNamed } from '../../deal-server/use-cases/apply-events.ts'
import { titleOfUseCase } from '../deal-forms/command-form.tsx'
import { isDay } from '../deal-forms/deal-view.ts'
import type { Reader } from '../frame/reader.ts'

interface EventWords {
  /** After the name of who did it: `changed the price`. */
  readonly phrase: string
  /** Each is on lines of its own. Texts of users are among them. */
  readonly details: readonly string[]
}

interface WordsContext {
  readonly reader: Reader
  /** Task id → title. */
  readonly titles: ReadonlyMap<string, string>
}

type EventData = Readonly<Record<string, unknown>>

/** An event in words. An event of a type that is not known here is shown by its type and its data. */
export function wordsOf(
  { type, data }: { readonly type: string; readonly data: EventData },
  context: WordsContext,
): EventWords {
  const event = eventNamed(type)
  if (!event) return { phrase: type, details: Object.entries(data).map(describe) }
  const { phrase, details } = event
  if (!details) return { phrase, details: [] }
  if (Object.keys(data).length === 0) return { phrase, details: ['What it was about is no longer kept.'] }
  return { phrase, details: details(factsOf(data, context)).filter((detail) => detail !== '') }
}

const describe = ([name, value]: [string, unknown]): string =>
  `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`

function factsOf(data: EventData, { reader, titles }: WordsContext): EventFacts {
  const textOf = (members: EventData) => (name: string) => {
    const value = members[name]
    return typeof value === 'string' ? value : ''
  }
  const text = textOf(data)
  return {
    text,
    money: (name) => {
      const amount = data[name]
      const currency = text('currency')
      return typeof amount === 'number' && currency !== '' ? reader.money(amount, currency) : ''
    },
    date: (name) => (isDay(text(name)) ? reader.date(text(name)) : text(name)),
    time: (name) => (text(name) === '' ? '' : reader.time(text(name))),
    duration: (name) => durationOf(Number(data[name]), reader),
    is: (name) => data[name] === true,
    of: (name) => ({ text: textOf((data[name] ?? {}) as EventData) }),
    task: () => titles.get(text('taskId')) ?? '',
    useCase: () => titleOfUseCase(text('useCase')),
  }
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** A duration in its largest unit: `3 days`. */
function durationOf(seconds: number, reader: Reader): string {
  if (!Number.isFinite(seconds)) return ''
  const [unit, length] = units.find(([, length]) => seconds >= length) ?? (['second', 1] as const)
  return reader.duration(Math.floor(seconds / length), unit)
}
