/** Tables for people. */
import Table from 'cli-table3'
import { printable } from './printable.ts'

const none = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '' }
const plain = {
  ...none,
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

const style = { head: [], border: [], 'padding-left': 0, 'padding-right': 0 }

/** Rows as aligned columns below their titles. Wide characters count as two columns. */
export function columns(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({ head: titles.map(printable), chars: plain, style })
  table.push(...rows.map((row) => row.map(printable)))
  return withoutBlanks(table.toString())
}

/** Names and values, a line each. */
export function fields(values: readonly (readonly [name: string, value: string])[]): string {
  const table = new Table({ chars: plain, style })
  table.push(...values.map(([name, value]) => [printable(name), printable(value)]))
  return withoutBlanks(table.toString())
}

const withoutBlanks = (text: string): string => text.replace(/(?<! ) +$/gm, '')
