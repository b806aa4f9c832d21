/** Common parts of all commands: their help, and options that are lists. */
import type { Command } from 'commander'

/** Adds examples to the help of a command. Each line is the part behind `npm run ops --`. */
export const withExample = (command: Command, ...lines: readonly string[]): Command =>
  command.addHelpText(
    'after',
    ['', lines.length > 1 ? 'Examples:' : 'Example:', ...lines.map((line) => `  npm run ops -- ${line}`)].join('\n'),
  )

/** Adds paragraphs to the help of a command. */
export const withText = (command: Command, ...paragraphs: readonly string[]): Command =>
  command.addHelpText('after', paragraphs.map((paragraph) => `\n${paragraph}`).join('\n'))

/** Parses an option that may be repeated and may hold several values with commas between. */
export const list = (value: string, before: readonly string[] = []): string[] => [
  ...before,
  ...value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
]
