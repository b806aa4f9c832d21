/** `npm run bench [-- WORD…]`: measures, and prints tables. README.md describes them. */
import { buildMeasurements } from './comparisons/builds.ts'
import { measurements } from './comparisons/index.ts'
import { run } from './runs/run.ts'

const name = 'npm run bench'
const command = process.env.BENCH_FORMER_BUILD
  ? { name, measurements: buildMeasurements }
  : { name, measurements, results: new URL('results.jsonl', import.meta.url) }
await run(command, process.argv.slice(2))
