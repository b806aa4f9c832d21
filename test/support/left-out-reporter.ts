/** The last line of `npm test`: what did not run, and how to run it. */
import type { Reporter } from 'vitest/node'
import { isEverything } from './campaign.ts'

/** For the list of reporters. */
export class LeftOutReporter implements Reporter {
  onTestRunEnd(): void {
    // After the summary of the default reporter.
    process.once('exit', () => {
      if (!isEverything) process.stdout.write(`${leftOut}\n`)
    })
  }
}

const leftOut = `Left out: test/long (processes, failover, faults, releases, deployment, walks over every route), whole matrices, and
suites that need a service or a browser which is not there. They run with: npm run test:all`
