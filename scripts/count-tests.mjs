// The end of `.ci/run`: adds up what the test runner reported in JSON files and prints "N passed, N failed, N skipped".
// Files that ran a second time, alone, count by that run (`<report>-again.json`). The tests that failed in the first
// run are named, whatever came of the second.
// Usage: count-tests.mjs <number of failed steps> <report>...; exits with 1 when anything failed.
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

const [failedSteps, ...reports] = process.argv.slice(2)
const total = { passed: 0, failed: 0, skipped: 0 }

/** A file that could not be loaded has no test that failed, and counts as one. */
function count(report) {
  const states = report.testResults.flatMap(({ status, assertionResults }) => {
    const ofTests = assertionResults.map((test) => test.status)
    return status === 'failed' && !ofTests.includes('failed') ? [...ofTests, 'failed'] : ofTests
  })
  const passed = states.filter((state) => state === 'passed').length
  const failed = states.filter((state) => state === 'failed').length
  return { passed, failed, skipped: states.length - passed - failed }
}

/** The report, with the results of files that ran again in place of their first ones. */
function read(file) {
  const report = JSON.parse(readFileSync(file, 'utf8'))
  for (const name of failedTests(report)) console.log(`failed: ${name}`)
  const again = file.replace(/\.json$/, '-again.json')
  if (!existsSync(again)) return report
  const { testResults } = JSON.parse(readFileSync(again, 'utf8'))
  const files = new Map(testResults.map((result) => [result.name, result]))
  for (const name of failedTests({ testResults })) console.log(`failed again, alone: ${name}`)
  for (const { name, status } of testResults)
    if (status === 'passed') console.log(`unsteady, passed alone: ${basename(name)}`)
  return { testResults: report.testResults.map((result) => files.get(result.name) ?? result) }
}

const failedTests = ({ testResults }) =>
  testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => `${basename(name)}: ${fullName}`),
  )

const sentence = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

for (const file of reports) {
  try {
    const counts = count(read(file))
    console.log(`${basename(file, '.json')}: ${sentence(counts)}`)
    for (const state of Object.keys(total)) total[state] += counts[state]
  } catch {
    console.log(`${basename(file, '.json')}: no report`)
    total.failed += 1
  }
}
// Steps before the tests, or a test run that failed as a whole: never a clean line with a failure behind it.
if (total.failed === 0) total.failed = Number(failedSteps)
console.log(sentence(total))
process.exitCode = total.failed === 0 ? 0 : 1
