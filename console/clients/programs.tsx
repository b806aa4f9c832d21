/** What the pages of clients and of services have in common: both are programs with an id, and most have a secret. */
import { type Column, type Fact, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { fieldTextOf } from '../parts/forms.ts'
import { overlapIn } from '../parts/overlap.ts'

interface Program {
  readonly id: string
  readonly name: string
  readonly createdAt: string
  readonly formerUntil: string | null
  readonly lastUsedAt: string | null
}

/** The names, columns and facts of programs. `further` is beside the name, and below the id. */
export const programParts = <Thing extends Program>(path: string, further: Column<Thing>) => ({
  namesOf: ({ id, name }: Thing) => ({ title: name, id, typed: name }),
  columns: (reader: Reader): Column<Thing>[] => [
    { title: 'Name', cell: ({ id, name }) => <a href={`${path}/${id}`}>{name}</a> },
    further,
    { title: 'Made', cell: ({ createdAt }) => <Time time={createdAt} reader={reader} /> },
    { title: 'Last used', cell: ({ lastUsedAt }) => <Time time={lastUsedAt} none="Never" reader={reader} /> },
  ],
  factsOf: (program: Thing, reader: Reader): Fact[] => [
    ['Id', <code>{program.id}</code>],
    [further.title, further.cell(program)],
    ['Made', <Time time={program.createdAt} reader={reader} />],
    ['Last used', <Time time={program.lastUsedAt} none="Never" reader={reader} />],
    ['The former secret works until', program.formerUntil && <Time time={program.formerUntil} reader={reader} />],
  ],
})

/** The body of a rotation. */
export const rotationIn = (form: ReadonlyMap<string, string>) => ({
  overlapSeconds: overlapIn(form),
  password: fieldTextOf(form, 'password'),
})
