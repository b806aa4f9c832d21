import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { deviceOf } from '../../../console/parts/sessions.tsx'
import { strings } from '../../../console/texts/account.ts'

it('says in words what each action of the audit log means', () => {
  const contract = readFileSync(join(import.meta.dirname, '../../../docs/contract/operators.md'), 'utf8')
  const chapter = /### Audit log\n(.*?)\n### /s.exec(contract)?.[1] ?? ''
  const table = /\| audited \| actions \|\n(.*?)\n\n/s.exec(chapter)?.[1] ?? ''
  const actions = [...table.matchAll(/`([a-z-]+\.[a-z-]+)`/g)].map(([, action = '']) => action)
  expect(actions.length).toBeGreaterThan(20)
  expect(Object.keys(strings.actions).sort()).toEqual(actions.sort())
})

it('names a browser and its system, and a program as it names itself', () => {
  const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
  const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1'
  expect(
    [
      chrome,
      `${chrome} Edg/140.0`,
      iphone,
      'Mozilla/5.0 (Windows NT 10.0; rv:130.0) Gecko/20100101 Firefox/130.0',
      'curl/8.5.0',
      '',
      null,
    ].map(deviceOf),
  ).toEqual([
    'Chrome on Linux',
    'Edge on Linux',
    'Safari on iPhone',
    'Firefox on Windows',
    'curl/8.5.0',
    'Unknown program',
    'Unknown program',
  ])
})
