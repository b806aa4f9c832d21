import { defineConfig } from 'vitest/config'

// Many suites start servers and measure time: two files at once keep two cores busy, more only make them wait for each other.
export default defineConfig({
  test: { include: ['test/**/*.test.ts'], testTimeout: 30_000, hookTimeout: 60_000, maxWorkers: 2 },
})
