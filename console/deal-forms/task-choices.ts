import type { NamedChoice } from './command-form.tsx'
import type { DealView } from './deal-view.ts'

/** The open tasks of a deal to choose from, and the chosen task if it is open no more. */
export const taskChoices = ({ tasks }: DealView, chosen: string | undefined): readonly NamedChoice[] =>
  tasks
    .filter(({ id, status }) => status === 'open' || id === chosen)
    .map(({ id, title, status }) => ({
      value: id,
      text: status === 'open' ? title : `${title} (not open any more)`,
    }))
