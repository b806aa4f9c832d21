/** What the commands of all groups have in common on the command line. */
import type { Command } from 'commander'

/** Shows below the help of a command how it is called; what follows `npm run ops --`, a line each. */
export const withExample = (command: Command, ...lines: readonly string[]): Command =>
  command.addHelpText(
    'after',
    ['', lines.length > 1 ? 'Examples:' : 'Example:', ...lines.map((line) => `  npm run ops -- ${line}`)].join('\n'),
  )

/** Adds paragraphs to the help of a command. */
export const withText = (command: Command, ...paragraphs: readonly string[]): Command =>
  command.addHelpText('after', paragraphs.map((paragraph) => `\n${paragraph}`).join('\n'))

/** Reads an option that may be repeated, and may hold several values with commas between. */
export const list = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  ...value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
]
