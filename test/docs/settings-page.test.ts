import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { authSettings, operatorSettings } from '../../auth-server/config.ts'
import { dealSettings } from '../../deal-server/config.ts'
import { settingsPage } from '../../docs/settings-page.ts'
import { codeSpansIn, rowsIn } from './markdown.ts'

describe('the settings page', () => {
  it('says what the settings are', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/settings.md'), 'utf8')
    expect(page).toBe(settingsPage())
  })

  it('has every setting in one group', () => {
    const listed = rowsIn(settingsPage()).flatMap(([name = '']) => codeSpansIn(name))
    const settings = Object.keys({ ...authSettings, ...dealSettings, ...operatorSettings })
    expect(listed.toSorted()).toEqual(settings.toSorted())
  })
})
