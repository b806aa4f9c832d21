/** `npm run bench [-- WORD…]`: measures, and prints tables. README.md describes them. */
import { measurements } from './comparisons/index.ts'
import { run } from './runs/run.ts'

const results = { file: new URL('results.md', import.meta.url), title: 'Results of the benchmark' }
await run({ name: 'npm run bench', measurements, results }, process.argv.slice(2))
