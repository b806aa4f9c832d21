/** What has changed since a form was opened: what the reader saw, what is there now, what the reader wants. */

import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import { type Column, Table } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import type { DealView } from './deal-view.ts'
import { type ComparedFact, compareFacts } from './snapshot.ts'

interface ConflictProps {
  readonly command: Command
  readonly form: ReadonlyMap<string, string>
  readonly seen: string | undefined
  readonly seenVersion: string | undefined
  readonly deal: DealView
  readonly reader: Reader
}

const columns: Column<ComparedFact>[] = [
  {
    title: 'Fact',
    cell: ({ label, isChanged }) => (
      <>
        {label} {isChanged && <span class="badge warn">changed</span>}
      </>
    ),
  },
  { title: 'When you opened the form', cell: ({ seen }) => seen },
  { title: 'Now', cell: ({ now, isChanged }) => (isChanged ? <strong>{now}</strong> : now) },
  { title: 'You want', cell: ({ wanted }) => wanted },
]

/** The comparison. */
export function Conflict({ seenVersion, ...compared }: ConflictProps) {
  const { deal, reader } = compared
  const rows = compareFacts(compared)
  const seen = /^\d{1,12}$/.test(seenVersion ?? '') ? reader.number(Number(seenVersion)) : '–'
  return (
    <section class="panel">
      <h2>What has changed</h2>
      <p>
        You saw version {seen}; now it is version {reader.number(deal.version)}.{' '}
        {!rows.some(({ isChanged }) => isChanged) && 'None of the facts that this form shows are different.'}
      </p>
      {rows.length > 0 && <Table caption="What has changed" columns={columns} rows={rows} />}
    </section>
  )
}
