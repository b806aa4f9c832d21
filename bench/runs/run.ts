import { writeFileSync } from 'node:fs'
import { showProgress } from '../runner/progress.ts'
import { readSettings, variables } from '../runner/settings.ts'
import { linesOf, markdownOf } from '../runner/table.ts'
import { type Bench, openBench } from '../servers/bench.ts'
import { NotPossible } from '../servers/environment.ts'
import type { Measurement, Measurements } from './measurement.ts'
import { headOf } from './results.ts'

/** A command that measures. */
export interface Command {
  /** As it is typed. */
  readonly name: string
  readonly measurements: Measurements
  /** The file that a run of all measurements writes; none when left out. */
  readonly results?: URL
}

/**
 * Runs the measurements that `words` name: each word is a name, or a part of several; no words are all. It prints their
 * tables. A run of all also writes their figures into the file.
 */
export async function run(command: Command, words: readonly string[]): Promise<void> {
  if (words.some((word) => word.startsWith('-'))) return void process.stdout.write(helpOf(command))
  const { measurements } = command
  const isChosen = (name: string) =>
    words.length === 0 || words.some((word) => (word in measurements ? name === word : name.includes(word)))
  const chosen = Object.entries(measurements).filter(([name]) => isChosen(name))
  if (chosen.length === 0) endWith(`No measurement has such a name.\n\n${helpOf(command)}`)
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new NotPossible('Interrupted.')))
  })
  try {
    process.stderr.write('Compiling and starting the servers\n')
    const bench = await openBench(readSettings(process.env))
    const head = headOf(bench)
    const { lines, failed } = await Promise.race([measureAll(bench, chosen), interrupted]).finally(bench.close)
    if (words.length === 0 && command.results) writeFileSync(command.results, [head, ...lines].join(''))
    if (failed.length > 0) endWith(`Failed: ${failed.join(', ')}`)
  } catch (error) {
    if (!(error instanceof NotPossible)) throw error
    endWith(error.message)
  }
}

/** Prints the tables of all measurements, and returns their figures. One that fails costs its own table alone. */
async function measureAll(bench: Bench, chosen: readonly [string, Measurement][]) {
  const { stderr, stdout } = process
  const progress = showProgress({ isTTY: stderr.isTTY, write: (text) => stderr.write(text) })
  const lines: string[] = []
  const failed: string[] = []
  for (const [index, [name, measurement]] of chosen.entries()) {
    progress.begin(name, index, chosen.length)
    try {
      const table = await measurement.run(bench, progress.round)
      progress.clear()
      stdout.write(`${markdownOf(table)}\n`)
      lines.push(linesOf(name, table))
    } catch (error) {
      stderr.write(`\n${error instanceof Error ? error.stack : String(error)}\n`)
      failed.push(name)
    }
    await bench.closeParts()
  }
  return { lines, failed }
}

/** Work that was interrupted would go on: so the process ends here. */
function endWith(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

function helpOf({ name, measurements }: Command): string {
  const list = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([key, text]) => `  ${key.padEnd(20)} ${text}\n`).join('')
  return [
    `Usage: ${name} [-- WORD...]\n\n`,
    'A word is one of these names, or a part of several. Without a word, everything is measured:\n',
    list(Object.entries(measurements).map(([key, { summary }]) => [key, summary])),
    '\nVariables:\n',
    list(Object.entries(variables).map(([key, [value, meaning]]) => [key, `${meaning}; ${value}`])),
  ].join('')
}
