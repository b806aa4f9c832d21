import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Writes migrations, in the order given, as drizzle-kit would; returns their folder, which the end of the test removes.
 */
export const writeMigrations = (...migrations: readonly string[]): string => {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'meta'))
  const entries = migrations.map((_, idx) => ({ idx, version: '7', when: idx + 1, tag: `m${idx}`, breakpoints: true }))
  writeFileSync(join(folder, 'meta', '_journal.json'), JSON.stringify({ version: '7', dialect: 'postgresql', entries }))
  for (const [idx, text] of migrations.entries()) writeFileSync(join(folder, `m${idx}.sql`), text)
  return folder
}
