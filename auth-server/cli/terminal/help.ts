/** The help of all commands. */
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
