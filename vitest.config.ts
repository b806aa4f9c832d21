import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isEverything, isLongForm, patienceMs, pollMs } from './test/support/campaign.ts'
import { LeftOutReporter } from './test/support/left-out-reporter.ts'

const isolated = [
  'test/verify/principals/*.test.ts',
  'test/shared/platform/process/process.test.ts',
  'test/docs/routes-page.test.ts',
]

const all = ['test/**/*.test.ts']
const long = ['test/long/**/*.test.ts']

/** `npm run test:all` has run the files outside of `long` over the embedded defaults before it runs everything. */
const isSecondRun = isEverything && !isLongForm
const env = isSecondRun ? { TEST_EMBEDDED: 'false' } : {}

/**
 * What would show the same again: a test without a database or servers, and the console, whose suites are over the
 * embedded defaults alone.
 */
const excluded = isSecondRun ? ['test/!(long)/**/!(*.int|*.e2e).test.ts', 'test/console/**'] : []

/** Begins with a long test of a short file: short files come last, so it would run alone at the end. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => moduleId.endsWith('/new-use-case.e2e.test.ts')
    return (await super.sort(files)).sort((one, other) => Number(isLong(other)) - Number(isLong(one)))
  }
}

// Many suites start servers and wait for them: two files at once leave a third of two cores unused. More than three are
// no quicker, and make the suites that measure time wait for each other.
export default defineConfig({
  test: {
    reporters: [['default', { summary: false }], new LeftOutReporter()],
    globalSetup: ['test/support/processes/compile.ts', 'test/support/processes/stores/own-services.ts'],
    setupFiles: ['test/support/forget-secrets.ts'],
    testTimeout: patienceMs,
    hookTimeout: 2 * patienceMs,
    expect: { poll: { timeout: pollMs, interval: 20 } },
    maxWorkers: 3,
    // A larger young generation costs the garbage collector less time.
    execArgv: ['--max-semi-space-size=32'],
    // Compiled modules stay in node_modules: the second half of test:all, and the next run after an edit, find them there.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongFirst },
    projects: [
      // These replace modules and timers, so each file gets modules of its own.
      { extends: true, test: { name: 'isolated', include: isolated, exclude: excluded, env } },
      // The other files of a worker share their modules: loading these takes longer than most of the tests.
      {
        extends: true,
        test: { name: 'shared', include: all, exclude: [...isolated, ...long, ...excluded], isolate: false, env },
      },
      ...(isEverything ? [{ extends: true, test: { name: 'long', include: long, isolate: false } } as const] : []),
    ],
  },
})
