import { expect, it } from 'vitest'
import { webhookChanges } from '../../../deal-server/http/webhooks/represent.ts'
import { changesInWords } from '../../../shared/protocol/entry-changes.ts'

const webhook = {
  url: 'https://hooks.example/secret-path',
  types: ['deal.held'],
  deals: [],
  description: null,
  state: 'active',
} as const

it.each([
  ['made', undefined, webhook, 'url +https://hooks.example, types +deal.held, state +active'],
  ['deleted', webhook, undefined, 'url -https://hooks.example, types -deal.held, state -active'],
  ['the same', webhook, { ...webhook }, ''],
  ['paused', webhook, { ...webhook, state: 'paused' as const }, 'state active → paused'],
  [
    'led elsewhere',
    webhook,
    { ...webhook, url: 'https://other.example/' },
    'url https://hooks.example → https://other.example',
  ],
  ['led to another path', webhook, { ...webhook, url: 'https://hooks.example/other' }, 'url +another path'],
])('a webhook that is %s is told of without what may be secret', (_, before, after, told) => {
  expect(changesInWords(webhookChanges(before, after))).toBe(told)
})
