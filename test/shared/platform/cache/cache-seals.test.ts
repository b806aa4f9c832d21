import { expect, it } from 'vitest'
import { type CacheSeals, createCacheSeals } from '../../../../shared/platform/cache/cache-seals.ts'
import { createMovableClock } from '../../../support/worlds/movable-clock.ts'

const [oldSecret, newSecret, foreignSecret] = ['old', 'new', 'foreign'].map((name) =>
  `${name} service secret`.padEnd(32),
) as [string, string, string]
const clock = createMovableClock()
const sealsOf = (...secrets: string[]): CacheSeals => createCacheSeals({ secrets, clock })
const entry = { version: 7, value: '{"rights":["deal.read"]}' }
const seals = sealsOf(oldSecret)
const sealed = seals.sealEntry('alice', entry, 60)

it('opens an entry where it was sealed, and under any of the secrets', () => {
  for (const reader of [seals, sealsOf(oldSecret, newSecret), sealsOf(newSecret, oldSecret)])
    expect(reader.openEntry('alice', { version: 7, value: sealed })).toEqual({ value: entry.value })
})

it.each([
  ['of another key', 'bob', 7, sealed],
  ['of another version', 'alice', 8, sealed],
  ['with another value', 'alice', 7, sealed.replace('deal.read', 'deal.hold')],
  ['with a longer life', 'alice', 7, sealed.replace(/^1 \d/, '1 9')],
  ['without an HMAC', 'alice', 7, entry.value],
  ['with an HMAC that is cut off', 'alice', 7, sealed.replace(/^(1 \d+ \S{21})\S/, '$1')],
  ['that is empty', 'alice', 7, ''],
  ['under another secret', 'alice', 7, sealsOf(foreignSecret).sealEntry('alice', entry, 60)],
  ['that is a message', 'alice', 7, seals.sealMessage('alice', entry.value)],
])('does not open an entry %s', (_what, key, version, value) => {
  expect(seals.openEntry(key, { version, value })).toBe('forged')
})

it('opens no expired entry', () => {
  const short = seals.sealEntry('alice', entry, 60)
  clock.advanceSeconds(59)
  expect(seals.openEntry('alice', { version: 7, value: short })).toEqual({ value: entry.value })
  clock.advanceSeconds(1)
  expect(seals.openEntry('alice', { version: 7, value: short })).toBe('expired')
})

it('opens a message on its channel, once, and none that was sent before it', () => {
  const sender = sealsOf(newSecret)
  const reader = sealsOf(oldSecret, newSecret)
  const [first, second, third] = ['1', '2', '3'].map((text) => sender.sealMessage('feed', text)) as [
    string,
    string,
    string,
  ]
  expect(reader.openMessage('wakeUps', first)).toBe('forged')
  expect(reader.openMessage('feed', first)).toEqual({ value: '1' })
  expect(reader.openMessage('feed', first)).toBe('forged')
  expect(reader.openMessage('feed', third)).toEqual({ value: '3' })
  expect(reader.openMessage('feed', second)).toBe('forged')
  expect(sealsOf(oldSecret).openMessage('feed', third)).toBe('forged')
  expect(reader.openMessage('feed', '{"after":0}')).toBe('forged')
})

it('opens messages of several senders, each in its own order', () => {
  const [one, other] = [sealsOf(oldSecret), sealsOf(oldSecret)]
  const late = one.sealMessage('feed', 'a')
  const reader = sealsOf(oldSecret)
  for (const text of ['b', 'c'])
    expect(reader.openMessage('feed', other.sealMessage('feed', text))).toEqual({ value: text })
  expect(reader.openMessage('feed', late)).toEqual({ value: 'a' })
})

it('opens no recorded message later than the clocks of two servers may be apart', () => {
  const recorded = seals.sealMessage('feed', 'all is well')
  clock.advanceSeconds(91)
  expect(sealsOf(oldSecret).openMessage('feed', recorded)).toBe('forged')
})

it('needs a secret', () => {
  expect(() => sealsOf()).toThrow(TypeError)
})
