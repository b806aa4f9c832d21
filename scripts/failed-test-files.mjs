// Prints the files with failed tests of a report of the test runner, for `.ci/run`. Exits with 1 when there are more
// than three, or none: then a second run would prove nothing.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const [report] = process.argv.slice(2)
const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative('.', name))
if (failed.length === 0 || failed.length > 3) process.exit(1)
console.log(failed.join(' '))
