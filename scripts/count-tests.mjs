// The end of `.ci/run`: adds up what the test runner reported in JSON files, names the tests that failed, and prints
// "N passed, N failed, N skipped".
// Usage: count-tests.mjs <number of failed steps> <report>...; exits with 1 when anything failed.
import { readFileSync } from 'node:fs'
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

function read(file) {
  const report = JSON.parse(readFileSync(file, 'utf8'))
  for (const name of failedTests(report)) console.log(`failed: ${name}`)
  return report
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
