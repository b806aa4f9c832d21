/** `npm run bench [-- NAME…]`: measures, and prints tables. README.md describes them. */
import { type Measurement, measurements } from './comparisons/index.ts'
import { showProgress } from './runner/progress.ts'
import { readSettings, variables } from './runner/settings.ts'
import { type Bench, openBench } from './servers/bench.ts'
import { NotPossible } from './servers/environment.ts'

const words = process.argv.slice(2)
if (words.some((word) => word.startsWith('-'))) process.stdout.write(help())
else await main()

async function main(): Promise<void> {
  const chosen = Object.entries(measurements).filter(([name]) => isChosen(name))
  if (chosen.length === 0) return endWith(`No measurement has such a name.\n\n${help()}`)
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new NotPossible('Interrupted.')))
  })
  try {
    const bench = await openBench(readSettings(process.env))
    await Promise.race([measure(bench, chosen), interrupted]).finally(bench.close)
  } catch (error) {
    if (!(error instanceof NotPossible)) throw error
    endWith(error.message)
  }
}

/** A word is the name of a measurement, or a part of several names. No words choose all. */
function isChosen(name: string): boolean {
  return words.length === 0 || words.some((word) => (word in measurements ? name === word : name.includes(word)))
}

async function measure(bench: Bench, chosen: readonly [string, Measurement][]): Promise<void> {
  const { stderr } = process
  const progress = showProgress({ isTTY: stderr.isTTY, write: (text) => stderr.write(text) })
  for (const [index, [name, { run }]] of chosen.entries()) {
    progress.begin(name, index, chosen.length)
    const text = await run(bench, (round) => progress.round(round, bench.settings.rounds))
    progress.clear()
    process.stdout.write(`${text}\n`)
  }
}

/** Work that was interrupted would go on: so the process ends here. */
function endWith(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

function help(): string {
  const list = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([name, text]) => `  ${name.padEnd(20)} ${text}\n`).join('')
  return [
    'Usage: npm run bench [-- WORD...]\n\nA word is one of these names, or a part of several. Without a word, everything is measured:\n',
    list(Object.entries(measurements).map(([name, { summary }]) => [name, summary])),
    '\nVariables:\n',
    list(Object.entries(variables).map(([name, [value, meaning]]) => [name, `${meaning}; ${value}`])),
  ].join('')
}
