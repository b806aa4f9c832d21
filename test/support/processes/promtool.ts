/** Prometheus's own tool, of Debian's package `prometheus`. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The tool to use. TEST_PROMTOOL names it, and then it must be there: tests fail instead of being skipped. */
export const promtool = process.env.TEST_PROMTOOL ?? ['/usr/bin/promtool', '/usr/local/bin/promtool'].find(isExecutable)

/** What the tool says of a text; empty and 0 when all is well. */
export function runPromtool(parameters: readonly string[], input: string): { said: string; exitCode: number | null } {
  const { status, stdout, stderr, error } = spawnSync(promtool ?? '', parameters, { input, encoding: 'utf8' })
  if (error) throw error
  return { said: stdout + stderr, exitCode: status }
}
