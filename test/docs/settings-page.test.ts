import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { settingsPage } from '../../docs/settings-page.ts'

test('the settings page says what the settings are', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/settings.md'), 'utf8')
  expect(page).toBe(settingsPage())
})
