import { configDefaults, defineConfig } from 'vitest/config'

/** Suites that bring all they need themselves: where TEST_EMBEDDED is `false`, because they have just run, they need not run again. */
const selfContained = [
  'test/e2e/{docs-pages,operations,readme,start}.e2e.test.ts',
  'test/auth-server/ops/{offline-process,terminal}.e2e.test.ts',
  'test/shared/database/data-lock.test.ts',
]
const hasRun = process.env.TEST_EMBEDDED === 'false'

// Many suites start servers and measure time: two files at once keep two cores busy, more only make them wait for each other.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(hasRun ? selfContained : [])],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
