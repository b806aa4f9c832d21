/** The tiles of the dashboard. Each leads to the list of what it counts. */
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { Due, pathOfDeal, StateBadges } from '../parts/deal-parts.tsx'
import { LyingBars } from './charts.tsx'
import { countByState, type ShortDeal, type ShortTask, type StateCount } from './figures.ts'
import type { Group } from './sums.ts'

const stateTexts = {
  open: 'open',
  held: 'of these on hold',
  completed: 'completed',
  cancelled: 'cancelled',
}

interface StatesProps {
  readonly groups: readonly Group[]
  readonly reader: Reader
}

/** The deals by state: a chart, and the same in a table. */
export function States({ groups, reader }: StatesProps) {
  const states = countByState(groups)
  const bars = states.map(({ state, count }) => ({
    label: stateTexts[state],
    value: count,
    text: reader.number(count),
    look: state,
  }))
  const columns: Column<StateCount>[] = [
    {
      title: 'State',
      cell: ({ state, query }) => <a href={`/console/deals?${query}`}>{stateTexts[state]}</a>,
    },
    { title: 'Deals', isNumber: true, cell: ({ count }) => reader.number(count) },
    {
      title: 'Value',
      isNumber: true,
      cell: ({ values }) => <Values values={values} reader={reader} />,
    },
  ]
  return (
    <section class="panel">
      <h2>Deals by state</h2>
      <LyingBars
        id="states"
        title="Deals by state"
        bars={bars}
        description={`Number of deals: ${bars.map(({ label, text }) => `${label} ${text}`).join(', ')}.`}
      />
      <Table caption="Deals by state" columns={columns} rows={states} />
    </section>
  )
}

/** In place of figures that take too long now. */
export const LateFigures = ({ title }: { readonly title: string }) => (
  <section class="panel">
    <h2>{title}</h2>
    <p class="hint">The figures take too long now. Load the page again in a minute.</p>
  </section>
)

/** Amounts of more currencies are in the list. */
const maxValues = 4

function Values({ values, reader }: Pick<StateCount, 'values'> & { readonly reader: Reader }) {
  if (values.length === 0) return <span>–</span>
  return (
    <div>
      {values.slice(0, maxValues).map(({ currency, valueText }) => (
        <div>{reader.money(valueText, currency)}</div>
      ))}
      {values.length > maxValues && <div class="hint">and {values.length - maxValues} more</div>}
    </div>
  )
}

interface HeldProps {
  readonly held: readonly ShortDeal[]
  readonly reader: Reader
  readonly now: number
}

/** Deals on hold, and for how long. */
export function Held({ held, reader, now }: HeldProps) {
  const columns: Column<ShortDeal>[] = [
    { title: 'Deal', cell: ({ id, name }) => <a href={pathOfDeal(id)}>{name}</a> },
    { title: 'For', isShort: true, cell: ({ heldAt }) => (heldAt === null ? '–' : ageOf(heldAt, now, reader)) },
    { title: 'Reason', cell: ({ holdReason }) => <span class="cut">{holdReason ?? '–'}</span> },
  ]
  return (
    <section class="panel">
      <h2>On hold</h2>
      <Table caption="On hold" columns={columns} rows={held} empty="No deal is on hold." />
      {held.length > 0 && <More href="/console/deals?held=true&sort=updatedAt" text="All deals on hold" />}
    </section>
  )
}

/** A duration in the largest unit that fits. */
export function ageOf(time: string, now: number, reader: Pick<Reader, 'duration'>): string {
  const minutes = Math.max(0, Math.floor((now - Date.parse(time)) / 60_000))
  if (minutes < 60) return reader.duration(minutes, 'minute')
  if (minutes < 48 * 60) return reader.duration(Math.floor(minutes / 60), 'hour')
  return reader.duration(Math.floor(minutes / 1440), 'day')
}

interface TasksProps {
  readonly tasks: readonly ShortTask[]
  readonly reader: Reader
  readonly today: string
}

/** The reader's most urgent tasks. */
export function Tasks({ tasks, reader, today }: TasksProps) {
  const columns: Column<ShortTask>[] = [
    { title: 'Task', cell: ({ title, dealId }) => <a href={pathOfDeal(dealId)}>{title}</a> },
    {
      title: 'Due',
      isShort: true,
      cell: ({ dueDate }) => <Due date={dueDate} isLate today={today} reader={reader} />,
    },
  ]
  return (
    <section class="panel">
      <h2>My tasks</h2>
      <Table caption="My tasks" columns={columns} rows={tasks} empty="No open task is assigned to you." />
      {tasks.length > 0 && <More href="/console/tasks" text="All my tasks" />}
    </section>
  )
}

/** The deals that changed last. */
export function Latest({ latest, reader }: { readonly latest: readonly ShortDeal[]; readonly reader: Reader }) {
  const columns: Column<ShortDeal>[] = [
    {
      title: 'Deal',
      cell: ({ id, name, status, held }) => (
        <>
          <a href={pathOfDeal(id)}>{name}</a> <StateBadges status={status} held={held} />
        </>
      ),
    },
    { title: 'By', isShort: true, cell: ({ updatedBy }) => updatedBy },
    { title: 'At', isShort: true, cell: ({ updatedAt }) => <Time time={updatedAt} reader={reader} /> },
  ]
  return (
    <section class="panel">
      <h2>Latest changes</h2>
      <Table caption="Latest changes" columns={columns} rows={latest} empty="There are no deals yet." />
      {latest.length > 0 && <More href="/console/deals?sort=-updatedAt" text="All by time of change" />}
    </section>
  )
}

const More = ({ href, text }: { readonly href: string; readonly text: string }) => (
  <p class="more">
    <a href={href}>{text}</a>
  </p>
)
